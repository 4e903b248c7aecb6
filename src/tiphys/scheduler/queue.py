"""Pods that wait for a node.

A pod is in one of three places. *Active*: to be tried now, the highest priority first, then the longest waiting. *Backing off*:
to be tried again, but not at once. *Unschedulable*: it was tried, and only a change of the cluster can help; it stays until
an event comes that one of the plugins which refused it names, and of which that plugin says that it could help (or until it
has waited for so long that something must have been missed). Gated pods are among the unschedulable.

    new pod -> active -> (popped) -> placed
                 ^  |
                 |  +-> refused -> unschedulable -> event -> backing off (or active, once it has waited long enough)
                 +------------------------------------------------+

When nothing is active, pods that back off because they were refused are tried early: there is nothing better to do. A try is
one synchronous step, so no event can fall between a pod's being popped and its being put back. `now` is given.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Profile
from tiphys.scheduler.opinion import EXTENDER
from tiphys.scheduler.pod_info import PodInfo

INITIAL_BACKOFF = 1.0
LONGEST_BACKOFF = 10.0
LONGEST_UNSCHEDULABLE = 300.0

Place = Literal["active", "backoff", "unschedulable", "out"]


@dataclass(slots=True, eq=False)
class Queued:
    pod: PodInfo
    since: float
    """When it was last put into the queue."""
    first: float
    attempts: int = 0
    refusals: int = 0
    errors: int = 0
    refused_by: set[str] = field(default_factory=set)
    gate: str = ""
    """Why it is not tried at all."""
    place: Place = "out"
    ready_at: float = 0.0
    turn: int = 0
    """Which entry of a heap is its current one: moving a pod leaves the old entry behind."""
    moved: float = 0.0
    """When it came to its place."""
    waited: dict[str, float] = field(default_factory=dict)
    """Seconds in each place, over all tries."""
    woken_by: str = ""
    """What happened that made it worth another try."""

    def move(self, place: Place, now: float) -> None:
        if self.place != "out":
            self.waited[self.place] = self.waited.get(self.place, 0.0) + now - self.moved
        self.place, self.moved = place, now


class Queue:
    def __init__(
        self, profiles: Mapping[str, Profile], initial: float = INITIAL_BACKOFF, longest: float = LONGEST_BACKOFF
    ) -> None:
        self._initial = initial
        self._longest = longest
        self._profiles = profiles
        self._plugins = {name: profile.plugins() for name, profile in profiles.items()}
        self._pods: dict[str, Queued] = {}
        self._unschedulable: dict[str, Queued] = {}
        self._active: list[tuple[int, float, int, Queued]] = []
        self._refused: list[tuple[float, int, float, int, Queued]] = []
        self._failed: list[tuple[float, int, float, int, Queued]] = []
        self._turns = 0

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def named(self, key: str) -> Queued | None:
        """By namespace/name."""
        return next((each for each in self._pods.values() if each.pod.key == key), None)

    def get(self, uid: str) -> Queued | None:
        return self._pods.get(uid)

    def counts(self) -> dict[str, int]:
        found = {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}
        for each in self._pods.values():
            found["gated" if each.gate else each.place] += 1
        return found

    def add(self, pod: PodInfo, now: float) -> None:
        queued = Queued(pod, now, now)
        self._pods[pod.uid] = queued
        self._activate(queued, now)

    def remove(self, uid: str) -> None:
        queued = self._pods.pop(uid, None)
        if queued is not None:
            queued.place = "out"
            self._unschedulable.pop(uid, None)

    def update(self, old: PodInfo, new: PodInfo, changes: Iterable[Event], now: float) -> None:
        """A waiting pod has changed; that may be all it needed."""
        queued = self._pods.get(new.uid)
        if queued is None:
            self.add(new, now)
            return
        queued.pod = new
        if queued.place == "active" and old.priority != new.priority:
            self._activate(queued, now)
        if queued.place != "unschedulable":
            return
        for event in changes:
            change = Change(event, old.obj, new.obj, old, new)
            if self._worth(queued, change):
                self._requeue(queued, now, change.words)
                return

    def pop(self, now: float) -> Queued | None:
        """The pod to be tried now; it is out of the queue."""
        self._release(now)
        while self._active:
            *_, turn, queued = heapq.heappop(self._active)
            if queued.place == "active" and queued.turn == turn:
                return self._out(queued, now)
        while self._refused:
            entry = heapq.heappop(self._refused)
            if self._current(entry):
                return self._out(entry[-1], now)
        return None

    def _out(self, queued: Queued, now: float) -> Queued:
        del self._pods[queued.pod.uid]
        queued.move("out", now)
        queued.attempts += 1
        return queued

    def refuse(self, queued: Queued, by: Iterable[str], now: float) -> None:
        """No node can take it. With nobody to blame (there are no nodes, or it was an error) it is simply tried again."""
        queued.refused_by = set(by)
        queued.since = now
        if queued.refused_by:
            queued.refusals += 1
            queued.errors = 0
        else:
            queued.errors += 1
        self._pods[queued.pod.uid] = queued
        queued.ready_at = now + self._backoff(queued.errors or queued.refusals)
        queued.woken_by = ""
        if queued.refused_by:
            self._park(queued, now)
        else:
            self._back_off(queued, now)

    def happened(self, change: Change, now: float) -> int:
        """Something changed in the cluster; how many pods are worth another try."""
        moved = 0
        for queued in list(self._unschedulable.values()):
            if self._worth(queued, change):
                self._requeue(queued, now, change.words)
                moved += queued.place != "unschedulable"
        return moved

    def flush(self, now: float) -> int:
        """Those that have waited for so long that something must have been missed."""
        late = [each for each in self._unschedulable.values() if now - each.since > LONGEST_UNSCHEDULABLE and not each.gate]
        for queued in late:
            self._requeue(queued, now, "it had waited for long")
        return len(late)

    def activate(self, uid: str, now: float) -> None:
        """Try it at once, whatever it waits for."""
        queued = self._pods.get(uid)
        if queued is not None and queued.place != "active":
            self._activate(queued, now)

    def next_at(self) -> float | None:
        """When a pod is due, if no event comes before."""
        while self._failed and not self._current(self._failed[0]):
            heapq.heappop(self._failed)
        return self._failed[0][0] if self._failed else None

    def _worth(self, queued: Queued, change: Change) -> bool:
        """upstream pkg/scheduler/backend/queue/scheduling_queue.go:isPodWorthRequeuing."""
        if EXTENDER in queued.refused_by:
            return True
        plugins = self._plugins.get(queued.pod.scheduler, {})
        blamed = (plugins[name] for name in queued.refused_by if name in plugins)
        return any(change.event in each.unblocked_by and each.helped_by(queued.pod, change) for each in blamed)

    def _requeue(self, queued: Queued, now: float, why: str) -> None:
        self._unschedulable.pop(queued.pod.uid, None)
        queued.woken_by = why
        if now < queued.ready_at:
            self._back_off(queued, now)
        else:
            self._activate(queued, now)

    def _activate(self, queued: Queued, now: float) -> None:
        if self._gated(queued, now):
            return
        self._unschedulable.pop(queued.pod.uid, None)
        self._turns += 1
        queued.turn = self._turns
        queued.move("active", now)
        heapq.heappush(self._active, (-queued.pod.priority, queued.since, self._turns, queued))

    def _back_off(self, queued: Queued, now: float) -> None:
        if self._gated(queued, now):
            return
        self._turns += 1
        queued.turn = self._turns
        queued.move("backoff", now)
        heap = self._refused if queued.refused_by else self._failed
        heapq.heappush(heap, (queued.ready_at, -queued.pod.priority, queued.since, self._turns, queued))

    def _park(self, queued: Queued, now: float) -> None:
        queued.move("unschedulable", now)
        self._unschedulable[queued.pod.uid] = queued

    def _gated(self, queued: Queued, now: float) -> bool:
        profile = self._profiles.get(queued.pod.scheduler)
        queued.gate = ""
        for plugin in profile.gates if profile is not None else ():
            queued.gate = plugin.gate(queued.pod)
            if queued.gate:
                queued.refused_by.add(plugin.name)
                self._park(queued, now)
                return True
        return False

    def _release(self, now: float) -> None:
        """Those that have backed off long enough."""
        for heap in (self._refused, self._failed):
            while heap and (heap[0][0] <= now or not self._current(heap[0])):
                entry = heapq.heappop(heap)
                if self._current(entry):
                    self._activate(entry[-1], now)

    def _backoff(self, count: int) -> float:
        return min(self._initial * 2.0 ** min(count - 1, 10), self._longest)

    @staticmethod
    def _current(entry: tuple[float, int, float, int, Queued]) -> bool:
        return entry[-1].place == "backoff" and entry[-1].turn == entry[-2]
