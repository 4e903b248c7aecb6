"""Endpoints: where the traffic of a Service goes, all in one object. EndpointSlices have taken its place."""

from collections.abc import Iterator

from tiphys.api import ip
from tiphys.api.core.cells import NONE
from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import dns1123_label, dns1123_subdomain, port_number, qualified_name

PROTOCOLS = ("SCTP", "TCP", "UDP")

_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_CONTROLLER = "endpoint-controller"
_SHOWN = 3


def default(endpoints: Obj) -> None:
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def validate_create(endpoints: Obj) -> Iterator[FieldError]:
    for position, subset in enumerate(endpoints.get("subsets") or ()):
        at = index("subsets", position)
        ready, waiting = subset.get("addresses") or (), subset.get("notReadyAddresses") or ()
        if not ready and not waiting:
            yield required(at, "must specify `addresses` or `notReadyAddresses`")
        for part, addresses in (("addresses", ready), ("notReadyAddresses", waiting)):
            for place, address in enumerate(addresses):
                yield from _validate_address(address, index(child(at, part), place))
        ports = subset.get("ports") or ()
        for place, port in enumerate(ports):
            yield from _validate_port(port, index(child(at, "ports"), place), named=len(ports) > 1)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """What is wrong already may stay as it is."""
    if (new.get("subsets") or []) != (old.get("subsets") or []):
        yield from validate_create(new)


def _validate_address(address: Obj, at: str) -> Iterator[FieldError]:
    value = address.get("ip", "")
    yield from ip.validate_legacy(value, child(at, "ip"))
    if hostname := address.get("hostname"):
        for problem in dns1123_label(hostname):
            yield invalid(child(at, "hostname"), hostname, problem)
    node = address.get("nodeName")
    if node is not None:
        for problem in dns1123_subdomain(node):
            yield invalid(child(at, "nodeName"), node, problem)
    yield from ip.validate_endpoint(value, child(at, "ip"))


def _validate_port(port: Obj, at: str, *, named: bool) -> Iterator[FieldError]:
    name, number = port.get("name", ""), port.get("port", 0)
    if name:
        for problem in dns1123_label(name):
            yield invalid(child(at, "name"), name, problem)
    elif named:
        yield required(child(at, "name"))
    for problem in port_number(number):
        yield invalid(child(at, "port"), number, problem)
    yield from validate_protocol(port, at)


def validate_protocol(port: Obj, at: str) -> Iterator[FieldError]:
    protocol = port.get("protocol") or ""
    if not protocol:
        yield required(child(at, "protocol"))
    elif protocol not in PROTOCOLS:
        yield not_supported(child(at, "protocol"), protocol, PROTOCOLS)
    application = port.get("appProtocol")
    if application is not None:
        for problem in qualified_name(application):
            yield invalid(child(at, "appProtocol"), application, problem)


def warnings(new: Obj, _: Obj | None) -> Iterator[str]:
    if (new.get("metadata", {}).get("labels") or {}).get(_MANAGED_BY) == _CONTROLLER:
        return
    for position, subset in enumerate(new.get("subsets") or ()):
        for part in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(part) or ()):
                at = child(index(child(index("subsets", position), part), place), "ip")
                yield from ip.warnings(address.get("ip", ""), at)


def _cell(endpoints: Obj, _: float) -> str:
    subsets = endpoints.get("subsets")
    if not subsets:
        return NONE
    told: list[str] = []
    for subset in subsets:
        addresses = [each.get("ip", "") for each in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            told.extend(addresses)
        for port in ports or ():
            told.extend(
                f"[{each}]:{port.get('port', 0)}" if ":" in each else f"{each}:{port.get('port', 0)}" for each in addresses
            )
    if len(told) > _SHOWN:
        return f"{','.join(told[:_SHOWN])} + {len(told) - _SHOWN} more..."
    return ",".join(told)


ENDPOINTS = Kind(
    group="",
    version="v1",
    kind="Endpoints",
    plural="endpoints",
    singular="endpoints",
    schema="io.k8s.api.core.v1.Endpoints",
    short=("ep",),
    storage_prefix="services/endpoints",
    default=default,
    validate_create=validate_create,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(create_on_update=True),
    deprecated="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    columns=(Column("Endpoints", _cell, description="Addresses and ports that are ready."), AGE),
)
