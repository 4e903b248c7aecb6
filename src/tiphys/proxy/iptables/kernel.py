"""Rules in the kernel, by way of iptables-restore, or ip6tables-restore."""

from tiphys.proxy.apply import Refused, run
from tiphys.proxy.iptables import restore
from tiphys.proxy.iptables.parts import Parts, prefix
from tiphys.proxy.ledger import Delta, Part
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import Family

PATIENCE = "--wait=5"
"""Seconds to wait for the lock that programs of the old iptables share."""


class Iptables:
    patience = 0.0

    def __init__(self, family: Family, name: str) -> None:
        self._program = "iptables" if family == 4 else "ip6tables"
        self._own = prefix(name)
        self._parts = Parts(self._own)

    def base(self, frame: Frame) -> Part:
        return self._parts.base(frame)

    def part(self, ports: tuple[PortRules, ...], frame: Frame) -> Part:
        return self._parts.part(ports, frame)

    async def replace(self, everything: Delta) -> None:
        await self._restore(restore.create(self._own, everything, await self._found()))

    async def change(self, delta: Delta) -> None:
        await self._restore(restore.change(delta))

    async def intact(self) -> bool:
        return await self._leads("OUTPUT", f"{self._own}OUTPUT") and await self._leads(
            f"{self._own}OUTPUT", f"{self._own}SERVICES"
        )

    def left_over(self) -> bool:
        return False

    async def sweep(self) -> None:
        """Nothing ever waits."""

    async def remove(self) -> None:
        await self._restore(restore.remove(self._own, await self._found()))

    async def _found(self) -> restore.Found:
        return restore.found(await run([f"{self._program}-save"]), self._own)

    async def _restore(self, text: str) -> None:
        if text:
            await run([f"{self._program}-restore", "--noflush", PATIENCE], text)

    async def _leads(self, chain: str, target: str) -> bool:
        try:
            return f"-j {target}\n" in await run([self._program, PATIENCE, "-t", "nat", "-S", chain])
        except Refused:
            return False
