"""Nodes become what a node's kernel needs to reach the pods of the others. Core.

Each node owns a range of pod addresses (`spec.podCIDRs`). Where another node is on one of this node's links, its address is the
gateway to its pods. Where it is not, packets travel inside UDP packets between nodes (VXLAN): the overlay's device has an
address for each range, its first one, which no pod is given; the routes lead over these, and since every node can work out the
hardware address of every other, nobody ever asks for one.
"""

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get

VXLAN_PORT = 8472
_HEADERS = {4: 50, 6: 70}
"""What VXLAN adds to a packet, by the family of the packets outside."""


@dataclass(frozen=True, slots=True)
class Link:
    """By which a node is reached at one of its addresses."""

    address: str
    network: str
    device: str
    mtu: int


@dataclass(frozen=True, slots=True)
class Peer:
    """What of a Node matters to the others."""

    name: str
    addresses: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    to: str
    via: str
    device: str
    onlink: bool = False
    """The gateway has no network of its own on the device."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """On the overlay: who is behind a gateway's address, and at which address of the network below."""

    address: str
    hardware: str
    node: str


@dataclass(frozen=True, slots=True)
class Overlay:
    device: str
    number: int
    local: str
    hardware: str
    mtu: int
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    routes: frozenset[Route] = frozenset()
    neighbours: frozenset[Neighbour] = frozenset()
    overlay: Overlay | None = None
    """None where every node is on a link of this one."""
    pods: frozenset[str] = frozenset()
    """The ranges of all nodes."""
    unreached: frozenset[str] = frozenset()
    """Nodes that no address leads to."""


@dataclass(frozen=True, slots=True)
class Here:
    """This node, or a machine that is none and wants to reach pods all the same (no ranges)."""

    name: str
    ranges: tuple[str, ...]
    links: tuple[Link, ...]
    device: str
    """What an overlay's device is to be called."""
    number: int
    """Of the overlay: the same on all nodes of a cluster, and another in every cluster."""


def peer(node: Obj) -> Peer:
    ranges = get(node, ("spec", "podCIDRs"), None) or [each for each in [get(node, ("spec", "podCIDR"))] if each]
    listed = get(node, ("status", "addresses"), ())
    return Peer(meta.name(node), tuple(each["address"] for each in listed if each["type"] == "InternalIP"), tuple(ranges))


def overlay_number(cluster_uid: str) -> int:
    """24 bits, but never 0; `cluster_uid`: of the namespace kube-system."""
    return 1 + int.from_bytes(hashlib.sha256(cluster_uid.encode()).digest()[:4], "big") % 0xFFFFFE


def pod_mtu(links: Iterable[Link], overlay: Overlay | None = None) -> int:
    """The largest packet that a pod may send without it being cut on the way to another node."""
    return overlay.mtu if overlay is not None else min((each.mtu for each in links), default=0)


def plan(here: Here, peers: Iterable[Peer]) -> Wanted:
    others = sorted((each for each in peers if each.name != here.name and each.ranges), key=lambda each: each.name)
    routes: set[Route] = set()
    neighbours: set[Neighbour] = set()
    unreached: set[str] = set()
    for other in others:
        for network in other.ranges:
            hop = _on_link(here.links, other, network)
            if hop is not None:
                routes.add(Route(network, hop[0], hop[1]))
                continue
            below = _below(here.links, other)
            if below is None:
                # One that has not said yet where it is will.
                unreached.update({other.name} if other.addresses else ())
                continue
            gateway = _first(network)
            routes.add(Route(network, gateway, here.device, onlink=True))
            neighbours.add(Neighbour(gateway, hardware_address(other.name), below))
    pods = frozenset(each for one in (*others, Peer(here.name, ranges=here.ranges)) for each in one.ranges)
    return Wanted(
        frozenset(routes), frozenset(neighbours), _overlay(here, neighbours), pods=pods, unreached=frozenset(unreached)
    )


def _overlay(here: Here, neighbours: Iterable[Neighbour]) -> Overlay | None:
    """A device takes one family below: that of the node's first address, in which everybody is reached (see _below)."""
    if not neighbours:
        return None
    local = here.links[0]
    family = ipaddress.ip_address(local.address).version
    addresses = tuple(_first(each) for each in here.ranges)
    mtu = local.mtu - _HEADERS[family]
    return Overlay(here.device, here.number, local.address, hardware_address(here.name), mtu, addresses)


def _on_link(links: Iterable[Link], other: Peer, network: str) -> tuple[str, str] | None:
    """The gateway and the device, if the node is beside this one in the family of its pods."""
    for address in _of_same_family(other.addresses, network):
        for link in links:
            if ipaddress.ip_address(address) in ipaddress.ip_network(link.network):
                return address, link.device
    return None


def _below(links: tuple[Link, ...], other: Peer) -> str | None:
    return next(_of_same_family(other.addresses, links[0].address), None) if links else None


def _of_same_family(addresses: Iterable[str], like: str) -> Iterator[str]:
    return (each for each in addresses if (":" in each) == (":" in like))


def _first(network: str) -> str:
    return str(ipaddress.ip_network(network).network_address)


def hardware_address(node: str) -> str:
    """Of the overlay's device on that node: made up, but the same wherever it is worked out."""
    digest = hashlib.sha256(node.encode()).digest()
    return ":".join(f"{each:02x}" for each in (digest[0] & 0xFC | 0x02, *digest[1:6]))
