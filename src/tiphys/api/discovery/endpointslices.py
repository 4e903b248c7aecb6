"""EndpointSlice: some of the places where the traffic of a Service goes."""

from collections.abc import Iterator
from functools import lru_cache

from tiphys.api import ip
from tiphys.api.core import cells
from tiphys.api.core.endpoints import PROTOCOLS
from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, not_supported, required, too_many
from tiphys.machinery.fields import internal as internal_error
from tiphys.machinery.fields import key as keyed
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import (
    dns1123_label,
    dns1123_subdomain,
    fully_qualified_domain_name,
    immutable,
    label_value,
    labels,
    qualified_name,
)

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")

PUBLISHED_BY_NODES = "dns.tiphys"
"""The value of the label managed-by of those that nodes write about themselves."""

_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_ZONE = "topology.kubernetes.io/zone"
_MAX_ENDPOINTS = 1000
_MAX_ADDRESSES = 100
_MAX_PORTS = 20000
_MAX_HINTS = 8
_MAX_TOPOLOGY = 16
_SHOWN = 3


def default(endpoint_slice: Obj) -> None:
    for part in ("endpoints", "ports"):
        endpoint_slice.setdefault(part, None)
    for endpoint in endpoint_slice.get("endpoints") or ():
        if endpoint.get("conditions") is None:
            endpoint["conditions"] = {}
    for port in endpoint_slice.get("ports") or ():
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def prepare_create(endpoint_slice: Obj) -> None:
    """This version has fields for the node and the zone; nothing else is taken from the topology of the old one."""
    for endpoint in endpoint_slice.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def prepare_update(new: Obj, old: Obj) -> None:
    if (new.get("endpoints") or []) != (old.get("endpoints") or []):
        prepare_create(new)


def validate(endpoint_slice: Obj) -> Iterator[FieldError]:
    kind = endpoint_slice.get("addressType") or ""
    if not kind:
        yield required("addressType")
    elif kind not in ADDRESS_TYPES:
        yield not_supported("addressType", kind, ADDRESS_TYPES)
    yield from _validate_ports(endpoint_slice.get("ports") or [])


def validate_create(endpoint_slice: Obj) -> Iterator[FieldError]:
    kind = endpoint_slice.get("addressType") or ""
    endpoints = endpoint_slice.get("endpoints") or []
    if len(endpoints) > _MAX_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)
        return
    for position, endpoint in enumerate(endpoints):
        if not _is_plain(endpoint, kind):
            yield from _validate_endpoint(endpoint, kind, index("endpoints", position))


def _is_plain(endpoint: Obj, kind: str) -> bool:
    """Sound at first sight, as nearly all of them are: slices are large, and written often."""
    addresses, node = endpoint.get("addresses") or (), endpoint.get("nodeName")
    return (
        0 < len(addresses) <= _MAX_ADDRESSES
        and all(_is_plain_address(address, kind) for address in addresses)
        and (node is None or not _node_problems(node))
        and not any(part in endpoint for part in ("hostname", "hints", "deprecatedTopology"))
    )


@lru_cache(16384)
def _is_plain_address(address: str, kind: str) -> bool:
    return not any(_validate_address(address, kind, "", 0))


def _validate_ports(ports: list[Obj]) -> Iterator[FieldError]:
    if len(ports) > _MAX_PORTS:
        yield too_many("ports", len(ports), _MAX_PORTS)
        return
    names: set[str] = set()
    for position, port in enumerate(ports):
        at, name, protocol = index("ports", position), port.get("name") or "", port.get("protocol")
        if name:
            for problem in dns1123_label(name):
                yield invalid(child(at, "name"), name, problem)
        if name in names:
            yield duplicate(child(at, "name"), name)
        names.add(name)
        if protocol is None:
            yield required(child(at, "protocol"))
        elif protocol not in PROTOCOLS:
            yield not_supported(child(at, "protocol"), protocol, PROTOCOLS)
        application = port.get("appProtocol")
        if application is not None:
            for problem in qualified_name(application):
                yield invalid(child(at, "appProtocol"), application, problem)


