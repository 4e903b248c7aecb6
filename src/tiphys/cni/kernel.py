"""The node's kernel: links, addresses, routes and neighbours by netlink, rules by nft. Everything but `nft` blocks."""

import asyncio
import contextlib
import errno
import ipaddress
import socket
from asyncio.subprocess import PIPE
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from tiphys.cni.plan import VXLAN_PORT, Link, Neighbour, Overlay, Route, Wanted

PROTOCOL = 84
"""By which the kernel notes who made a route; anybody may choose a number that is free (/etc/iproute2/rt_protos)."""
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_ONLINK = 4
_PERMANENT = 0x80
_SELF = 0x02
_FORWARDING = ("/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding")


class Refused(Exception):
    """The kernel, or the program that speaks to it, did not take it; with its words."""


def links_of(addresses: Iterable[str]) -> tuple[Link, ...]:
    """By which of this machine's links each address is reached, as far as it is one of this machine's."""
    found: list[Link] = []
    with IPRoute() as netlink:
        held: dict[str, Any] = {}
        # The widest last: an address may also stand alone on the loopback.
        for each in sorted(netlink.get_addr(), key=lambda each: -each["prefixlen"]):
            held[each.get_attr("IFA_LOCAL") or each.get_attr("IFA_ADDRESS")] = each
        for address in addresses:
            if (entry := held.get(address)) is None:
                continue
            link = netlink.get_links(entry["index"])[0]
            network = ipaddress.ip_interface(f"{address}/{entry['prefixlen']}").network
            found.append(Link(address, str(network), link.get_attr("IFLA_IFNAME"), link.get_attr("IFLA_MTU")))
    return tuple(found)


def forward(ranges: Iterable[str]) -> None:
    """Packets that are not for this machine are passed on. Raises Refused."""
    for file, family in zip(_FORWARDING, (4, 6), strict=True):
        if any(ipaddress.ip_network(each).version == family for each in ranges) and Path(file).read_text().strip() == "0":
            try:
                Path(file).write_text("1")
            except OSError as problem:
                raise Refused(f"cannot write 1 to {file}: {problem.strerror}") from None


