"""What pods below a priority take of each node. A priority that has been asked about once is kept up to date, pod by pod."""

from collections.abc import Iterable

import numpy as np

from tiphys.scheduler.node_table.arrays import Numbers, grown
from tiphys.scheduler.pod_info import PodInfo

_MOST = 64
"""Priorities kept; the longest unasked goes first."""


class Taken:
    """Sums over some of the pods of each node."""

    def __init__(self, capacity: int) -> None:
        self.pods: Numbers = np.zeros(capacity, np.int64)
        self.requested: dict[str, Numbers] = {}
        """By resource; one that none of them asks for is not there."""

    def count(self, pod: PodInfo, row: int, by: int) -> None:
        self.pods[row] += by
        for name, amount in pod.requests.items():
            column = self.requested.get(name)
            if column is None:
                column = self.requested[name] = np.zeros_like(self.pods)
            column[row] += by * amount

    def grow(self, capacity: int) -> None:
        self.pods = grown(self.pods, capacity)
        self.requested = {name: grown(column, capacity) for name, column in self.requested.items()}

    def copy(self) -> "Taken":
        other = Taken(0)
        other.pods = self.pods.copy()
        other.requested = {name: column.copy() for name, column in self.requested.items()}
        return other


class LowerPods:
    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._below: dict[int, Taken] = {}

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for each in self._below.values():
            each.grow(capacity)

    def than(self, priority: int, present: Iterable[tuple[int, PodInfo]]) -> Taken:
        """`present` is read only if the question is new."""
        found = self._below.pop(priority, None)
        if found is None:
            if len(self._below) >= _MOST:
                del self._below[next(iter(self._below))]
            found = Taken(self._capacity)
            for row, pod in present:
                if pod.priority < priority:
                    found.count(pod, row, 1)
        self._below[priority] = found  # last: asked most recently
        return found

    def change(self, pod: PodInfo, row: int, by: int) -> None:
        for priority, taken in self._below.items():
            if pod.priority < priority:
                taken.count(pod, row, by)
