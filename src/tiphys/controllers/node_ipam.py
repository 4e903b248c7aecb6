"""Node IPAM: every node gets a range of pod addresses of its own, one of each family of the cluster's.

All nodes are one key: whoever hands out ranges must see all that are taken, and a key is never worked on twice at a time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiphys.api import ip
from tiphys.api.core.nodes import NODES
from tiphys.api.ip import Network
from tiphys.controllers.controller import Base, Caches, Watch
from tiphys.controllers.plan import NOT_FOUND, Emit, Note, Patch, Plan, Write
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

IPV4_MASK, IPV6_MASK = 24, 64
WIDEST_IPV6 = 16
"""Bits by which a node's IPv6 range may be smaller than the cluster's, as upstream has it."""
_KEY = "nodes"
_NONE_LEFT = "CIDR allocation failed; there are no remaining CIDRs left to allocate in the accepted range"


@dataclass(frozen=True, slots=True)
class Range:
    """The cluster's range of one family, cut into ranges for nodes, which are numbered."""

    cluster: Network
    mask: int

    def __post_init__(self) -> None:
        if self.cluster.prefixlen > self.mask:
            told = "mask size of cluster CIDR must be less than or equal to --node-cidr-mask-size configured for CIDR family"
            raise ValueError(f"Invalid --cluster-cidr, {told}")
        if self.cluster.version == 6 and self.mask - self.cluster.prefixlen > WIDEST_IPV6:
            raise ValueError("New CIDR set failed; the node CIDR size is too big")

    @property
    def count(self) -> int:
        return 1 << (self.mask - self.cluster.prefixlen)

    @property
    def _step(self) -> int:
        return 1 << (self.cluster.max_prefixlen - self.mask)

    def numbers(self, network: Network) -> range:
        """Of the node ranges that a network touches."""
        if network.version != self.cluster.version or not network.overlaps(self.cluster):
            return range(0)
        begin = max(int(network.network_address), int(self.cluster.network_address)) - int(self.cluster.network_address)
        end = min(int(network.broadcast_address), int(self.cluster.broadcast_address)) - int(self.cluster.network_address)
        return range(begin // self._step, end // self._step + 1)

    def spelled(self, number: int) -> str:
        return f"{self.cluster.network_address + number * self._step}/{self.mask}"


@dataclass(frozen=True, slots=True)
class World:
    nodes: tuple[Obj, ...]


def _concerns(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    """A node without ranges, or ranges that have become free for one that waits."""
    lacks = new is not None and not pod_cidrs(new)
    frees = old is not None and new is None
    return (_KEY,) if lacks or frees else ()


def pod_cidrs(node: Obj) -> Sequence[str]:
    spec = node.get("spec") or {}
    return spec.get("podCIDRs") or ((spec["podCIDR"],) if spec.get("podCIDR") else ())


class NodeIpam(Base):
    name = "node-ipam-controller"
    component = "cidrAllocator"
    watches = (Watch(NODES, _concerns),)

    def __init__(self, ranges: Sequence[Range], taken: Sequence[Network] = ()) -> None:
        """`taken`: ranges within the cluster's that are for something else, for Services say."""
        self._ranges = tuple(ranges)
        self._taken = tuple(taken)
        self._next = [0] * len(self._ranges)
        """Where the search goes on: a range that has just become free is the last to be given again."""

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        return World(tuple(caches[NODES]))

    def reconcile(self, world: World) -> Plan:
        lacking = [node for node in world.nodes if not pod_cidrs(node) and not meta.is_deleting(node)]
        if not lacking:
            return Plan()
        taken = [self._occupied(index, world.nodes) for index in range(len(self._ranges))]
        writes: list[Write] = []
        for node in lacking:
            numbers = [self._free(index, taken[index]) for index in range(len(self._ranges))]
            if None in numbers:
                problem = f"failed to allocate cidr from cluster cidr at idx:{numbers.index(None)}: {_NONE_LEFT}"
                told = Note(node, "CIDRNotAvailable", f"Node {meta.name(node)} status is now: CIDRNotAvailable")
                return Plan((*writes, Emit(told)), retry=problem)
            cidrs = []
            for index, number in enumerate(numbers):
                assert number is not None
                taken[index].add(number)
                self._next[index] = (number + 1) % self._ranges[index].count
                cidrs.append(self._ranges[index].spelled(number))
            spec = {"podCIDR": cidrs[0], "podCIDRs": cidrs}
            patch = {"metadata": {"uid": meta.uid(node)}, "spec": spec}
            writes.append(Patch(NODES, node, patch, tolerate=NOT_FOUND))
        return Plan(tuple(writes))

    def _occupied(self, index: int, nodes: Iterable[Obj]) -> set[int]:
        own = self._ranges[index]
        taken = {number for network in self._taken for number in own.numbers(network)}
        for node in nodes:
            for text in pod_cidrs(node):
                cidr = ip.parse_cidr(text)
                if cidr is not None:
                    taken.update(own.numbers(cidr.network))
        return taken

    def _free(self, index: int, taken: set[int]) -> int | None:
        count, first = self._ranges[index].count, self._next[index]
        if len(taken) >= count:
            return None
        return next((number for step in range(count) if (number := (first + step) % count) not in taken), None)


def ranges(cluster: str, mask: int = 0, ipv4: int = 0, ipv6: int = 0) -> tuple[Range, ...]:
    """What the flags say: one range, or one of each family. ValueError in upstream's words."""
    found = [ip.parse_cidr(each.strip()) for each in cluster.split(",")]
    networks = [each.network for each in found if each is not None]
    if len(networks) != len(found):
        raise ValueError(f"unable to parse --cluster-cidr {cluster!r}")
    families: list[int] = [network.version for network in networks]
    if len(networks) > 2 or len(set(families)) != len(families):
        raise ValueError(f"expected one CIDR, or one of each family, got {cluster!r}")
    sizes = _sizes(families, mask, ipv4, ipv6)
    return tuple(Range(network, sizes[network.version]) for network in networks)


def _sizes(families: list[int], mask: int, ipv4: int, ipv6: int) -> dict[int, int]:
    if len(families) > 1:
        if mask:
            raise ValueError("usage of --node-cidr-mask-size is not allowed with dual-stack clusters")
        return {4: ipv4 or IPV4_MASK, 6: ipv6 or IPV6_MASK}
    if mask:
        if ipv4 or ipv6:
            raise ValueError(
                "usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if --node-cidr-mask-size "
                "is set. For dual-stack clusters please unset it and use IPFamily specific flags"
            )
        return {4: mask, 6: mask}
    if ipv4 and families == [6]:
        raise ValueError("usage of --node-cidr-mask-size-ipv4 is not allowed for a single-stack IPv6 cluster")
    if ipv6 and families == [4]:
        raise ValueError("usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster")
    return {4: ipv4 or IPV4_MASK, 6: ipv6 or IPV6_MASK}
