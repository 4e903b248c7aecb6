"""Holds up the machine's shutdown until the pods have ended, step after step."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import cancel, spawn
from tiphys.kubelet.shutdown.order import VERDICT, Step, grace, groups, requested
from tiphys.kubelet.status import Verdict
from tiphys.machinery.meta import key
from tiphys.machinery.tree import Obj

_RECONNECT_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_ATTEMPTS = 5
"""So often it is looked whether the longer delay is in force, each time after twice as long."""


class Unreachable(Exception):
    """Why the machine does not tell of its shutdown."""


class Machine(Protocol):
    """What tells of the machine's shutdown, and waits."""

    async def delay(self) -> float:
        """Seconds that it waits at most."""

    async def allow(self, seconds: int) -> None:
        """Ask it to wait for so long; it takes a while until `delay` says so."""

    async def hold(self) -> None:
        """From now on it waits, until it is let go."""

    def let_go(self) -> None: ...

    async def attend(self) -> None:
        """Until the connection ends."""

    async def next(self) -> bool | None:
        """Whether it is being shut down, once that changes; None: nothing more will be heard."""

    def close(self) -> None: ...


class Endable(Protocol):
    """A pod that runs here."""

    @property
    def pod(self) -> Obj: ...

    @property
    def settled(self) -> bool: ...

    def shut_down(self, verdict: Verdict, grace: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Means:
    connect: Callable[[], Awaitable[Machine]]
    """Raises Unreachable."""
    pods: Callable[[], Iterable[Endable]]
    report: Callable[[], Coroutine[Any, Any, None]]
    """Say now how the node is."""
    tell: Callable[[str, str], None]
    """An event of the node: reason and message."""


class Shutdown:
    def __init__(self, steps: Sequence[Step], means: Means, clock: Clock, log: Logger) -> None:
        self._steps = steps
        self._means = means
        self._clock = clock
        self._log = log
        self.begun = False
        """The machine is going down."""

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        if not self._steps:
            return
        try:
            machine = await self._begin()
        except Unreachable as problem:
            self._log.error("Failed to start node shutdown manager", err=str(problem))
            return
        while True:
            await self._follow(machine)
            self._log.error("Ended to watching the node for shutdown events")
            machine = await self._begin_again()

    async def _begin_again(self) -> Machine:
        while True:
            await self._clock.sleep(_RECONNECT_SECONDS)
            self._log.debug(1, "Restarting watch for node shutdown events")
            try:
                return await self._begin()
            except Unreachable as problem:
                self._log.error("Unable to watch the node for shutdown events", err=str(problem))

    async def _begin(self) -> Machine:
        machine = await self._means.connect()
        try:
            wanted = requested(self._steps)
            if await machine.delay() < wanted:
                await machine.allow(wanted)
                await self._until_allowed(machine, wanted)
            await machine.hold()
        except BaseException:
            machine.close()
            raise
        return machine

    async def _until_allowed(self, machine: Machine, wanted: int) -> None:
        found = 0.0
        for attempt in range(_ATTEMPTS):
            await self._clock.sleep(0.1 * 2**attempt)
            found = await machine.delay()
            if found >= wanted:
                return
        told = f"node shutdown manager was timed out after {_ATTEMPTS} attempts waiting for logind InhibitDelayMaxSec"
        raise Unreachable(f"{told} to update to {wanted}s (ShutdownGracePeriod), current value is {found:.0f}s")

    async def _follow(self, machine: Machine) -> None:
        async with asyncio.TaskGroup() as group:
            attending = spawn(group, machine.attend(), name="word of shutdowns")
            try:
                while (begun := await machine.next()) is not None:
                    await self._take(machine, begun=begun)
            except Unreachable as problem:
                self._log.error("Unable to watch the node for shutdown events", err=str(problem))
            finally:
                machine.close()
            await cancel(attending)

    async def _take(self, machine: Machine, *, begun: bool) -> None:
        what = "shutdown" if begun else "cancelled"
        self._log.debug(1, "Shutdown manager detected new shutdown event", event=what)
        self._means.tell("NodeShutdown", f"Shutdown manager detected shutdown {'event' if begun else 'cancellation'}")
        self.begun = begun
        if not begun:
            await machine.hold()
            return
        async with asyncio.TaskGroup() as group:
            spawn(group, self._means.report(), name="status of the node")
            await self._end_pods()
            machine.let_go()
        self._log.debug(1, "Shutdown manager completed processing shutdown event, node will shutdown shortly")

    async def _end_pods(self) -> None:
        """A step that is over its time is left behind. What comes to the node meanwhile is refused."""
        running = {each.pod["metadata"]["uid"]: each for each in self._means.pods() if not each.settled}
        for step, pods in groups(self._steps, [each.pod for each in running.values()]):
            members = [running[pod["metadata"]["uid"]] for pod in pods]
            for each, pod in zip(members, pods, strict=True):
                seconds = grace(step, pod)
                self._log.debug(1, "Shutdown manager killing pod with gracePeriod", pod=key(pod), gracePeriod=seconds)
                each.shut_down(VERDICT, seconds)
            until = self._clock.monotonic() + step.seconds
            while not all(each.settled for each in members) and self._clock.monotonic() < until:
                await self._clock.sleep(_LOOK_SECONDS)
            done = all(each.settled for each in members)
            told = "Done waiting for all pods in group to terminate" if done else "Shutdown manager pod killing time out"
            self._log.debug(1, told, gracePeriod=step.seconds, priority=step.priority)
