"""ServiceCIDR: a range that addresses of Services are taken from."""

from collections.abc import Iterator
from typing import Any

from tiphys.api import ip
from tiphys.api.core.structs import spelled
from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.machinery.fields import FieldError, index, invalid, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE

_AT = "spec.cidrs"


def default(service_cidr: Obj) -> None:
    service_cidr.setdefault("spec", {})
    service_cidr.setdefault("status", {})


def prepare_create(service_cidr: Obj) -> None:
    service_cidr["status"] = {}


def _cidrs(service_cidr: Obj) -> list[str]:
    cidrs: list[str] = get(service_cidr, ("spec", "cidrs"), [])
    return cidrs


def validate_create(service_cidr: Obj) -> Iterator[FieldError]:
    yield from _validate_cidrs(_cidrs(service_cidr))


def _validate_cidrs(cidrs: list[str]) -> Iterator[FieldError]:
    if not cidrs:
        yield required(_AT, "at least one CIDR required")
        return
    if len(cidrs) > 2:
        yield invalid(_AT, spelled({"CIDRs": cidrs}), "may only hold up to 2 values")
        return
    for position, value in enumerate(cidrs):
        yield from ip.validate_strict_cidr(value, index(_AT, position))
    families = {ip.family(value) for value in cidrs if ip.parse_cidr(value)}
    if len(cidrs) == 2 and len(families) == 1 and all(map(ip.parse_cidr, cidrs)):
        told = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield invalid(_AT, cidrs, told)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """A second family may be added, and nothing else."""
    now, was = _cidrs(new), _cidrs(old)
    if len(now) == len(was):
        for position, (one, other) in enumerate(zip(now, was, strict=True)):
            if one != other:
                yield invalid(index(_AT, position), one, IMMUTABLE)
    elif len(was) == 1 and len(now) == 2:
        if now[0] != was[0]:
            yield invalid(index(_AT, 0), now[0], IMMUTABLE)
        yield from _validate_cidrs(now)
    else:
        yield invalid(_AT, now or None, IMMUTABLE)


def _cell(service_cidr: Obj, _: float) -> Any:
    return ",".join(_cidrs(service_cidr))


SERVICE_CIDRS = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="ServiceCIDR",
    plural="servicecidrs",
    singular="servicecidr",
    schema="io.k8s.api.networking.v1.ServiceCIDR",
    namespaced=False,
    default=default,
    prepare_create=prepare_create,
    validate_create=validate_create,
    validate_update=validate_update,
    strategy=Strategy(status=True, status_keeps_metadata=True),
    columns=(Column("CIDRs", _cell, description="Ranges, one a family."), AGE),
)
