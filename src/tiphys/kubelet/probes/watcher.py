"""The probes of one running container, as long as it runs."""

import asyncio
from collections.abc import Callable

from tiphys.base.clock import Clock
from tiphys.kubelet.probes.execute import Asked, Executor
from tiphys.kubelet.probes.verdict import KINDS, Counted, Kind, count
from tiphys.machinery.tree import Obj

Told = Callable[[Kind, bool, str], None]
"""A verdict has changed, or a probe has answered."""


class Watcher:
    """Verdicts are told only when they change; answers are told each time, for events and metrics."""

    def __init__(
        self, asked: Asked, started_at: float, executor: Executor, clock: Clock, verdict: Told, answered: Told
    ) -> None:
        self._asked = asked
        self._started_at = started_at
        self._executor = executor
        self._clock = clock
        self._verdict = verdict
        self._answered = answered

    async def run(self) -> None:
        """The others wait for the startup probe (https://kubernetes.io/docs/concepts/workloads/pods/probes/)."""
        probes: dict[Kind, Obj] = {kind: self._asked.container.get(name) or {} for kind, name in KINDS}
        if probes["startup"]:
            await self._repeat("startup", probes["startup"])
        async with asyncio.TaskGroup() as group:
            kinds: tuple[Kind, ...] = ("liveness", "readiness")
            for kind in kinds:
                if probes[kind]:
                    group.create_task(self._repeat(kind, probes[kind]))

    async def _repeat(self, kind: Kind, probe: Obj) -> None:
        """The startup probe ends with its first verdict."""
        state = Counted()
        wait = self._started_at + float(probe.get("initialDelaySeconds") or 0) - self._clock.now()
        if wait > 0:
            await self._clock.sleep(wait)
        while True:
            began = self._clock.monotonic()
            answer = await self._executor.probe(self._asked, probe)
            self._answered(kind, answer.succeeded, answer.output)
            after = count(state, answer.succeeded, probe)
            if after.verdict is not None and after.verdict != state.verdict:
                self._verdict(kind, after.verdict, answer.output)
            state = after
            if kind != "readiness" and state.verdict is False:
                # The container will be stopped; a new one gets a watcher of its own.
                await asyncio.Event().wait()
            if kind == "startup" and state.verdict:
                return
            await self._clock.sleep(max(0.0, began + float(probe.get("periodSeconds") or 10) - self._clock.monotonic()))
