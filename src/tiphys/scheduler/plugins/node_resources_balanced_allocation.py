"""Prefer nodes on which the pod makes the use of CPU and memory (or of other resources) more even."""

import numpy as np
from numpy.typing import NDArray

from tiphys.machinery.tree import Obj
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.framework import BEST, Base
from tiphys.scheduler.node_table import Mask, Nodes, Numbers
from tiphys.scheduler.plugins.resource_scoring import of_devices
from tiphys.scheduler.pod_info import PodInfo


class NodeResourcesBalancedAllocation(Base):
    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: Obj | None = None, cluster: Cluster | None = None) -> None:
        """`args`: upstream's NodeResourcesBalancedAllocationArgs."""
        self._cluster = cluster or Cluster()
        listed = (args or {}).get("resources") or ({"name": "cpu"}, {"name": "memory"})
        self._resources = tuple(each["name"] for each in listed)

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        asked = [pod.requests.get(name, 0) for name in self._resources]
        if not any(asked):
            return None
        if any(amount and self._cluster.devices.behind.get(name) for name, amount in zip(self._resources, asked, strict=True)):
            return self._with_devices(asked, nodes)
        table, rows = nodes.table, nodes.rows
        # Extended resources count only for pods that ask for them.
        counted = [
            (table.resources[name], amount)
            for name, amount in zip(self._resources, asked, strict=True)
            if name in table.resources and (amount or "/" not in name)
        ]
        at = [row for row, _ in counted]
        if at == [0, 1]:
            capacity, used = table.allocatable[:2, rows], table.requested[:2, rows]
        else:
            capacity, used = table.allocatable[at][:, rows], table.requested[at][:, rows]
        return _gained([amount for _, amount in counted], used, capacity)

    def _with_devices(self, asked: list[int], nodes: Nodes) -> Numbers:
        """Some of the resources are such that devices stand behind them."""
        counted, used, capacity = [], [], []
        for name, amount in zip(self._resources, asked, strict=True):
            behind, at = self._cluster.devices.behind.get(name) if amount else None, nodes.table.resources.get(name)
            if (at is None and behind is None) or not (amount or "/" not in name):
                continue
            empty: Numbers = np.zeros(nodes.count, np.int64)
            there = empty if at is None else nodes.table.allocatable[at, nodes.rows]
            taken = empty if at is None else nodes.table.requested[at, nodes.rows]
            if behind is not None:
                of_plugin = there > 0
                used_devices, devices = of_devices(behind, nodes, self._cluster)
                taken, there = np.where(of_plugin, taken, used_devices), np.where(of_plugin, there, devices)
            counted.append(amount)
            used.append(taken)
            capacity.append(there)
        return _gained(counted, np.array(used), np.array(capacity))


def _gained(asked: list[int], used: Numbers, capacity: Numbers) -> Numbers:
    with_pod = _evenness(used + np.array(asked, np.int64)[:, None], capacity)
    half = BEST // 2
    # Go divides towards zero, but here both sides are never negative.
    scores: Numbers = half + (half + with_pod - _evenness(used, capacity)) // 2
    return scores


def _evenness(used: Numbers, capacity: Numbers) -> Numbers:
    """BEST where all resources are used to the same part; with one resource only there is nothing to be uneven."""
    known = capacity > 0
    fractions: NDArray[np.float64] = np.minimum(used / np.maximum(capacity, 1), 1.0)
    if len(fractions) == 2:
        deviation = np.abs((fractions[0] - fractions[1]) / 2)
        deviation *= known[0] & known[1]
    else:
        deviation = _deviation(fractions, known)
    even: Numbers = ((1 - deviation) * BEST).astype(np.int64)
    return even


def _deviation(fractions: NDArray[np.float64], known: Mask) -> NDArray[np.float64]:
    """Of those resources that a node has."""
    count = known.sum(axis=0)
    some = np.maximum(count, 1)
    mean = np.where(known, fractions, 0).sum(axis=0) / some
    squares = np.where(known, (fractions - mean) ** 2, 0).sum(axis=0)
    apart: NDArray[np.float64] = np.where(count > 1, np.sqrt(squares / some), 0.0)
    return apart
