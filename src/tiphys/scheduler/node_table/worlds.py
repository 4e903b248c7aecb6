"""Nodes as they would be without some of their pods, many at once. Each is thought of by itself: all others are as they are."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast

import numpy as np

from tiphys.scheduler.node_table.arrays import Mask, Numbers
from tiphys.scheduler.node_table.pods import NOBODY, Kinds, Question, Rows, Slots
from tiphys.scheduler.pod_info import PodInfo

if TYPE_CHECKING:
    from tiphys.scheduler.node_table.table import NodeTable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of a resource it asks for."""

    resource: str

    def counts(self, pod: PodInfo) -> int:
        return pod.requests.get(self.resource, 0)


@dataclass(frozen=True, slots=True)
class Each:
    """It is there."""

    def counts(self, _: PodInfo) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class VolumeUses:
    """How many claims and disks it names."""

    def counts(self, pod: PodInfo) -> int:
        return len(pod.claims) + len(pod.disks)


EACH: Final = Each()
VOLUME_USES: Final = VolumeUses()


class Imagined(Protocol):
    """What differs from how nodes are."""

    rows: Rows

    def fewer(self, question: Question) -> Numbers:
        """Of each node: by how much less the pods there count than those that are there in fact."""
        ...

    def more(self, question: Question) -> Numbers:
        """What the pods count for that are there, and are not in fact."""
        ...

    def pods(self, position: int) -> list[PodInfo]: ...

    def coming(self) -> Iterable[PodInfo]:
        """Those that are there, and are not in fact."""
        ...

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """What does not change from node to node, nor with the pods that are thought away."""
        ...


class Memory:
    """What was found out while the pods are where they are."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._answers: dict[Question, Numbers] = {}
        self._found: dict[Hashable, object] = {}

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        if key not in self._found:
            self._found[key] = find()
        return cast("T", self._found[key])

    def answers(self, question: Question, kinds: Numbers) -> Numbers:
        """By kind, as far as these go."""
        examples = self._kinds.examples
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = np.full(len(examples), -1)
            known[NOBODY] = 0
        for kind in kinds[known[kinds] < 0].tolist():
            example = examples[kind]
            assert example is not None
            known[kind] = question.counts(example)
        return known


class Worlds:
    """The nodes of `rows`, each without the pods that are thought away: at first all of `slots`, -1 being nobody."""

    def __init__(
        self, table: "NodeTable", rows: Rows, slots: Slots, coming: Sequence[tuple[int, PodInfo]], memory: Memory
    ) -> None:
        """`coming`: pods that are to be thought of as there, by position."""
        self.rows = rows
        self.slots = slots
        self.away: Mask = slots >= 0
        self.awaiting = np.array(sorted({position for position, _ in coming}), np.intp)
        """Positions of nodes that somebody comes to."""
        self.memory = memory
        self._coming = coming
        self._table = table
        self.kinds = np.where(self.away, table.placed.kind[slots], NOBODY)
        self._distinct: Numbers = np.flatnonzero(np.bincount(self.kinds.ravel(), minlength=1))
        self._values: dict[Question, Numbers] = {}
        self._fewer: dict[Question, Numbers] = {}
        self._more: dict[Question, Numbers] = {}

    def take(self, positions: Rows) -> "Worlds":
        """These alone, all of the pods away again."""
        among = {int(position): at for at, position in enumerate(positions)}
        coming = [(among[position], pod) for position, pod in self._coming if position in among]
        return Worlds(self._table, self.rows[positions], self.slots[positions], coming, self.memory)

    def examples(self) -> Iterator[tuple[int, PodInfo]]:
        """One of each kind of the pods that are, or were, thought away."""
        examples = self._table.placed.kinds.examples
        for kind in self._distinct.tolist():
            pod = examples[kind]
            if pod is not None:
                yield kind, pod

    def pod(self, position: int, place: int) -> PodInfo:
        found = self._table.placed.at[int(self.slots[position, place])]
        assert found is not None
        return found

    def values(self, question: Question) -> Numbers:
        """Of every pod that is, or was, thought away."""
        found = self._values.get(question)
        if found is None:
            found = self._values[question] = self.memory.answers(question, self._distinct)[self.kinds]
        return found

    def fewer(self, question: Question) -> Numbers:
        found = self._fewer.get(question)
        if found is None:
            lost: Numbers = np.where(self.away, self.values(question), 0).sum(axis=1)
            found = self._fewer[question] = lost - self.more(question)
        return found

    def more(self, question: Question) -> Numbers:
        found = self._more.get(question)
        if found is None:
            found = self._more[question] = np.zeros(len(self.rows), np.int64)
            for position, pod in self._coming:
                found[position] += question.counts(pod)
        return found

    def coming(self) -> list[PodInfo]:
        return [pod for _, pod in self._coming]

    def pods(self, position: int) -> list[PodInfo]:
        return [*self.staying(position), *(pod for at, pod in self._coming if at == position)]

    def staying(self, position: int) -> list[PodInfo]:
        """Without those that come."""
        at = self._table.placed.at
        gone = {at[slot] for slot in self.slots[position][self.away[position]].tolist()}
        return [pod for pod in self._table.pods[self.rows[position]].values() if pod not in gone]

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        return self.memory.once(key, find)

    def bring_back(self, positions: Rows, places: Rows) -> None:
        """The pods at these places of `slots`, one a position."""
        self._move(positions, places, -1)

    def take_away(self, positions: Rows, places: Rows) -> None:
        self._move(positions, places, 1)

    def _move(self, positions: Rows, places: Rows, sign: int) -> None:
        self.away[positions, places] = sign > 0
        for question, lost in self._fewer.items():
            lost[positions] += sign * self._values[question][positions, places]


class Unexpected:
    """Of these worlds the nodes that somebody comes to, without those that come."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._positions = worlds.awaiting
        self.rows = worlds.rows[self._positions]

    def fewer(self, question: Question) -> Numbers:
        return (self._worlds.fewer(question) + self._worlds.more(question))[self._positions]

    def more(self, question: Question) -> Numbers:  # noqa: ARG002 - they are left out
        return np.zeros(len(self.rows), np.int64)

    def pods(self, position: int) -> list[PodInfo]:
        return self._worlds.staying(int(self._positions[position]))

    def coming(self) -> tuple[PodInfo, ...]:
        return ()

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        return self._worlds.once(key, find)
