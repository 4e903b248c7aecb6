"""The filters of a profile over a table, as it is or with other pods on it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from tiphys.scheduler import pod_info
from tiphys.scheduler.diagnosis import Stage
from tiphys.scheduler.framework import Filter, Imagines, Reason, Sums
from tiphys.scheduler.node_table import Mask, Nodes, NodeTable, Rows, Unexpected, Worlds
from tiphys.scheduler.nominations import Nominations
from tiphys.scheduler.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class Filtered:
    feasible: Mask
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Together:
    """What it takes to judge nodes without some of their pods."""

    sums: frozenset[str]
    """Of what there must be enough left, "pods" being places for them."""
    asked: tuple[Filter, ...]
    """To whom something else about the pods matters."""
    coming: dict[str, list[PodInfo]]
    """Pods to which room on a node has been promised, by its name."""


class Filtering:
    def __init__(self, table: NodeTable, filters: Sequence[Filter], nominations: Nominations) -> None:
        self._table = table
        self._filters = filters
        self._summing = [each if isinstance(each, Sums) else None for each in filters]
        self._imagining = [isinstance(each, Imagines) for each in filters]
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

    def together(self, pod: PodInfo) -> Together | None:
        """How many nodes can be judged at once without some of their pods; None: only one after the other can."""
        coming = dict(self._nominations.before(pod))
        others = [each for first in coming.values() for each in first]
        sums: set[str] = set()
        asked: list[Filter] = []
        for plugin, summing, imagines in zip(self._filters, self._summing, self._imagining, strict=True):
            names = summing.sums(pod, self._table, others) if summing is not None else None
            if names is not None:
                sums |= names
            elif imagines:
                asked.append(plugin)
            else:
                return None
        return Together(frozenset(sums), tuple(asked), coming)

    def imagined(self, pod: PodInfo, worlds: Worlds, alive: Mask, filters: Sequence[Filter] | None = None) -> list[Stage]:
        """What `one` would say of each of these. Takes what is refused out of `alive`."""
        alive &= self._table.present[worlds.rows]
        if not alive.any():
            return []
        stages = self._run(pod, self.nodes(worlds), alive, filters)
        awaiting = worlds.awaiting
        if len(awaiting) and alive[awaiting].any():
            left = alive[awaiting]
            stages += self._run(pod, self._table.imagined(Unexpected(worlds)), left, filters)
            alive[awaiting] = left
        return stages

    def nodes(self, worlds: Worlds) -> Nodes:
        return self._table.imagined(worlds)

    def _one(self, pod: PodInfo, row: int) -> Filtered:
        nodes = self._table.only(row)
        alive = nodes.present.copy()
        return Filtered(alive, tuple(self._run(pod, nodes, alive)))

    def _run(self, pod: PodInfo, nodes: Nodes, alive: Mask, filters: Sequence[Filter] | None = None) -> list[Stage]:
        """Takes what is refused out of `alive`."""
        stages = []
        nodes.feasible = alive
        for plugin in self._filters if filters is None else filters:
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
        """Nodes that pods are to come to, with those there. Takes what is refused out of `alive`."""
        rows = self._table.rows
        awaited = {node: first for node, first in self._nominations.before(pod) if node in rows and alive[rows[node]]}
        if not awaited:
            return []
        here = np.array([rows[node] for node in awaited], np.intp)
        if self.together(pod) is not None:
            left = alive[here]
            stages = self._run(pod, self._table.imagined(self._table.with_coming(here, awaited)), left)
            alive[here] = left
            return [_widened(each, here, len(alive)) for each in stages]
        stages = []
        for row, first in zip(here.tolist(), awaited.values(), strict=True):
            with self.with_pods(row, first):
                found = self._one(pod, row)
            if not found.feasible[0]:
                alive[row] = False
                stages += [_widened(each, np.array([row]), len(alive)) for each in found.stages]
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


def _widened(stage: Stage, rows: Rows, size: int) -> Stage:
    """The verdict on these nodes as a stage over all rows."""

    def wide(mask: Mask) -> Mask:
        found = np.zeros(size, np.bool_)
        found[rows] = mask
        return found

    def helps(given: bool | Mask) -> bool | Mask:
        return given if isinstance(given, bool) else wide(given)

    reasons = tuple(Reason(wide(each.rows), each.words, helps(each.preemption_helps)) for each in stage.reasons)
    return Stage(stage.plugin, wide(stage.rows), reasons)
