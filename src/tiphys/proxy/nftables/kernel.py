"""Rules in the kernel, by way of nft."""

from tiphys.proxy.apply import Refused, run
from tiphys.proxy.ledger import Delta, Part
from tiphys.proxy.nftables import parts, table
from tiphys.proxy.nftables.table import Table
from tiphys.proxy.rules import Frame, PortRules
from tiphys.proxy.services import Family


class Nftables:
    patience = 1.0

    def __init__(self, family: Family, name: str) -> None:
        self._table = Table("ip" if family == 4 else "ip6", name, parts.HOOKS)
        self._stale: frozenset[str] = frozenset()

    def base(self, frame: Frame) -> Part:
        return parts.base(frame)

    def part(self, ports: tuple[PortRules, ...], frame: Frame) -> Part:
        return parts.part(ports, frame)

    async def replace(self, everything: Delta) -> None:
        await _nft(table.create(self._table, everything).text)
        self._stale = frozenset()

    async def change(self, delta: Delta) -> None:
        change = table.change(self._table, delta)
        if change.text:
            await _nft(change.text)
        self._stale = (self._stale | change.stale) - change.back

    async def intact(self) -> bool:
        try:
            return "@service-ips" in await run(["nft", "list", "chain", self._table.family, self._table.name, "services"])
        except Refused:
            return False

    def left_over(self) -> bool:
        return bool(self._stale)

    async def sweep(self) -> None:
        stale, self._stale = self._stale, frozenset()
        await _nft(table.remove_chains(self._table, stale))

    async def remove(self) -> None:
        await _nft(table.delete(self._table))


async def _nft(transaction: str) -> None:
    """All of it, or nothing."""
    await run(["nft", "-f", "-"], transaction)
