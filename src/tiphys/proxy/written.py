"""What the kernel has, or is to have, for one family."""

from tiphys.proxy.backend import Backend
from tiphys.proxy.ledger import BASE, EMPTY, Ledger
from tiphys.proxy.state import Changes


class Written:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.there = False
        """The kernel has what was told last, and nothing is in doubt."""
        self.ledger = Ledger()

    def note(self, changes: Changes) -> None:
        self.ledger.put(BASE, self.backend.base(changes.frame))
        for key, ports in changes.services.items():
            self.ledger.put(key, self.backend.part(ports, changes.frame) if ports else EMPTY)

    @property
    def wanted(self) -> bool:
        return self.there or bool(self.ledger.keys())

    async def write(self) -> None:
        """Raises Refused."""
        there, self.there = self.there, False
        if not there:
            await self.backend.replace(self.ledger.everything())
        elif delta := self.ledger.changes():
            await self.backend.change(delta)
        self.there = True
