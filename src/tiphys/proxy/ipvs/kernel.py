"""Rules in the kernel, by way of ipvsadm, ip and nft."""

import contextlib
import ipaddress
from collections.abc import Collection
from pathlib import Path

from tiphys.proxy import apply
from tiphys.proxy.apply import Refused, run
from tiphys.proxy.ipvs import parts, servers
from tiphys.proxy.ipvs.servers import INTERFACE, SERVICE_IPS, VIRTUAL_SERVERS, Front, Real, Servers
from tiphys.proxy.ledger import Delta, Part
from tiphys.proxy.nftables import table
from tiphys.proxy.nftables.table import Table
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import Family

IN_KERNEL = Path("/proc/net/ip_vs")
SAVE = ["ipvsadm", "--save", "-n"]
PROBE = ["-t", "198.51.100.0:20000"]
"""A virtual server to try a scheduler with: upstream's, at an address for documentation."""

SWITCHES = {"net/ipv4/vs/conntrack": 1, "net/ipv4/vs/expire_nodest_conn": 1, "net/ipv4/vs/expire_quiescent_template": 1}
"""conntrack: masquerading needs it; the others: connections and clients do not stay with an endpoint that is gone."""


async def check(scheduler: str) -> None:
    """Whether this machine can do it. Raises Refused."""
    if not _in_kernel():
        with contextlib.suppress(Refused):
            await run(["modprobe", "ip_vs"])
    if not _in_kernel():
        raise Refused("ipvs not supported by the kernel")
    known = servers.saved(await run(SAVE)).virtual.values()
    if all(f"-s {scheduler}" != options.partition(" -p")[0].partition(" -b")[0] for options in known):
        await run(["ipvsadm", "-A", *PROBE, "-s", scheduler])
        await run(["ipvsadm", "-D", *PROBE])


def _in_kernel() -> bool:
    return IN_KERNEL.exists()


class Ipvs:
    patience = 5.0

    def __init__(self, family: Family, name: str) -> None:
        self._family: Family = family
        self._table = Table("ip" if family == 4 else "ip6", f"{name}-ipvs", parts.HOOKS)
        self._machine: frozenset[str] = frozenset()
        self._fronts: frozenset[Front] = frozenset()
        """Virtual servers that may be there because of us; likewise addresses."""
        self._bound: frozenset[str] = frozenset()
        self._draining: frozenset[Real] = frozenset()
        self._spared: tuple[str, ...] = ()

    def base(self, frame: Frame) -> Part:
        self._spared = frame.spared
        return parts.base(frame)

    def part(self, ports: tuple[PortRules, ...], frame: Frame) -> Part:
        return parts.part(ports, frame)

    async def replace(self, everything: Delta) -> None:
        if problems := apply.switch(SWITCHES):
            raise Refused("; ".join(problems))
        self._machine = _of_machine(await self._interfaces())
        _, after = servers.sides(everything, self._machine)
        await self._remember()
        ours = self._unspared(self._fronts) | after.virtual.keys()
        before = servers.only(servers.saved(await run(SAVE)), ours)
        bound = self._bound
        await run(["nft", "-f", "-"], table.create(self._table, servers.noted(everything, Servers(), after)).text)
        await self._write(servers.change(before, after), after, bound)
        self._fronts, self._bound = frozenset(after.virtual), after.bound

    async def change(self, delta: Delta) -> None:
        before, after = servers.sides(delta, self._machine)
        if text := table.change(self._table, servers.noted(delta, before, after)).text:
            await run(["nft", "-f", "-"], text)
        await self._write(servers.change(before, after, self._draining), after, before.bound)
        self._fronts = (self._fronts - before.virtual.keys()) | after.virtual.keys()
        self._bound = (self._bound - before.bound) | after.bound

    async def intact(self) -> bool:
        try:
            interfaces = await self._interfaces()
            there = servers.saved(await run(SAVE)).virtual.keys()
            listed = await run(["nft", "list", "chain", self._table.family, self._table.name, "services"])
        except Refused:
            return False
        bound = interfaces.get(INTERFACE, set())
        same = _of_machine(interfaces) == self._machine and self._fronts <= there and self._bound <= bound
        return same and "@cluster-ips" in listed

    def left_over(self) -> bool:
        return bool(self._draining)

    async def sweep(self) -> None:
        done = servers.over(await run(["ipvsadm", "-L", "-n"]), self._draining)
        await self._restore(done.text)
        self._draining = done.draining

    async def remove(self) -> None:
        await self._remember()
        if fronts := self._unspared(self._fronts):
            there = servers.only(servers.saved(await run(SAVE)), fronts)
            await self._restore(servers.change(there, Servers()).text)
        if self._bound:
            await self._bind((), self._bound)
            if not (await self._interfaces(both=True)).get(INTERFACE, {""}):
                await run(["ip", "link", "del", INTERFACE])
        await run(["nft", "-f", "-"], table.delete(self._table))
        self._fronts, self._bound, self._draining = frozenset(), frozenset(), frozenset()

    async def _write(self, change: servers.Change, after: Servers, before: Collection[str]) -> None:
        # From now on, until all is well, what is there may be either.
        self._fronts |= after.virtual.keys()
        self._bound |= after.bound
        await self._restore(change.text)
        self._draining = change.draining
        await self._bind(after.bound, before)

    async def _restore(self, text: str) -> None:
        if text:
            await run(["ipvsadm", "--restore"], text)

    async def _bind(self, wanted: Collection[str], before: Collection[str]) -> None:
        if text := servers.binding(await self._interfaces(), wanted, before):
            await run(["ip", "-batch", "-"], text)

    async def _interfaces(self, *, both: bool = False) -> dict[str, set[str]]:
        listed = await run(["ip", "-o", "link", "show"]) + await run(["ip", "-o", "address", "show"])
        found = servers.interfaces(listed, self._family)
        if both:
            for name, addresses in servers.interfaces(listed, 6 if self._family == 4 else 4).items():
                found[name] |= addresses
        return found

    async def _remember(self) -> None:
        """What an earlier proxy of the same name has left is ours."""
        self._fronts |= set(map(servers.front_of, await self._recorded(VIRTUAL_SERVERS)))
        self._bound |= set(await self._recorded(SERVICE_IPS))

    async def _recorded(self, name: str) -> list[str]:
        try:
            return servers.recorded(await run(["nft", "list", "set", self._table.family, self._table.name, name]))
        except Refused:
            return []

    def _unspared(self, fronts: Collection[Front]) -> set[Front]:
        ranges = [ipaddress.ip_network(each) for each in self._spared]
        return {each for each in fronts if not any(ipaddress.ip_address(each.address) in one for one in ranges)}


def _of_machine(interfaces: dict[str, set[str]]) -> frozenset[str]:
    return frozenset(address for name, many in interfaces.items() if name != INTERFACE for address in many)
