"""Objects become records, by the specification of Kubernetes' DNS (kubernetes/dns, docs/specification.md 1.1.0). Core.

Where the specification leaves room, CoreDNS decides: endpoints without a host name are called by their address with dashes,
and the name of a Service answers SRV for all of its ports.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tiphys.dns import wire
from tiphys.machinery.tree import Obj, get

SERVICE_NAME = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class Data:
    kind: int
    data: bytes
    target: bytes = b""
    """The name that SRV leads to, so that its addresses can be told along with it."""


@dataclass(slots=True)
class Records:
    """Of one Service: names (as labels on the wire, in lower case) to their records."""

    names: dict[bytes, list[Data]] = field(default_factory=dict)
    alias: tuple[bytes, bytes] | None = None
    """An ExternalName: the Service's name, and the one it stands for."""

    def add(self, owner: bytes, data: Data) -> None:
        known = self.names.setdefault(owner, [])
        if data not in known:
            known.append(data)


@dataclass(frozen=True, slots=True)
class Place:
    """An endpoint as DNS sees it."""

    address: str
    hostname: str
    ready: bool


def of_service(service: Obj, slices: Iterable[Obj], zone: str) -> Records:
    found = Records()
    spec, meta = service["spec"], service["metadata"]
    own = _name(meta["name"], meta["namespace"], "svc", zone)
    if spec.get("type") == "ExternalName":
        external = _external(spec.get("externalName", ""))
        if external is not None:
            found.add(own, Data(wire.CNAME, external))
            found.alias = (own, external)
        return found
    addresses = [each for each in spec.get("clusterIPs") or (spec.get("clusterIP", ""),) if each not in ("", "None")]
    headless = not addresses
    found.names[own] = []
    ports = [(each.get("name", ""), each.get("protocol", "TCP").lower(), each["port"]) for each in spec.get("ports") or ()]
    if not headless:
        _of_addresses(found, own, addresses, ports)
    every = bool(spec.get("publishNotReadyAddresses"))
    for slice_ in slices:
        _of_slice(found, own, slice_, headless=headless, every=every)
    if headless and not found.names[own]:
        # A headless Service without endpoints is as if it were not there (CoreDNS, kubernetes plugin).
        return Records()
    return found


def _of_addresses(found: Records, own: bytes, addresses: list[str], ports: list[tuple[str, str, int]]) -> None:
    for address in addresses:
        found.add(own, Data(*wire.address(address)))
        found.add(reverse(address), Data(wire.PTR, own))
    for port_name, protocol, number in ports:
        data = Data(wire.SRV, wire.srv(0, 100, number, own), own)
        found.add(own, data)
        if port_name:
            found.add(_port(port_name, protocol, own), data)


def _of_slice(found: Records, own: bytes, slice_: Obj, *, headless: bool, every: bool) -> None:
    places = [each for each in _places(slice_) if each.ready or every]
    ports = [each for each in slice_.get("ports") or () if each.get("port")]
    for place in places:
        target = wire.name(place.hostname)[:-1] + own
        kind, data = wire.address(place.address)
        found.add(target, Data(kind, data))
        found.add(reverse(place.address), Data(wire.PTR, target))
        if not headless:
            continue
        found.add(own, Data(kind, data))
        for port in ports:
            points = Data(wire.SRV, wire.srv(0, 100, port["port"], target), target)
            found.add(own, points)
            if port.get("name"):
                found.add(_port(port["name"], (port.get("protocol") or "TCP").lower(), own), points)


def _places(slice_: Obj) -> Iterator[Place]:
    for endpoint in slice_.get("endpoints") or ():
        ready = get(endpoint, ("conditions", "ready"), True) is not False
        for address in endpoint.get("addresses") or ():
            try:
                ipaddress.ip_address(address)
            except ValueError:
                continue  # slices of names are not for DNS
            hostname = (endpoint.get("hostname") or "").lower()
            yield Place(address, hostname or address.replace(".", "-").replace(":", "-"), ready)


def weighted(records: list[Data]) -> list[Data]:
    """SRV records share a hundred, as those of CoreDNS do."""
    count = sum(each.kind == wire.SRV for each in records)
    if count < 2:
        return records
    weight = max(100 // count, 1).to_bytes(2, "big")
    return [
        Data(each.kind, each.data[:2] + weight + each.data[4:], each.target) if each.kind == wire.SRV else each
        for each in records
    ]


def pod_address(label: str) -> str | None:
    """The address that the name of a pod spells: 10-1-0-1, or fd00--1."""
    for separator in (".", ":"):
        try:
            return str(ipaddress.ip_address(label.replace("-", separator)))
        except ValueError:
            continue
    return None


def reverse(address: str) -> bytes:
    return wire.name(ipaddress.ip_address(address).reverse_pointer)


def service_of(slice_: Obj) -> tuple[str, str] | None:
    labels: Mapping[str, str] = slice_["metadata"].get("labels") or {}
    owner = labels.get(SERVICE_NAME)
    return (slice_["metadata"]["namespace"], owner) if owner else None


def _name(*parts: str) -> bytes:
    return wire.name(".".join(parts)).lower()


def _port(name: str, protocol: str, own: bytes) -> bytes:
    return wire.name(f"_{name}._{protocol}").lower()[:-1] + own


def _external(name: str) -> bytes | None:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        pass
    else:
        return None  # an address is no name; CoreDNS leaves it out too
    try:
        return wire.name(name)
    except ValueError:
        return None
