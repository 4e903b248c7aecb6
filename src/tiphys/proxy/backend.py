"""What every way of writing rules offers to the proxy's loop. Core."""

from typing import Protocol

from tiphys.proxy.ledger import Delta, Part
from tiphys.proxy.rules import Frame, PortRules


class Backend(Protocol):
    """Of one family of addresses. Whatever writes raises apply.Refused; then nothing is known of what the kernel has."""

    patience: float
    """Seconds until what waits for its removal is looked at; see `sweep`."""

    def base(self, frame: Frame) -> Part: ...

    def part(self, ports: tuple[PortRules, ...], frame: Frame) -> Part: ...

    async def replace(self, everything: Delta) -> None:
        """In the place of whatever an earlier proxy of the same name has left."""

    async def change(self, delta: Delta) -> None: ...

    async def intact(self) -> bool:
        """Whether the rules are still there; somebody may have emptied all tables."""

    def left_over(self) -> bool:
        """Whether something waits for its removal; see `sweep`."""

    async def sweep(self) -> None: ...

    async def remove(self) -> None:
        """Everything, whether or not it was this process that wrote it."""