def _validate_endpoint(endpoint: Obj, kind: str, at: str) -> Iterator[FieldError]:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        yield required(child(at, "addresses"), "must contain at least 1 address")
    elif len(addresses) > _MAX_ADDRESSES:
        yield too_many(child(at, "addresses"), len(addresses), _MAX_ADDRESSES)
    for position, address in enumerate(addresses):
        yield from _validate_address(address, kind, child(at, "addresses"), position)
    node, hostname, hints = endpoint.get("nodeName"), endpoint.get("hostname"), endpoint.get("hints")
    if node is not None:
        for problem in _node_problems(node):
            yield invalid(child(at, "nodeName"), node, problem)
    if topology := endpoint.get("deprecatedTopology"):
        yield from _validate_topology(topology, child(at, "deprecatedTopology"))
    if hostname is not None:
        for problem in dns1123_label(hostname):
            yield invalid(child(at, "hostname"), hostname, problem)
    if hints is not None:
        yield from _validate_hints(hints, child(at, "hints"))


@lru_cache(8192)
def _node_problems(name: str) -> tuple[str, ...]:
    return tuple(dns1123_subdomain(name))


def _validate_address(address: str, kind: str, at: str, position: int) -> Iterator[FieldError]:
    place = index(at, position)
    if kind == "FQDN":
        yield from fully_qualified_domain_name(address, place)
    elif kind in ("IPv4", "IPv6"):
        wrong = list((ip.validate_legacy if kind == "IPv4" else ip.validate_strict)(address, place))
        yield from wrong
        if not wrong:
            if ip.family(address) != kind:
                yield invalid(at, address, f"must be an {kind} address")
            yield from ip.validate_endpoint(address, place)


def _validate_topology(topology: dict[str, str], at: str) -> Iterator[FieldError]:
    if len(topology) > _MAX_TOPOLOGY:
        yield too_many(at, len(topology), _MAX_TOPOLOGY)
    yield from labels(topology, at)
    if _ZONE in topology:
        yield internal_error(keyed(at, _ZONE), "reserved key was not removed in conversion")


def _validate_hints(hints: Obj, at: str) -> Iterator[FieldError]:
    for part, check in (("forZones", label_value), ("forNodes", dns1123_subdomain)):
        places = hints.get(part) or []
        if len(places) > _MAX_HINTS:
            yield too_many(child(at, part), len(places), _MAX_HINTS)
            return
        seen: set[str] = set()
        for position, each in enumerate(places):
            name, where = each.get("name", ""), child(index(child(at, part), position), "name")
            if name in seen:
                yield duplicate(where, name)
            seen.add(name)
            for problem in check(name):
                yield invalid(where, name, problem)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Endpoints that are wrong already may stay as they are."""
    if (new.get("endpoints") or []) != (old.get("endpoints") or []):
        yield from validate_create(new)
    yield from immutable(new.get("addressType", ""), old.get("addressType", ""), "addressType")


def warnings(new: Obj, old: Obj | None) -> Iterator[str]:
    if old is None and new.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    if (new.get("metadata", {}).get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return
    for position, endpoint in enumerate(new.get("endpoints") or ()):
        for place, address in enumerate(endpoint.get("addresses") or ()):
            if ip.is_standard(address):
                continue
            yield from ip.warnings(address, index(child(index("endpoints", position), "addresses"), place))


def _ports(endpoint_slice: Obj, _: float) -> str:
    ports: list[Obj] = endpoint_slice.get("ports") or []
    told = [port["port"] if port.get("port") is not None else port.get("name", "*") for port in ports]
    return cells.up_to(_SHOWN, told)


def _endpoints(endpoint_slice: Obj, _: float) -> str:
    endpoints: list[Obj] = endpoint_slice.get("endpoints") or []
    return cells.up_to(_SHOWN, [address for each in endpoints for address in each.get("addresses") or ()])


ENDPOINT_SLICES = Kind(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    plural="endpointslices",
    singular="endpointslice",
    schema="io.k8s.api.discovery.v1.EndpointSlice",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_create=validate_create,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(generation_of=(("addressType",), ("endpoints",), ("ports",), ("metadata", "labels"))),
    columns=(
        Column("AddressType", "addressType"),
        Column("Ports", _ports, description="Ports of every endpoint."),
        Column("Endpoints", _endpoints, description="Addresses."),
        AGE,
    ),
)
