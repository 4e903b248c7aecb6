"""What a cluster with nodes takes of its machine's network: an address of its own, and the ranges that belong to it.

    10.239.N.1      by which pods and nodes reach the control plane, on the loopback: nobody else does
    10.239.N.0/24   nodes that have network namespaces of their own (and fd00:10:239:N::/64 where pods have IPv6)
    10.N.0.0/16     pods, unless the user says otherwise

Whoever can put the address on the loopback has the ranges: the kernel does not let two clusters of a machine have the same.
"""

import errno
import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from tiphys.cmd.addresses import are_free
from tiphys.cmd.data_directory import Unusable

if TYPE_CHECKING:
    from pyroute2 import IPRoute

_NUMBERS = (*range(245, 255), *range(244, 239, -1))
"""10.244.0.0/16, which other clusters take first, comes late."""

PODS_OF_THE_MACHINE = "10.240.0.0/12"
"""Of which every cluster of this machine takes its part."""

_SIZES = {4: 24, 6: 64}
"""Of the range that one node gets, as upstream's controller gives them out."""


@dataclass(frozen=True, slots=True)
class MachineNetwork:
    number: int
    pod_ranges: tuple[str, ...]
    """Of the whole cluster."""

    @property
    def address(self) -> str:
        return f"10.239.{self.number}.1"

    @property
    def node_ranges(self) -> tuple[str, ...]:
        """One of each family that pods have."""
        six = (f"fd00:10:239:{self.number}::/64",) if any(":" in each for each in self.pod_ranges) else ()
        return f"10.239.{self.number}.0/24", *six

    @property
    def prefix_lengths(self) -> tuple[int, ...]:
        return tuple(ipaddress.ip_network(each).prefixlen for each in self.node_ranges)

    @property
    def gateways(self) -> tuple[str, ...]:
        return self._in_node_ranges(1)

    def node_addresses(self, index: int) -> tuple[str, ...]:
        """`index`: from 0."""
        return self._in_node_ranges(index + 2)

    def _in_node_ranges(self, number: int) -> tuple[str, ...]:
        return tuple(str(ipaddress.ip_network(each).network_address + number) for each in self.node_ranges)

    def pods_of(self, index: int) -> tuple[str, ...]:
        """The ranges of one node, as if nodes had been given theirs in this order."""
        return tuple(_part(ipaddress.ip_network(each), index) for each in self.pod_ranges)


def _part(network: ipaddress.IPv4Network | ipaddress.IPv6Network, index: int) -> str:
    size = _SIZES[network.version]
    if size < network.prefixlen:
        raise Unusable(f"the range {network} of the cluster's pods is too small for one node (/{size})")
    step = 1 << (network.max_prefixlen - size)
    if index * step >= network.num_addresses:
        raise Unusable(f"the range {network} of the cluster's pods is too small for {index + 1} nodes")
    return f"{network.network_address + index * step}/{size}"


def claim(file: Path, pod_ranges: tuple[str, ...] = ()) -> MachineNetwork:
    """`file`: where it is noted, so that the same cluster takes the same again. Raises Unusable."""
    known = _noted(file)
    for number in (known,) if known is not None else _free():
        claimed = MachineNetwork(number, pod_ranges or (f"10.{number}.0.0/16",))
        if _take(claimed.address) or known is not None:
            file.write_bytes(orjson.dumps({"number": number}))
            return claimed
    raise Unusable(f"no part of {PODS_OF_THE_MACHINE} is free for pods on this machine")


def release(file: Path) -> None:
    """The address goes; what the cluster had is noted still."""
    if (known := _noted(file)) is None:
        return
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    with IPRoute() as netlink:
        try:
            netlink.addr("del", index=_loopback(netlink), address=MachineNetwork(known, ()).address, prefixlen=32)
        except NetlinkError as problem:
            if problem.code != errno.EADDRNOTAVAIL:
                raise


def _noted(file: Path) -> int | None:
    try:
        return int(orjson.loads(file.read_bytes())["number"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def _free() -> Iterator[int]:
    return (number for number in _NUMBERS if are_free((f"10.{number}.0.0/16", f"10.239.{number}.0/24")))


def _take(address: str) -> bool:
    """Whether nobody had it."""
    # Loaded where there are nodes; a control plane alone does without netlink.
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    with IPRoute() as netlink:
        try:
            netlink.addr("add", index=_loopback(netlink), address=address, prefixlen=32)
        except NetlinkError as problem:
            if problem.code == errno.EEXIST:
                return False
            raise Unusable(f"cannot take the address {address} on this machine: {problem}") from None
    return True


def _loopback(netlink: "IPRoute") -> int:
    return int(netlink.link_lookup(ifname="lo")[0])
