"""The edge of the scheduler: follow the API server, try pod after pod, and bind in the background.

The only place that waits. Deciding is `cycle`'s, one pod at a time and without a pause (only extenders, where there are any,
are waited for); what was decided is assumed at once, so the next pod sees it, while several bindings are on their way.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import spawn, start
from tiphys.client.interface import Client
from tiphys.client.recorder import Recorder
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.scheduler import explaining
from tiphys.scheduler.binding import Writer
from tiphys.scheduler.cycle import Placed, Unplaced
from tiphys.scheduler.extending import ExtenderFailed, Extenders
from tiphys.scheduler.framework import Failed, Freed, Permission, Profile
from tiphys.scheduler.observing import Observer
from tiphys.scheduler.opinion import Opinion
from tiphys.scheduler.placing import Placing, Rejected
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.queue import Queued
from tiphys.scheduler.state import State
from tiphys.scheduler.victims import best
from tiphys.scheduler.watching import Watching

_FLUSH_SECONDS = 30.0
_AGAIN_SECONDS = 1.0
_OUTSIDE = (ApiError, ConnectionError, TimeoutError)
T = TypeVar("T")


class Scheduler:
    """`run(ready)` schedules until it is cancelled; ready once it knows the cluster."""

    def __init__(
        self,
        client: Client,
        state: State,
        clock: Clock,
        chance: Callable[[], float],
        log: Logger,
        *,
        host: str = "",
        extenders: Extenders | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.state = state
        self._clock = clock
        self._log = log
        self._observer = observer or Observer()
        self._extenders = extenders or Extenders((), log)
        self._recorder = Recorder(client, clock, log, host=host)
        self._writer = Writer(client, self._recorder, clock)
        self._placing = Placing(client, state.cluster, self._writer, clock)
        self._watching = Watching(client, state, clock, chance, log, self._happened)
        self._wake = asyncio.Event()
        self._flushed_at = clock.monotonic()

    async def run(self, ready: Callable[[], None]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                await start(group, self._recorder.run, name="events")
                for informer in self._watching.informers():
                    await start(group, informer.run, name=f"informer {informer.cache.kind.plural}")
                ready()
                await self._schedule(group)
        finally:
            self._extenders.close()

    def explain(self, pod: str, most_nodes: int = explaining.MOST_NODES) -> dict[str, Any] | None:
        """Why a pod (namespace/name) is where it is, or still nowhere; None if nothing is known of it."""
        return explaining.explain(self.state, pod, self._clock.monotonic(), most_nodes)

    def _happened(self, work: Callable[[], None], what: str, old: Obj | None, new: Obj | None) -> None:
        self._contained(work, what, old, new)
        self._wake.set()

    def _contained(self, work: Callable[[], T], what: str, *about: Obj | None) -> T | Exception:
        """The one place where a bug, ours or a plugin's, ends: an odd object must not stop the scheduling of all others."""
        try:
            return work()
        except Rejected:
            raise
        except Failed as told:
            return told
        except Exception as bug:  # noqa: BLE001
            names = [each["metadata"]["name"] for each in about if each is not None]
            self._log.exception("the scheduler failed", bug, **{what: names[-1] if names else ""})
            return bug

    async def _schedule(self, group: asyncio.TaskGroup) -> None:
        room = self._placing.room
        while True:
            queued = self._next()
            if queued is None:
                await self._wait()
                continue
            if self._extenders.of(queued.pod):
                await self._ask_and_try(queued, group)
            else:
                self._try(queued, None, group)
            await room.acquire()
            room.release()
            # Events and bindings have their turn between two pods.
            await asyncio.sleep(0)

    def _next(self) -> Queued | None:
        now = self._clock.monotonic()
        if now - self._flushed_at >= _FLUSH_SECONDS:
            self._flushed_at = now
            self.state.queue.flush(now)
        self._wake.clear()
        return self.state.queue.pop(now)

    async def _wait(self) -> None:
        now = self._clock.monotonic()
        due = self.state.queue.next_at()
        seconds = min(max(0.0, due - now), _FLUSH_SECONDS) if due is not None else _FLUSH_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _ask_and_try(self, queued: Queued, group: asyncio.TaskGroup) -> None:
        """Extenders take their time: what happens to the pod meanwhile is looked at afterwards."""
        pod, state = queued.pod, self.state
        state.trying[pod.uid] = pod
        names = self._contained(lambda: state.cycles[pod.scheduler].feasible(pod), "pod", pod.obj)
        opinion: Opinion | None = None
        problem: Exception | None = names if isinstance(names, Exception) else None
        if not isinstance(names, Exception) and names:
            nodes = {name: found for name in names if (found := state.table.node(name)) is not None}
            try:
                opinion = await self._extenders.opinion(pod, nodes)
            except ExtenderFailed as failure:
                problem = failure
        latest = state.trying.pop(pod.uid)
        if latest is None:
            return
        queued.pod = latest
        if problem is not None:
            self._failed(queued, problem, group)
        else:
            self._try(queued, opinion, group)

    def _try(self, queued: Queued, opinion: Opinion | None, group: asyncio.TaskGroup) -> None:
        pod, state = queued.pod, self.state
        if pod.deleting:
            told = f"skip schedule deleting pod: {pod.key}"
            self._recorder.tell(pod.obj, pod.scheduler, "Warning", "FailedScheduling", told)
            return
        cycle, now, began = state.cycles[pod.scheduler], self._clock.now(), self._clock.monotonic()
        outcome = self._contained(lambda: cycle.schedule(pod, now, opinion), "pod", pod.obj)
        ended = self._clock.monotonic()
        if isinstance(outcome, Exception):
            self._observer.tried("error", pod.scheduler, ended - began)
            self._failed(queued, outcome, group)
            return
        state.decisions.keep(outcome.decision.after(queued.attempts, queued.waited, queued.woken_by))
        if isinstance(outcome, Placed):
            self._observer.tried("scheduled", pod.scheduler, ended - began)
            self._placed(queued, outcome, group)
        else:
            self._observer.tried("unschedulable", pod.scheduler, ended - began)
            self._refused(queued, outcome, group)

    def _placed(self, queued: Queued, placed: Placed, group: asyncio.TaskGroup) -> None:
        pod, state = queued.pod, self.state
        profile = state.profiles[pod.scheduler]
        state.pods.assume(pod, placed.node)
        state.nominations.drop(pod.uid)
        if placed.volumes:
            state.cluster.promise(placed.volumes, placed.node)
        try:
            waits = self._contained(lambda: Placing.reserve(profile, pod, placed.node), "pod", pod.obj)
            if isinstance(waits, Exception):
                raise waits
        except Exception as problem:  # noqa: BLE001 - a plugin's; `_contained` has told of it
            if placed.volumes:
                state.cluster.take_back(placed.volumes)
            spawn(group, self._unbound(queued, placed, problem), name=f"undo {pod.key}")
            return
        spawn(group, self._bind(queued, placed, waits), name=f"bind {pod.key}")

    def _failed(self, queued: Queued, bug: Exception, group: asyncio.TaskGroup) -> None:
        """Said where people look, and tried again later."""
        self.state.queue.refuse(queued, (), self._clock.monotonic())
        spawn(group, self._tell_error(queued.pod, bug), name=f"fail {queued.pod.key}")

    def _refused(self, queued: Queued, outcome: Unplaced, group: asyncio.TaskGroup) -> None:
        pod, state = queued.pod, self.state
        nominated: str | None = None if outcome.keeps_nomination else ""
        if outcome.victims is not None:
            nominated = outcome.victims.node
        lower = self._nominate(pod, nominated)
        self._log.debug(2, "Unable to schedule pod", pod=pod.key, why=outcome.message)
        state.queue.refuse(queued, outcome.refused_by, self._clock.monotonic())
        spawn(group, self._tell(pod, outcome, nominated, lower), name=f"refuse {pod.key}")

    def _nominate(self, pod: PodInfo, node: str | None) -> list[PodInfo]:
        """Keeps the room for the pod; None leaves that as it is. Those of lower priority have to look elsewhere."""
        nominations = self.state.nominations
        lower = [each for each in nominations.on(node) if each.priority < pod.priority] if node else []
        if node is not None:
            nominations.put(pod, node)
        return lower

    async def _bind(self, queued: Queued, placed: Placed, waits: list[tuple[str, Permission]]) -> None:
        pod = queued.pod
        profile, extender = self.state.profiles[pod.scheduler], self._extenders.binder(pod)
        try:
            if extender is not None:
                await extender.bind(pod, placed.node)
                self._writer.tell_bound(pod, placed.node)
            else:
                await self._placing.carry_out(profile, pod, placed, waits)
        except Exception as error:  # noqa: BLE001 - the API server's, or a plugin's, which may raise anything
            await self._unbound(queued, placed, error)
            return
        self._observer.bound(queued.attempts, self._clock.monotonic() - queued.first)
        self._log.debug(2, "Successfully bound pod to node", pod=pod.key, node=placed.node)

    async def _unbound(self, queued: Queued, placed: Placed, error: Exception) -> None:
        pod, state = queued.pod, self.state
        profile = state.profiles[pod.scheduler]
        if state.pods.is_assumed(pod.uid):
            await self._take_back(profile, pod, placed.node)
        was_ours, now = state.pods.is_assumed(pod.uid), self._clock.monotonic()
        self._contained(lambda: Placing.undo(profile, pod, placed.node), "pod", pod.obj)
        state.unbound(pod, now)
        gone = isinstance(error, ApiError) and error.reason == "NotFound"
        if not was_ours or gone:
            return
        self._wake.set()
        if isinstance(error, Rejected):
            state.queue.refuse(queued, (error.plugin,), now)
            await self._tell_error(pod, error, "Unschedulable")
            return
        self._log.info("Failed to bind pod", pod=pod.key, error=str(error))
        state.queue.refuse(queued, (), now)
        await self._tell_error(pod, error)

    async def _take_back(self, profile: Profile, pod: PodInfo, node: str) -> None:
        try:
            await self._placing.take_back(profile, pod, node)
        except _OUTSIDE as problem:
            self._log.error("Failed to take back what was written for a pod", pod=pod.key, error=str(problem))

    async def _tell_error(self, pod: PodInfo, error: Exception, reason: str = "SchedulerError") -> None:
        try:
            await self._writer.refuse(pod, reason, str(error), "")
        except _OUTSIDE as again:
            self._log.error("Failed to update pod", pod=pod.key, error=str(again))

    async def _tell(self, pod: PodInfo, outcome: Unplaced, nominated: str | None, lower: list[PodInfo]) -> None:
        victims = outcome.victims
        try:
            async with self._placing.room:
                if victims is not None and self._extenders.of(pod):
                    agreed = await self._extenders.preempt(pod, outcome.candidates, self.state.table)
                    victims = best(agreed) if agreed else None
                    nominated = victims.node if victims is not None else ""
                    lower = self._nominate(pod, nominated)
                for freed in outcome.freed:
                    await self._give_back(pod, freed)
                if victims is not None:
                    self._observer.preempted(len(victims.pods))
                    await self._writer.preempt(victims, pod, lower)
                await self._writer.refuse(pod, "Unschedulable", outcome.message, nominated)
        except (*_OUTSIDE, ExtenderFailed) as error:
            self._log.error("Failed to update pod", pod=pod.key, error=str(error))
            if victims is not None:
                # Nobody else will make room for it. Not at once, though: the server may be away.
                await self._clock.sleep(_AGAIN_SECONDS)
                self.state.queue.activate(pod.uid, self._clock.monotonic())
                self._wake.set()

    async def _give_back(self, pod: PodInfo, freed: Freed) -> None:
        if freed.claim is not None:
            await self._writer.free(freed.claim)
        if freed.removed is not None:
            await self._writer.remove(freed.removed)
            self.state.cluster.resource_claims.removed(freed.removed)
            # No event tells of it.
            self.state.queue.activate(pod.uid, self._clock.monotonic())
            self._wake.set()
