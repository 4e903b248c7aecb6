"""An event loop whose time jumps to the next timer whenever nothing is ready: a simulated hour passes in milliseconds.

For tests in which all input and output is in memory; a thread or a real socket would be overtaken by the clock.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

START = 1_800_000_000.0
"""The wall clock of a simulation begins here, so that runs repeat exactly."""

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("nothing is ready and no timer runs: the simulation would wait for ever")
            self.now += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class VirtualClock:
    """base.clock.Clock over the running loop's time."""

    def now(self) -> float:
        return START + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(simulation: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(simulation)
