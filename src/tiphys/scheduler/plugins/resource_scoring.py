"""How full a node would be with the pod, as a score: as empty as can be, as full as can be, or along a curve."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tiphys.machinery.tree import Obj
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.devices.totals import totals
from tiphys.scheduler.framework import BEST, Base
from tiphys.scheduler.node_table import Nodes, Numbers
from tiphys.scheduler.node_table.table import CPU, MEMORY
from tiphys.scheduler.pod_info import PodInfo

_SCALE = BEST // 10
"""Curves are written with scores up to ten."""
Rate = Callable[[Numbers, Numbers], Numbers]
"""From what is used, with the pod, and what there is, per node."""


@dataclass(frozen=True, slots=True)
class Strategy:
    rate: Rate
    resources: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
    """Names, and how much each counts."""
    is_curve: bool = False
    """A resource that a curve gives nothing for does not count, and the mean is rounded."""
    cluster: Cluster | None = None
    """Without it nothing is known of devices behind resources."""

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers:
        total: Numbers = np.zeros(nodes.count, np.int64)
        weights: Numbers = np.zeros(nodes.count, np.int64)
        for name, weight in self.resources:
            found = _amounts(name, pod, nodes, self.cluster)
            if found is None:
                continue
            used, capacity = found
            rated = self.rate(used, np.maximum(capacity, 1))
            counts = (capacity > 0) & (rated > 0) if self.is_curve else capacity > 0
            total += np.where(counts, rated, 0) * weight
            weights += counts * weight
        if self.is_curve:
            # Half is rounded up, as Go does.
            return np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)
        scores: Numbers = total // np.maximum(weights, 1)
        return scores


def _amounts(name: str, pod: PodInfo, nodes: Nodes, cluster: Cluster | None) -> tuple[Numbers, Numbers] | None:
    """Used with the pod, and there; None where it does not count for this pod."""
    table, rows, at = nodes.table, nodes.rows, nodes.table.resources.get(name)
    if at in (CPU, MEMORY):
        return table.scored[at, rows] + pod.weighed_requests[at], table.allocatable[at, rows]
    wanted = pod.requests.get(name, 0)
    if not wanted and "/" in name:
        return None
    behind = None if cluster is None else cluster.devices.behind.get(name)
    if behind is None or cluster is None:
        return None if at is None else (table.requested[at, rows] + wanted, table.allocatable[at, rows])
    used, there = of_devices(behind, nodes, cluster)
    if at is not None:
        of_plugin = table.allocatable[at, rows] > 0
        used = np.where(of_plugin, table.requested[at, rows], used)
        there = np.where(of_plugin, table.allocatable[at, rows], there)
    return used + wanted, there


def of_devices(device_class: Obj, nodes: Nodes, cluster: Cluster) -> tuple[Numbers, Numbers]:
    """How many of a class are in use, and how many there are."""
    used: Numbers = np.zeros(nodes.count, np.int64)
    there: Numbers = np.zeros(nodes.count, np.int64)
    cluster.devices.slices.refresh()
    slices, ledger = list(cluster.devices.slices.all()), cluster.resource_claims.ledger
    for position, name in nodes.named():
        node = nodes.table.node(name)
        if node is not None and nodes.feasible[position]:
            there[position], used[position] = totals(slices, device_class, node, ledger)
    return used, there


def least_used(used: Numbers, capacity: Numbers) -> Numbers:
    left: Numbers = np.maximum(capacity - used, 0) * BEST // capacity
    return left


def most_used(used: Numbers, capacity: Numbers) -> Numbers:
    full: Numbers = np.minimum(used, capacity) * BEST // capacity
    return full


def along(shape: Sequence[Obj]) -> Rate:
    """Straight lines between points of (per cent used, score)."""
    points = [(each.get("utilization") or 0, (each.get("score") or 0) * _SCALE) for each in shape]

    def rate(used: Numbers, capacity: Numbers) -> Numbers:
        percent = np.where(used > capacity, 100, used * 100 // capacity)
        scores = np.full(len(percent), points[-1][1], np.int64)
        for (left, low), (right, high) in reversed(list(pairwise(points))):
            # Go divides towards zero.
            rise = (high - low) * (percent - left)
            between = low + np.sign(rise) * (np.abs(rise) // (right - left))
            scores = np.where(percent <= right, between, scores)
        first, start = points[0]
        return np.where(percent <= first, start, scores)

    return rate


def strategy(tree: Obj | None, cluster: Cluster | None = None) -> Strategy:
    """Of the arguments of NodeResourcesFit."""
    given = tree or {}
    listed: Sequence[Obj] = given.get("resources") or ({"name": "cpu"}, {"name": "memory"})
    resources = tuple((each["name"], each.get("weight") or 1) for each in listed)
    match given.get("type"):
        case "MostAllocated":
            return Strategy(most_used, resources, cluster=cluster)
        case "RequestedToCapacityRatio":
            return Strategy(along((given.get("requestedToCapacityRatio") or {})["shape"]), resources, True, cluster)
    return Strategy(least_used, resources, cluster=cluster)


class NodeResourcesScore(Base):
    """One strategy as a plugin of its own: policies name several at once."""

    def __init__(self, name: str, strategy: Strategy) -> None:
        self.name = name
        self._strategy = strategy

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        return self._strategy.score(pod, nodes)