class Routes:
    """Those that one owner has made: `metric` tells its routes from those of other clusters on the machine."""

    def __init__(self, metric: int, overlay: str) -> None:
        self._metric = metric
        self._overlay = overlay

    def bring(self, wanted: Wanted) -> int:
        """What differs is changed; the number of changes. Raises Refused."""
        try:
            with IPRoute() as netlink:
                changes = self._device(netlink, wanted.overlay)
                changes += self._neighbours(netlink, wanted.neighbours)
                return changes + self._routes(netlink, wanted.routes)
        except NetlinkError as problem:
            raise Refused(str(problem)) from None
        except LookupError as problem:
            raise Refused(f"there is no link {problem}") from None

    def remove(self) -> None:
        self.bring(Wanted())

    def _device(self, netlink: IPRoute, wanted: Overlay | None) -> int:
        index = next(iter(netlink.link_lookup(ifname=self._overlay)), None)
        if index is not None and (wanted is None or not _is(netlink.get_links(index)[0], wanted)):
            netlink.link("del", index=index)
            index = None
        if wanted is None:
            return 0
        if index is None:
            netlink.link(
                "add",
                ifname=wanted.device,
                kind="vxlan",
                vxlan_id=wanted.number,
                vxlan_port=VXLAN_PORT,
                vxlan_learning=0,
                **{"vxlan_local6" if ":" in wanted.local else "vxlan_local": wanted.local},
                address=wanted.hardware,
                mtu=wanted.mtu,
            )
            index = _index(netlink, wanted.device)
            for each in wanted.addresses:
                netlink.addr("add", index=index, address=each, prefixlen=128 if ":" in each else 32)
            netlink.link("set", index=index, state="up")
            return 1
        return 0

    def _neighbours(self, netlink: IPRoute, wanted: frozenset[Neighbour]) -> int:
        """Of the overlay's device, all of whose entries are ours."""
        if not wanted:
            return 0
        device = _index(netlink, self._overlay)
        known = {
            (each.get_attr("NDA_DST"), each.get_attr("NDA_LLADDR"))
            for family in _FAMILIES
            for each in netlink.get_neighbours(family=family, ifindex=device)
            if each["state"] == _PERMANENT
        }
        bridged = {
            (each.get_attr("NDA_LLADDR"), each.get_attr("NDA_DST"))
            for each in netlink.fdb("dump", ifindex=device)
            if each.get_attr("NDA_DST") is not None
        }
        named = {(each.address, each.hardware) for each in wanted}
        behind = {(each.hardware, each.node) for each in wanted}
        for hardware, node in bridged - behind:
            netlink.fdb("del", ifindex=device, lladdr=hardware, dst=node)
        for hardware, node in behind - bridged:
            netlink.fdb("append", ifindex=device, lladdr=hardware, dst=node)
        for address, _ in {each for each in known if each[0] not in {name for name, _ in named}}:
            netlink.neigh("del", ifindex=device, dst=address, family=_family(address))
        for address, hardware in named - known:
            netlink.neigh("replace", ifindex=device, dst=address, lladdr=hardware, state="permanent", family=_family(address))
        return len(behind ^ bridged) + len(named ^ known)

    def _routes(self, netlink: IPRoute, wanted: frozenset[Route]) -> int:
        names: dict[int, str] = {each["index"]: each.get_attr("IFLA_IFNAME") for each in netlink.get_links()}
        there = {
            (f"{each.get_attr('RTA_DST')}/{each['dst_len']}", each.get_attr("RTA_GATEWAY"), names[each.get_attr("RTA_OIF")])
            for family in _FAMILIES
            for each in netlink.get_routes(family=family)
            if each["proto"] == PROTOCOL and each.get_attr("RTA_PRIORITY") == self._metric
        }
        needed = {(each.to, each.via, each.device): each for each in wanted}
        kept = {each.to for each in wanted}
        for to, via, device in there - needed.keys():
            if to not in kept:
                self._route(netlink, "del", Route(to, via, device))
        for key in needed.keys() - there:
            # A route to the same network by another way is replaced: there is no moment without one.
            self._route(netlink, "replace", needed[key])
        return len(there ^ needed.keys())

    def _route(self, netlink: IPRoute, verb: str, route: Route) -> None:
        given = {
            "family": _family(route.to),
            "dst": route.to,
            "gateway": route.via,
            "oif": _index(netlink, route.device),
            "proto": PROTOCOL,
            "priority": self._metric,
        }
        if route.onlink:
            given["flags"] = _ONLINK
        try:
            netlink.route(verb, **given)
        except NetlinkError as problem:
            # The kernel takes routes away by itself when their link goes.
            if verb != "del" or problem.code not in (errno.ESRCH, errno.ENODEV):
                raise


def _is(link: Any, wanted: Overlay) -> bool:
    """Whether the device is as it is wanted; most of what it is cannot be changed later."""
    info = link.get_attr("IFLA_LINKINFO")
    data = info.get_attr("IFLA_INFO_DATA") if info is not None and info.get_attr("IFLA_INFO_KIND") == "vxlan" else None
    if data is None:
        return False
    local = data.get_attr("IFLA_VXLAN_LOCAL6" if ":" in wanted.local else "IFLA_VXLAN_LOCAL")
    have = (data.get_attr("IFLA_VXLAN_ID"), local, link.get_attr("IFLA_ADDRESS"), link.get_attr("IFLA_MTU"))
    return have == (wanted.number, wanted.local, wanted.hardware, wanted.mtu)


def _index(netlink: IPRoute, name: str) -> int:
    found = netlink.link_lookup(ifname=name)
    if not found:
        raise LookupError(name)
    return int(found[0])


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def remove_link(name: str) -> None:
    with IPRoute() as netlink:
        for index in netlink.link_lookup(ifname=name):
            with contextlib.suppress(NetlinkError):
                netlink.link("del", index=index)


async def nft(transaction: str) -> None:
    """All of it, or nothing. Raises Refused."""
    try:
        child = await asyncio.create_subprocess_exec("nft", "-f", "-", stdin=PIPE, stdout=PIPE, stderr=PIPE)
    except OSError as problem:
        raise Refused(f"cannot run nft: {problem.strerror}") from problem
    try:
        _, said = await child.communicate(transaction.encode())
    except BaseException:
        if child.returncode is None:
            child.kill()
            await child.wait()
        raise
    if child.returncode:
        raise Refused(said.decode(errors="replace").strip() or f"nft ended with {child.returncode}")
