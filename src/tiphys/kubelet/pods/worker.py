"""One task a pod: feeds the lifecycle with what it learns, carries out what it says, and makes containers be as they should."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from tiphys.base.tasks import cancel, first_done, spawn
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.observed import Container, ObservedPod
from tiphys.kubelet.eviction.ranking import Usage
from tiphys.kubelet.eviction.usage import Layers, Where, measure
from tiphys.kubelet.names import all_containers, log_folder, shown
from tiphys.kubelet.pods import messages
from tiphys.kubelet.pods.actions import Actions, Kill, Memory, actions
from tiphys.kubelet.pods.admission import is_critical
from tiphys.kubelet.pods.allocation import with_resources
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.deadline import DEADLINE_EXCEEDED, active_left
from tiphys.kubelet.pods.ending import clean_up, confirm, forget
from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.pods.explaining import Standing, explain
from tiphys.kubelet.pods.health import PodHealth
from tiphys.kubelet.pods.lifecycle import (
    CleanedUp,
    ContainersGone,
    Deleted,
    Event,
    Instruction,
    Phase,
    PodState,
    ReachedEnd,
    Removed,
    effective_grace,
    step,
)
from tiphys.kubelet.pods.reporting import Reporter
from tiphys.kubelet.pods.resizer import Resizer
from tiphys.kubelet.pods.resources import pod_cgroup
from tiphys.kubelet.pods.restarts import BackOff
from tiphys.kubelet.pods.starting import NotStarted, Starter
from tiphys.kubelet.pods.stopping import Stopper
from tiphys.kubelet.status import Given, Verdict, pod_status, until_ended
from tiphys.kubelet.status.containers import Known, Trouble
from tiphys.kubelet.volumes.payload import NotReady
from tiphys.machinery.errors import ApiError
from tiphys.machinery.meta import key
from tiphys.machinery.tree import Obj

RESYNC = 60.0
"""At the latest: what volumes are made from may have changed."""
_RETRY = 2.0
_LONGEST_RETRY = 30.0
_UNTIL_ASKED = 86400.0

# What may go wrong while a pod is being made as it should be, and is tried again.
Expected = (RuntimeFailed, NotReady, CannotMake, ApiError, ConnectionError, TimeoutError, OSError)


class PodWorker:
    def __init__(self, context: Context, pod: Obj, gone: Callable[[str], None]) -> None:
        self._context = context
        self._gone = gone
        self.uid: str = pod["metadata"]["uid"]
        self.timeline = context.timelines.begin(key(pod), self.uid)
        self.timeline.note("heard of it")
        self._reporter = Reporter(context, pod, self.timeline)
        self._resizer = Resizer(context, self.uid)
        self._starter = Starter(context, self.uid, self._resizer, self.timeline)
        self._stopper = Stopper(context, self._starter)
        self._health: PodHealth
        self._state = PodState()
        self._events: deque[Event] = deque()
        self._instructions: deque[Instruction] = deque()
        self._wake = asyncio.Event()
        self._ending = asyncio.Event()
        """Somebody wants the pod ended: what is being started is given up."""
        self._troubles: dict[str, Trouble] = {}
        self._back_offs: dict[str, BackOff] = {}
        self._told_back_off: set[tuple[str, str]] = set()
        self._admitted = False
        self._anew = False
        """All of its containers are being taken away, to begin again."""
        self._verdict: Verdict | None = None
        """Why the node has ended the pod, where it has."""
        self._failures = 0
        self._problem = ""
        """Why the last turn came to nothing."""
        self._told_grace = float("inf")
        self.observed = ObservedPod(self.uid)
        self.learn(pod)

    @property
    def pod(self) -> Obj:
        """With the resources that it has been given, whatever it wishes."""
        given = self._context.allocations.given(self.uid)
        return self._reporter.pod if given is None else with_resources(self._reporter.pod, given)

    def learn(self, pod: Obj) -> None:
        """The API has said something about it."""
        self._reporter.learn(pod)
        self._context.allocations.wish(self._reporter.pod, self._context.clock.now())
        meta = pod["metadata"]
        if meta.get("deletionTimestamp"):
            grace = self._grace()
            if grace < self._told_grace:
                self._told_grace = grace
                self.timeline.note(f"to be ended within {grace:.0f} s")
                self._put(Deleted(grace))
        elif (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed") and self._state.phase is Phase.SYNC:
            self._put(ReachedEnd(self._grace()))
        self.wake()

    def removed(self) -> None:
        """The API does not know it any more: it was deleted by force, or while nobody looked."""
        self._put(Removed(self._grace()))

    def end(self, verdict: Verdict, grace: float) -> None:
        """The node has to: it is short of something, or is going down."""
        if self._state.phase is Phase.SYNC and self._verdict is None:
            self._verdict = verdict
            self._put(ReachedEnd(grace))

    def shut_down(self, verdict: Verdict, grace: float) -> None:
        """With its machine: what is ending anyway has no more time than that, either."""
        if self._state.phase in (Phase.SYNC, Phase.TERMINATING):
            self._verdict = self._verdict or verdict
            self._put(ReachedEnd(grace))

    def evict(self, message: str, grace: float, *, starved: bool) -> bool:
        """Whether it will go; those that the node needs stay."""
        if is_critical(self.pod):
            return False
        self._context.tell(self.pod, "Warning", "Evicted", message)
        self.end(Verdict("Evicted", message, disruption=message if starved else ""), max(grace, 1.0))
        return True

    async def measure(self, layers: Layers) -> Usage:
        context = self._context
        logs = log_folder(context.config.logs, self.pod)
        where = Where(pod_cgroup(context.config.cgroup_root, self.pod), context.folder(self.uid), logs)
        return await asyncio.to_thread(measure, self.pod, self.observed, where, layers)

    def explain(self) -> Obj:
        """What it is about."""
        return explain(
            Standing(self._state, self._failures, self._problem, self._troubles, self._back_offs, self._health.last),
            self.observed,
            self._context.clock.now(),
        )

    @property
    def runs(self) -> bool:
        """It counts among those that use the node."""
        return self._admitted and self._state.phase in (Phase.SYNC, Phase.TERMINATING)

    @property
    def settled(self) -> bool:
        """Nothing of it is left on the node."""
        return self._state.phase in (Phase.ENDED, Phase.GONE)

    def wake(self) -> None:
        self._wake.set()

    def _grace(self) -> float:
        return effective_grace(self.pod)

    def _put(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, Deleted | Removed | ReachedEnd):
            self._ending.set()
        self.wake()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._health = PodHealth(self._context, self._starter, group, self.wake)
            writer = spawn(group, self._reporter.run(), name="status")
            while self._state.phase is not Phase.GONE or self._instructions:
                self._wake.clear()
                try:
                    again_in = await self._turn()
                    self._failures, self._problem = 0, ""
                except Expected as problem:
                    again_in = self._again(problem)
                if self._state.phase is not Phase.GONE and not self._events and not self._instructions:
                    await first_done(self._wake.wait(), self._context.clock.sleep(again_in))
            self._health.stop()
            await cancel(writer)
        self._gone(self.uid)

    def _again(self, problem: BaseException) -> float:
        self._failures, self._problem = self._failures + 1, str(problem) or type(problem).__name__
        self._context.log.debug(1, "pod is tried again", pod=shown(self.pod), error=str(problem))
        return float(min(_RETRY * 2 ** min(self._failures - 1, 6), _LONGEST_RETRY))

    # The lifecycle.

    async def _turn(self) -> float:
        """Returns after how many seconds to look again even if nothing happens."""
        self._instructions.extend(self._take_events())
        if self._instructions:
            await self._carry_out(self._instructions[0])
            self._instructions.popleft()
            return 0.0
        if self._state.phase is Phase.SYNC:
            again = RESYNC
            self._ending.clear()

            async def sync() -> None:
                nonlocal again
                again = await self._sync()

            await first_done(sync(), self._ending.wait())
            return again
        return _UNTIL_ASKED

    def _take_events(self) -> list[Instruction]:
        found: list[Instruction] = []
        while self._events:
            self._state, instructions = step(self._state, self._events.popleft(), self._context.clock.now())
            found.extend(instructions)
        return found

    async def _carry_out(self, instruction: Instruction) -> None:
        if instruction is Instruction.KILL:
            await self._kill()
        elif instruction is Instruction.CLEAN_UP:
            await clean_up(self._context, self.pod, self.timeline)
            self._put(CleanedUp())
        elif instruction is Instruction.CONFIRM:
            await confirm(self._context, self._reporter)
        else:
            await forget(self._context, self.pod)

    async def _kill(self) -> None:
        """Until everything has ended; cut short when there is word that the time is shorter."""
        self._health.stop()
        await self._observe()
        self._report(ending=True)
        done = False

        async def end() -> None:
            nonlocal done
            await self._stopper.pod(self.pod, self.observed, self._state.deadline)
            done = True

        while not done:
            self._ending.clear()
            # All that can come now is a nearer deadline; it may have come already.
            self._take_events()
            await first_done(end(), self._ending.wait())
        await self._observe()
        self._report(ending=True, ended=True)
        self._context.allocations.release(self.uid, self._context.clock.now())
        self._put(ContainersGone())

    # A pod that is to run.

    async def _admit(self) -> bool:
        context = self._context
        kept = await self._resizer.recall()
        refused = context.allocations.admit(self._reporter.pod, kept)
        if refused is not None and refused.reason in ("NodeAffinity", "TaintToleration"):
            # What is known of the node may be old.
            await context.look_at_node()
            refused = context.allocations.admit(self._reporter.pod, kept)
        if refused is None:
            self._admitted = True
            self.timeline.note("admitted")
            return True
        context.tell(self.pod, "Warning", refused.reason, refused.message)
        self.end(Verdict(refused.reason, f"Pod was rejected: {refused.message}", refused=True), 1.0)
        return False

    async def _sync(self) -> float:
        if not self._admitted and not await self._admit():
            return 0.0
        while True:
            await self._observe()
            await self._resizer.note(self.pod)
            self._health.follow(self.pod, self.observed)
            memory = Memory(dict(self._back_offs), dict(self._health.unhealthy), self._health.started, self._resizer.in_force)
            plan = actions(self.pod, self.observed, memory, self._context.clock.now())
            waiting = frozenset(plan.waiting)
            for name in self._troubles.keys() & waiting:
                del self._troubles[name]
            self._tell_back_off(plan)
            status = self._report(waiting=waiting)
            if status["phase"] in ("Succeeded", "Failed"):
                self._put(ReachedEnd(self._grace()))
                return 0.0
            left = active_left(self.pod, self._context.clock.now())
            if left <= 0:
                self._context.tell(self.pod, "Normal", "DeadlineExceeded", DEADLINE_EXCEEDED[1])
                self.end(Verdict(*DEADLINE_EXCEEDED), self._grace())
                return 0.0
            if not await self._act(plan):
                break
        if self.observed.sandbox is not None:
            values = self._context.values(self.observed.sandbox.addresses)
            await self._context.volumes.refresh(self.pod, self._context.folder(self.uid), values)
        again = min(RESYNC * (1 + self._context.chance() / 2), plan.again_in or RESYNC * 2)
        return min(again, left, _RETRY * 5) if self._troubles or self._resizer.problem else min(again, left)

    async def _act(self, plan: Actions) -> bool:
        """Whether it is worth another look at once."""
        if plan.kill:
            for kill in plan.kill:
                await self._restart(kill)
            return True
        if plan.anew:
            await self._begin_anew(plan.anew)
            return True
        if plan.stop_pod:
            self._context.tell(self.pod, "Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
            await self._stopper.pod(self.pod, self.observed, self._context.clock.now() + self._grace())
        if plan.create_sandbox:
            await self._starter.sandbox(self.pod, plan.attempt)
            return True
        for container_id in plan.remove:
            await self._context.runtime.remove_container(container_id)
        for sandbox_id in plan.remove_sandboxes:
            await self._context.runtime.stop_sandbox(sandbox_id)
            await self._context.runtime.remove_sandbox(sandbox_id)
        if plan.resize or self._resizer.under_way is not None:
            await self._resizer.apply(self.pod, plan.resize)
            if not self._resizer.problem:
                self._resizer.finish(self.pod)
                self._report()
        began = [await self._start(name) for name in plan.start]
        return any(began)

    async def _begin_anew(self, containers: Iterable[Container]) -> None:
        """Without waiting for anybody; the logs stay."""
        self._anew = True
        self._report()
        for each in containers:
            if each.alive:
                await self._context.runtime.stop_container(each.id, 0)
            await self._context.runtime.remove_container(each.id)
        self._back_offs.clear()
        await self._observe()
        self._report()
        self._anew = False

    async def _start(self, name: str) -> bool:
        """Whether it did."""
        spec = next(each for each in all_containers(self.pod) if each["name"] == name)
        last = self.observed.newest(name)
        now = self._context.clock.now()
        if last is not None and last.state == "exited":
            before = self._back_offs.get(name) or BackOff(longest=self._context.config.longest_back_off)
            self._back_offs[name] = before.next(last.finished_at, now)
        try:
            await self._starter.container(self.pod, spec, self.observed)
        except NotStarted as problem:
            self._troubles[name] = problem.trouble
            self._report()
            return False
        self._troubles.pop(name, None)
        return True

    async def _restart(self, kill: Kill) -> None:
        spec = next(each for each in all_containers(self.pod) if each["name"] == kill.container.name)
        which = self._health.unhealthy.get(kill.container.id, "")
        grace = (spec.get(f"{which}Probe") or {}).get("terminationGracePeriodSeconds") if which else None
        seconds = float(grace) if grace is not None else self._grace()
        deadline = self._context.clock.now() + seconds
        await self._stopper.container(self.pod, spec, kill.container, deadline, kill.why, self.observed)

    def _tell_back_off(self, plan: Actions) -> None:
        for name in plan.waiting:
            last = self.observed.newest(name)
            key = (name, last.id if last is not None else "")
            if key not in self._told_back_off:
                self._told_back_off.add(key)
                spec = next(each for each in all_containers(self.pod) if each["name"] == name)
                told = f"Back-off restarting failed container {name} in pod {shown(self.pod)}"
                self._context.tell(self.pod, "Warning", "BackOff", told, spec)

    # What is, and what is told of it.

    async def _observe(self) -> None:
        found = await self._context.runtime.observe(self.uid)
        folder, logs = self._context.folder(self.uid), self._context.config.logs
        told = [
            await asyncio.to_thread(messages.with_message, each, folder, log_folder(logs, self.pod))
            if each.state == "exited" and not each.message
            else each
            for each in found.containers
        ]
        self.observed = replace(found, containers=tuple(told))

    def _report(self, *, waiting: frozenset[str] = frozenset(), ending: bool = False, ended: bool = False) -> Obj:
        in_force = self._resizer.in_force
        known = Known(dict(self._troubles), dict(self._back_offs), waiting, self._health.value, in_force, ending, self._anew)
        given = Given(known, self._context.config.addresses, ended, self._verdict, self._resizer.raised)
        status = pod_status(self.pod, self.observed, given, self._context.clock.now())
        self._reporter.report(status if ended else until_ended(self.pod, status))
        return status
