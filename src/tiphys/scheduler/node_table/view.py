"""What a plugin sees of the table: all rows, or, while preemption is weighed, one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tiphys.scheduler.node_table.arrays import Ids, Mask, Numbers
from tiphys.scheduler.node_table.counts import CountKey, TermCount
from tiphys.scheduler.node_table.lower import Taken

if TYPE_CHECKING:
    from tiphys.scheduler.node_table.table import NodeTable


class Nodes:
    """Columns cut to `rows`. Sums over the domains of a topology are taken over the whole table, whatever the rows."""

    __slots__ = ("_gone", "feasible", "rows", "table")

    def __init__(self, table: "NodeTable", rows: slice, gone: Taken | None = None) -> None:
        self.table = table
        self.rows = rows
        self._gone = gone
        self.feasible: Mask = table.present[rows]
        """Those that no filter has refused so far. What is said of others does not matter."""

    @property
    def count(self) -> int:
        """How many rows this shows; some may be of nodes that are not there."""
        return int(self.rows.stop - self.rows.start)

    @property
    def present(self) -> Mask:
        return self.table.present[self.rows]

    @property
    def pod_count(self) -> Numbers:
        count = self.table.pod_count[self.rows]
        return count if self._gone is None else count - self._gone.pods[self.rows]

    def requested(self, resource: str) -> Numbers:
        """Of a resource that the table knows."""
        amounts = self.table.requested[self.table.resources[resource], self.rows]
        gone = None if self._gone is None else self._gone.requested.get(resource)
        return amounts if gone is None else amounts - gone[self.rows]

    def left(self, name: str) -> Numbers:
        """Of a resource that the table knows, or of places for "pods"."""
        if name == "pods":
            return self.table.pods_allowed[self.rows] - self.pod_count
        return self.table.allocatable[self.table.resources[name], self.rows] - self.requested(name)

    def named(self) -> Iterator[tuple[int, str]]:
        """Position among these rows, and name, of every node that is there."""
        start = self.rows.start
        for row in range(start, self.rows.stop):
            if self.table.present[row]:
                yield row - start, self.table.names[row]

    def nothing(self) -> Mask:
        return np.zeros(self.count, np.bool_)

    def cut(self, whole: Mask | None) -> Mask | None:
        return None if whole is None else whole[self.rows]

    def topology(self, key: str) -> Ids:
        """Which domain each node is in; 0: in none."""
        return self.table.labels.column(key)[self.rows]

    def per_domain(self, column: Numbers, key: str, among: Mask | None = None) -> Numbers:
        """The sum of a column over each domain, by the number of the domain; what is in no domain is at 0."""
        table = self.table
        ids, weights = table.labels.column(key)[: table.size], column[: table.size]
        weights = weights * (table.present if among is None else among)[: table.size]
        sums = np.bincount(ids, weights=weights, minlength=table.labels.domains(key)).astype(np.int64)
        sums[0] = 0
        return sums

    def pods_matching(self, key: CountKey) -> Numbers:
        """Over the whole table."""
        return self.table.matching(key)

    def carriers(self, terms: "Iterator[TermCount]", key: str) -> Numbers:
        total: Numbers = np.zeros(self.table.labels.domains(key), np.int64)
        for each in terms:
            total += self.per_domain(each.column, key)
        return total
