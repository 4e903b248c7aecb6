"""Lease: who leads, or that a node is alive, as long as somebody keeps renewing it."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.machinery.fields import FieldError, invalid
from tiphys.machinery.tree import Obj, get

COORDINATED = ("strategy", "preferredHolder")


def default(lease: Obj) -> None:
    lease.setdefault("spec", {})


def prepare_create(lease: Obj) -> None:
    """Coordinated leader election is behind a gate that v1.36 ships switched off."""
    for name in COORDINATED:
        lease["spec"].pop(name, None)


def prepare_update(new: Obj, old: Obj) -> None:
    for name in COORDINATED:
        if get(old, ("spec", name)) is None:
            new["spec"].pop(name, None)


def validate(lease: Obj) -> Iterator[FieldError]:
    spec = lease["spec"]
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


LEASES = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    singular="lease",
    schema="io.k8s.api.coordination.v1.Lease",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    strategy=Strategy(create_on_update=True, unconditional_update=False),
    columns=(Column("Holder", lambda lease, _now: get(lease, ("spec", "holderIdentity"), "")), AGE),
)
