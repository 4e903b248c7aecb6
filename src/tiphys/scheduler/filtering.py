"""The filters of a profile over a table, as it is or with other pods on it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from tiphys.scheduler import pod_info
from tiphys.scheduler.diagnosis import Stage
from tiphys.scheduler.framework import Filter, Reason, Sums
from tiphys.scheduler.node_table import Mask, Nodes, NodeTable
from tiphys.scheduler.nominations import Nominations
from tiphys.scheduler.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class Filtered:
    feasible: Mask
    stages: tuple[Stage, ...]


class Filtering:
    def __init__(self, table: NodeTable, filters: Sequence[Filter], nominations: Nominations) -> None:
        self._table = table
        self._filters = filters
        summing = [each for each in filters if isinstance(each, Sums)]
        self._summing = summing if len(summing) == len(filters) else None
        self._nominations = nominations

    def all(self, pod: PodInfo, narrowed: tuple[Mask, Stage] | None = None) -> Filtered:
        nodes = self._table.all()
        alive = nodes.present.copy()
        stages: list[Stage] = []
        if narrowed is not None:
            alive &= narrowed[0]
            stages.append(narrowed[1])
        # Told first: what does not fit beside the pods that are to come is refused for that reason.
        if self._nominations:
            stages += self._with_nominated(pod, alive)
        return Filtered(alive, tuple(stages + self._run(pod, nodes, alive)))

    def each(self, pod: PodInfo) -> list[tuple[Filter, Mask]]:
        """What every filter refuses, whatever others say of the same nodes: for explanations."""
        nodes = self._table.all()
        answers = ((plugin, plugin.filter(pod, nodes)) for plugin in self._filters)
        return [(plugin, no.rows & nodes.present) for plugin, no in answers if no is not None]

    def one(self, pod: PodInfo, row: int) -> Filtered:
        """A single node, with the pods that are to come there before this one, and without."""
        first = [each for each in self._nominations.on(self._table.names[row]) if _is_before(each, pod)]
        if first:
            with self.with_pods(row, first):
                found = self._one(pod, row)
            if not found.feasible[0]:
                return found
        return self._one(pod, row)

    def sums(self, pod: PodInfo) -> frozenset[str] | None:
        """Of what there must be enough left on a node, if nothing else about the pods there matters to any filter."""
        coming = [each for _, first in self._nominations.before(pod) for each in first]
        found: set[str] = set()
        for plugin in self._summing or ():
            names = plugin.sums(pod, self._table, coming)
            if names is None:
                return None
            found |= names
        return None if self._summing is None else frozenset(found)

    def emptied(self, pod: PodInfo, rows: Mask) -> tuple[Nodes, Filtered]:
        """What `one` says of each of these, were there no pods of lower priority: for a pod that `sums` knows of."""
        gone, names = self._table.lower(pod.priority), self._table.rows
        coming = [(names[node], first) for node, first in self._nominations.before(pod) if node in names]
        if coming:
            gone = gone.copy()
        for row, first in coming:
            there = self._table.pods[row]
            for each in first:
                if each.key not in there or there[each.key].priority < pod.priority:
                    gone.count(each, row, -1)
        nodes = self._table.all(gone)
        alive = rows & nodes.present
        return nodes, Filtered(alive, tuple(self._run(pod, nodes, alive)))

    def _one(self, pod: PodInfo, row: int) -> Filtered:
        nodes = self._table.only(row)
        alive = nodes.present.copy()
        return Filtered(alive, tuple(self._run(pod, nodes, alive)))

    def _run(self, pod: PodInfo, nodes: Nodes, alive: Mask) -> list[Stage]:
        """Takes what is refused out of `alive`."""
        stages = []
        nodes.feasible = alive
        for plugin in self._filters:
            no = plugin.filter(pod, nodes)
            if no is None:
                continue
            hit = no.rows & alive
            if not hit.any():
                continue
            stages.append(Stage(plugin.name, hit, no.reasons))
            alive ^= hit
            if not alive.any():
                break
        return stages

    def _with_nominated(self, pod: PodInfo, alive: Mask) -> list[Stage]:
        stages = []
        for node, first in list(self._nominations.before(pod)):
            row = self._table.rows.get(node)
            if row is None or not alive[row]:
                continue
            with self.with_pods(row, first):
                found = self._one(pod, row)
            if not found.feasible[0]:
                alive[row] = False
                stages += [_widened(each, row, len(alive)) for each in found.stages]
        return stages

    @contextmanager
    def with_pods(self, row: int, pods: Sequence[PodInfo]) -> Iterator[None]:
        """As if these were on the node too."""
        node = self._table.names[row]
        added = [pod_info.on(each, node) for each in pods if each.key not in self._table.pods[row]]
        for each in added:
            self._table.add_pod(each)
        try:
            yield
        finally:
            for each in added:
                self._table.remove_pod(each)


def _is_before(other: PodInfo, pod: PodInfo) -> bool:
    return other.priority >= pod.priority and other.uid != pod.uid


def _widened(stage: Stage, row: int, size: int) -> Stage:
    """The verdict on one node as a stage over all rows."""

    def wide(mask: Mask) -> Mask:
        rows = np.zeros(size, np.bool_)
        rows[row] = mask[0]
        return rows

    def helps(given: bool | Mask) -> bool | Mask:
        return given if isinstance(given, bool) else wide(given)

    reasons = tuple(Reason(wide(each.rows), each.words, helps(each.preemption_helps)) for each in stage.reasons)
    return Stage(stage.plugin, wide(stage.rows), reasons)
