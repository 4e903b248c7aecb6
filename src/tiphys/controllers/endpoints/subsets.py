"""The subsets of an Endpoints object in their one canonical form: addresses that offer the same ports stand together."""

import math
from collections.abc import Iterable, Sequence

from tiphys.machinery.tree import Obj

MOST = 1000
"""Addresses that one Endpoints object holds."""

Port = tuple[str, int, str, str | None]
"""Name, number, protocol, application protocol."""
Address = tuple[str, str]
"""IP and uid of the pod: pods may share an address and are still two."""
NO_PORT: Port = ("", -1, "", None)


def repack(subsets: Iterable[Obj]) -> list[Obj]:
    known: dict[Address, Obj] = {}
    offered: dict[Port, dict[Address, bool]] = {}
    for subset in subsets:
        ports = [_port(each) for each in subset.get("ports") or ()] or [NO_PORT]
        for part, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(part) or ():
                key = (address["ip"], (address.get("targetRef") or {}).get("uid", ""))
                known.setdefault(key, address)
                for port in ports:
                    at = offered.setdefault(port, {})
                    at[key] = at.get(key, True) and ready
    groups: dict[tuple[tuple[Address, bool], ...], list[Port]] = {}
    for port, addresses in offered.items():
        ports = groups.setdefault(tuple(sorted(addresses.items(), key=_order)), [])
        if port is not NO_PORT and port != NO_PORT:
            ports.append(port)
    packed = [_subset(addresses, sorted(ports, key=_port_order), known) for addresses, ports in groups.items()]
    return sorted(packed, key=lambda subset: (_first(subset), repr(subset.get("ports"))))


def _order(item: tuple[Address, bool]) -> tuple[bytes, str]:
    (address, uid), _ = item
    return address.encode(), uid


def _port_order(port: Port) -> tuple[str, int, str]:
    return port[:3]


def _first(subset: Obj) -> str:
    listed = [each["ip"] for part in ("addresses", "notReadyAddresses") for each in subset.get(part) or ()]
    return min(listed, default="")


def _port(port: Obj) -> Port:
    return port.get("name") or "", port["port"], port.get("protocol") or "TCP", port.get("appProtocol")


def _subset(addresses: Sequence[tuple[Address, bool]], ports: Sequence[Port], known: dict[Address, Obj]) -> Obj:
    subset: Obj = {}
    for part, wanted in (("addresses", True), ("notReadyAddresses", False)):
        listed = [known[key] for key, ready in addresses if ready is wanted]
        if listed:
            subset[part] = listed
    if ports:
        subset["ports"] = [_spelled(each) for each in ports]
    return subset


def _spelled(port: Port) -> Obj:
    name, number, protocol, app = port
    made: Obj = {"name": name} if name else {}
    made |= {"port": number, "protocol": protocol}
    return {**made, "appProtocol": app} if app is not None else made


def count(subsets: Iterable[Obj]) -> int:
    return sum(len(subset.get("addresses") or ()) + len(subset.get("notReadyAddresses") or ()) for subset in subsets)


def truncated(subsets: list[Obj]) -> list[Obj]:
    """No more than `MOST` addresses, of each subset in its proportion; those that are ready come first."""
    if count(subsets) <= MOST:
        return subsets
    ready = sum(len(subset.get("addresses") or ()) for subset in subsets)
    part, room = ("addresses", MOST) if ready > MOST else ("notReadyAddresses", MOST - ready)
    total = ready if ready > MOST else count(subsets) - ready
    left, kept = room, []
    for subset in subsets:
        listed = subset.get(part) or []
        share = min(math.ceil(len(listed) / total * room), left, len(listed))
        left -= share
        rest = {key: value for key, value in subset.items() if key not in (part, "notReadyAddresses")}
        if share:
            rest[part] = listed[:share]
        if rest.keys() - {"ports"}:
            kept.append(rest)
    return kept
