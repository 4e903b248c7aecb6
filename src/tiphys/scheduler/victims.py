"""Who would have to go from which node, and where that is the least loss."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from tiphys.scheduler.node_table import Numbers
from tiphys.scheduler.pod_info import PodInfo

Losses = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Victims:
    node: str
    pods: tuple[PodInfo, ...]
    """The most important one first: of those of the highest priority the one that started first."""
    violations: int = 0
    """How many of them their disruption budgets do not allow to go."""

    @property
    def loss(self) -> tuple[float, ...]:
        """The least is the best."""
        first = self.pods[0]
        total = sum([victim.priority for victim in self.pods]) + 2**31 * len(self.pods)
        return self.violations, first.priority, total, len(self.pods), -first.started


class Several:
    """Candidates that were found together. There may be thousands: each is spelled out when it is asked for."""

    __slots__ = ("_ends", "_losses", "_nodes", "_pods", "violations")

    def __init__(self, nodes: list[str], pods: list[PodInfo], many: Sequence[int], violations: Numbers, losses: Losses) -> None:
        """`pods`: of all nodes, one after the other, so `many` of each; `losses`: a row for each, as Victims say it."""
        self.violations = violations
        self._nodes = nodes
        self._pods = pods
        self._ends = list(accumulate(many, initial=0))
        self._losses = losses

    @classmethod
    def one(cls, victims: Victims) -> "Several":
        pods, violations = list(victims.pods), np.array([victims.violations])
        return cls([victims.node], pods, [len(pods)], violations, np.array([victims.loss]))

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Victims]:
        for node, (start, end), violated in zip(self._nodes, pairwise(self._ends), self.violations.tolist(), strict=True):
            yield Victims(node, tuple(self._pods[start:end]), violated)

    def first(self, many: int) -> "Several":
        ends = self._ends[: many + 1]
        counts = [end - start for start, end in pairwise(ends)]
        return Several(self._nodes[:many], self._pods[: ends[-1]], counts, self.violations[:many], self._losses[:many])

    def best(self) -> Victims:
        at = int(np.lexsort(self._losses.T[::-1])[0])
        pods = tuple(self._pods[self._ends[at] : self._ends[at + 1]])
        return Victims(self._nodes[at], pods, int(self.violations[at]))


class Candidates:
    """Nodes on which room can be made, in the order in which they were found."""

    def __init__(self) -> None:
        self._found: list[Several] = []
        self._clean = False

    def __len__(self) -> int:
        return sum(map(len, self._found))

    def __iter__(self) -> Iterator[Victims]:
        for each in self._found:
            yield from each

    def add(self, more: Several, enough: int) -> bool:
        """Whether these will do: there are enough, and at least one that no budget forbids. What is beyond that is left out."""
        clean = np.logical_or.accumulate(more.violations == 0) | self._clean
        done = np.flatnonzero(clean & (np.arange(1, len(more) + 1) + len(self) >= enough))
        self._found.append(more.first(int(done[0]) + 1) if len(done) else more)
        self._clean = self._clean or bool(clean.any())
        return bool(len(done))

    def best(self) -> Victims:
        return best([each.best() for each in self._found])


def importance(pod: PodInfo) -> tuple[int, float]:
    """The most important sorts first: by priority, then by how long it has run."""
    return -pod.priority, pod.started


def best(candidates: Sequence[Victims]) -> Victims:
    """The node whose victims are the least loss; where they are alike, the first."""
    return min(candidates, key=lambda each: each.loss)
