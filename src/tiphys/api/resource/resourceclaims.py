"""ResourceClaim: devices that pods need, and which they were given."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.api.resource import requests
from tiphys.api.resource.allocations import device_key, validate_status
from tiphys.machinery.fields import FieldError, invalid
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE


def default(claim: Obj) -> None:
    requests.default(claim.setdefault("spec", {}).setdefault("devices", {}))
    claim.setdefault("status", {})


def prepare_create(claim: Obj) -> None:
    claim["status"] = {}


def prepare_status(new: Obj, old: Obj) -> None:
    """What was told of devices that have been given back is forgotten."""
    status = new.get("status") or {}
    gone = _allocated(old) - _allocated(new)
    kept = [each for each in status.get("devices") or () if device_key(each) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


def _allocated(claim: Obj) -> set[tuple[str, str, str, str]]:
    return {device_key(each) for each in get(claim, ("status", "allocation", "devices", "results")) or ()}


def validate_create(claim: Obj) -> Iterator[FieldError]:
    yield from requests.validate(claim["spec"]["devices"], "spec.devices")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if new["spec"] != old["spec"]:
        yield invalid("spec", told(new["spec"], "ResourceClaimSpec"), IMMUTABLE)


def _state(claim: Obj, _now: float) -> str:
    states = []
    deleted = bool(claim["metadata"].get("deletionTimestamp"))
    if deleted:
        states.append("deleted")
    if get(claim, ("status", "allocation")) is not None:
        states.append("allocated")
        if get(claim, ("status", "reservedFor")):
            states.append("reserved")
    elif not deleted:
        states.append("pending")
    return ",".join(states)


RESOURCECLAIMS = Kind(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceClaim",
    plural="resourceclaims",
    singular="resourceclaim",
    schema="io.k8s.api.resource.v1.ResourceClaim",
    default=default,
    prepare_create=prepare_create,
    prepare_status=prepare_status,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    strategy=Strategy(status=True, status_keeps_metadata=True, returns_deleted=True),
    columns=(
        Column("State", _state, description="A summary of the current state (allocated, pending, reserved, etc.)."),
        AGE,
    ),
)
