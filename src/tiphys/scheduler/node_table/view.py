"""What a plugin sees of the table: all rows, one, or some as they would be without some of their pods."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tiphys.scheduler.node_table.arrays import Ids, Mask, Numbers
from tiphys.scheduler.node_table.counts import Carries, CountKey
from tiphys.scheduler.node_table.pods import Question, Rows
from tiphys.scheduler.node_table.worlds import EACH, VOLUME_USES, Amount, Imagined
from tiphys.scheduler.pod_info import PodInfo

if TYPE_CHECKING:
    from tiphys.scheduler.node_table.table import NodeTable

T = TypeVar("T")


class Nodes:
    """Columns cut to `rows`. Sums over the domains of a topology are taken over the whole table, whatever the rows.

    Where pods are thought away, each node is as if only its own were: so `in_domain` and `fewer` speak of every node by itself.
    """

    __slots__ = ("_imagined", "feasible", "rows", "table")

    def __init__(self, table: "NodeTable", rows: slice | Rows, imagined: Imagined | None = None) -> None:
        self.table = table
        self.rows = rows
        self._imagined = imagined
        self.feasible: Mask = table.present[rows]
        """Those that no filter has refused so far. What is said of others does not matter."""

    @property
    def count(self) -> int:
        """How many rows this shows; some may be of nodes that are not there."""
        return len(self.rows) if not isinstance(self.rows, slice) else int(self.rows.stop - self.rows.start)

    def row(self, position: int = 0) -> int:
        """Of the table."""
        return int(self.rows[position]) if not isinstance(self.rows, slice) else int(self.rows.start) + position

    def position(self, row: int) -> int | None:
        """Where it is among these; None: it is not."""
        if isinstance(self.rows, slice):
            return row - self.rows.start if self.rows.start <= row < self.rows.stop else None
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if len(found) else None

    @property
    def imagined(self) -> bool:
        """Whether some pods are thought away."""
        return self._imagined is not None

    @property
    def present(self) -> Mask:
        return self.table.present[self.rows]

    @property
    def pod_count(self) -> Numbers:
        return self.table.pod_count[self.rows] - self.fewer(EACH)

    def requested(self, resource: str) -> Numbers:
        """Of a resource that the table knows."""
        amounts: Numbers = self.table.requested[self.table.resources[resource], self.rows]
        return amounts if self._imagined is None else amounts - self._imagined.fewer(Amount(resource))

    @property
    def most_volume_uses(self) -> Numbers:
        """Claims and disks that the pods name, one as often as there are pods that do. No pod is thought away."""
        uses: Numbers = self.table.volume_uses[self.rows]
        return uses if self._imagined is None else uses + self._imagined.more(VOLUME_USES)

    def naming_disks(self, names: Iterable[tuple[str, ...]]) -> list[int]:
        """Positions of nodes on which pods may name these."""
        rows = [row for name in names for row in self.table.disks.get(name, ())]
        found = np.zeros(self.table.capacity, np.bool_)
        found[rows] = True
        at = found[self.rows]
        if self._imagined is not None:
            at |= self._imagined.more(VOLUME_USES) > 0
        return np.flatnonzero(at).tolist()

    def left(self, name: str) -> Numbers:
        """Of a resource that the table knows, or of places for "pods"."""
        if name == "pods":
            return self.table.pods_allowed[self.rows] - self.pod_count
        left: Numbers = self.table.allocatable[self.table.resources[name], self.rows] - self.requested(name)
        return left

    def named(self) -> Iterator[tuple[int, str]]:
        """Position among these rows, and name, of every node that is there."""
        names, present = self.table.names, self.table.present
        rows = range(self.rows.start, self.rows.stop) if isinstance(self.rows, slice) else self.rows.tolist()
        for position, row in enumerate(rows):
            if present[row]:
                yield position, names[row]

    def nothing(self) -> Mask:
        return np.zeros(self.count, np.bool_)

    def cut(self, whole: Mask | None) -> Mask | None:
        return None if whole is None else whole[self.rows]

    def pods(self, position: int) -> Collection[PodInfo]:
        """On one of these nodes."""
        if self._imagined is not None:
            return self._imagined.pods(position)
        return self.table.pods[self.row(position)].values()

    def fewer(self, question: Question) -> Numbers | int:
        """By how much less the pods of each node count than they do in the columns of the table."""
        return 0 if self._imagined is None else self._imagined.fewer(question)

    def topology(self, key: str) -> Ids:
        """Which domain each node is in; 0: in none."""
        return self.table.labels.column(key)[self.rows]

    def per_domain(self, column: Numbers, key: str, among: Mask | None = None) -> Numbers:
        """The sum of a column over each domain, by the number of the domain; what is in no domain is at 0. No pod is thought
        away."""
        table = self.table
        ids, weights = table.labels.column(key)[: table.size], column[: table.size]
        weights = weights * (table.present if among is None else among)[: table.size]
        sums = np.bincount(ids, weights=weights, minlength=table.labels.domains(key)).astype(np.int64)
        sums[0] = 0
        return sums

    def in_domain(self, column: Numbers, key: str, question: Question) -> tuple[Numbers, Numbers]:
        """The sum of a column, which counts this, over the domain that each node is in (0 for those in none), and over all."""
        sums = self.once(("in domain", key, question), lambda: self.per_domain(column, key))
        ids = self.topology(key)
        fewer = 0 if self._imagined is None else np.where(ids > 0, self._imagined.fewer(question), 0)
        return sums[ids] - fewer, sums.sum() - fewer

    def pods_matching(self, key: CountKey) -> Numbers:
        """Over the whole table. No pod is thought away."""
        return self.table.matching(key)

    def keeping_away(self, pod: PodInfo, namespace_labels: dict[str, str]) -> Iterator[tuple[Carries, Numbers]]:
        """Terms of anti-affinity that concern the pod, and on each node of the whole table how many pods carry them."""
        known = set()
        for each in self.table.carried.anti_required.concerning(pod, namespace_labels):
            known.add(each.term)
            yield Carries(each.term), each.column
        for other in self._imagined.coming() if self._imagined is not None else ():
            for term in other.affinity.anti_required:
                if term not in known and term.matches(pod.namespace, pod.labels, namespace_labels):
                    known.add(term)
                    yield Carries(term), np.zeros(self.table.capacity, np.int64)

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """What is the same whichever pods are thought away: for one pod that is to be placed it is found once."""
        return find() if self._imagined is None else self._imagined.once(key, find)
