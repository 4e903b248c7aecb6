"""The pods on the nodes as columns, and which of them are alike: what holds for one of those is found out once for all."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tiphys.scheduler.node_table.arrays import FIRST_CAPACITY, Ids, Numbers, grown
from tiphys.scheduler.pod_info import PodInfo

Rows = NDArray[np.intp]
Slots = NDArray[np.intp]
NOBODY = 0
"""The kind of a pod that is not there."""


class Question(Protocol):
    """What may be asked of every pod. Those that are alike give the same answer, and equal questions are one."""

    def counts(self, pod: PodInfo) -> int:
        """For how much it counts."""
        ...

    def __hash__(self) -> int: ...


def _likeness(pod: PodInfo) -> object:
    """Equal where pods are alike in all that matters to other pods."""
    if pod.claims or pod.disks:
        return pod
    asked = frozenset(pod.requests.items())
    return pod.namespace, frozenset(pod.labels.items()), pod.deleting, asked, pod.affinity, pod.host_ports


class Kinds:
    """Numbers for pods that are alike. One that no pod has any more is given out again."""

    def __init__(self) -> None:
        self.examples: list[PodInfo | None] = [None]
        self._numbers: dict[object, int] = {}
        self._uses: list[int] = [0]
        self._free: list[int] = []

    def take(self, pod: PodInfo) -> int:
        likeness = _likeness(pod)
        number = self._numbers.get(likeness)
        if number is None:
            number = self._numbers[likeness] = self._fresh()
            self.examples[number] = pod
        self._uses[number] += 1
        return number

    def _fresh(self) -> int:
        if self._free:
            return self._free.pop()
        self.examples.append(None)
        self._uses.append(0)
        return len(self.examples) - 1

    def drop(self, number: int) -> None:
        self._uses[number] -= 1
        if not self._uses[number]:
            example = self.examples[number]
            assert example is not None
            del self._numbers[_likeness(example)]
            self.examples[number] = None
            self._free.append(number)


class PodColumns:
    """A pod has a slot as long as it is on a node."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self.at: list[PodInfo | None] = []
        """By slot."""
        self.kind: Ids = np.zeros(FIRST_CAPACITY, np.int32)
        self._row: Ids = np.full(FIRST_CAPACITY, -1, np.int32)
        self.priority: Numbers = np.zeros(FIRST_CAPACITY, np.int64)
        self.started: NDArray[np.float64] = np.zeros(FIRST_CAPACITY, np.float64)
        self._turn: Numbers = np.zeros(FIRST_CAPACITY, np.int64)
        """In which order they came: of two that are equally important the one that has been there longer goes first."""
        self._came = 0
        self._slots: dict[PodInfo, int] = {}
        self._free: list[int] = []

    def add(self, pod: PodInfo, row: int) -> None:
        slot = self._free.pop() if self._free else self._fresh()
        self._slots[pod] = slot
        self.at[slot] = pod
        self.kind[slot] = self.kinds.take(pod)
        self._row[slot] = row
        self.priority[slot] = pod.priority
        self.started[slot] = pod.started
        self._turn[slot] = self._came
        self._came += 1

    def _fresh(self) -> int:
        slot = len(self.at)
        if slot == len(self._row):
            for name in ("kind", "_row", "priority", "started", "_turn"):
                setattr(self, name, grown(getattr(self, name), 2 * slot))
        self.at.append(None)
        return slot

    def remove(self, pod: PodInfo) -> None:
        slot = self._slots.pop(pod)
        self.at[slot] = None
        self.kinds.drop(int(self.kind[slot]))
        self._row[slot] = -1
        self._free.append(slot)

    def tally(self, question: Question, capacity: int) -> Numbers:
        """For how much the pods on each node count."""
        by_kind = np.array([0 if each is None else question.counts(each) for each in self.kinds.examples], np.int64)
        used = np.flatnonzero(self._row[: len(self.at)] >= 0)
        counted = used[by_kind[self.kind[used]] > 0]
        sums = np.bincount(self._row[counted], weights=by_kind[self.kind[counted]], minlength=capacity)
        return sums.astype(np.int64)

    def below(self, priority: int, rows: Rows) -> Slots:
        """The pods of a lower priority on each of these rows, the most important first; -1 where there are no more."""
        used = len(self.at)
        place = np.full(int(rows.max(initial=0)) + 1, -1)
        place[rows] = np.arange(len(rows))
        row = self._row[:used]
        known = np.flatnonzero((self.priority[:used] < priority) & (row >= 0) & (row < len(place)))
        slots = known[place[row[known]] >= 0]
        at = place[row[slots]]
        order = np.lexsort((self._turn[slots], self.started[slots], -self.priority[slots], at))
        many = np.bincount(at, minlength=len(rows))
        found = np.full((len(rows), int(many.max(initial=0))), -1)
        found[at[order], np.arange(len(slots)) - np.repeat(np.cumsum(many) - many, many)] = slots[order]
        return found
