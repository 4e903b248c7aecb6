"""Time as edges see it. Cores never import this: they take `now`."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class RealClock:
    """The machine's clock; `now` is wall time, `monotonic` and `sleep` follow the running event loop."""

    def now(self) -> float:
        return time.time()  # noqa: TID251 - the one place that reads the wall clock

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
