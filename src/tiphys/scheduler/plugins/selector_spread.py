"""Prefer nodes, and zones, with fewer pods of the same Service or controller. Topology spreading does it by default today.

upstream v1.22 pkg/scheduler/framework/plugins/selectorspread/selector_spread.go.
"""

import numpy as np
from numpy.typing import NDArray

from tiphys.machinery.selectors import Selector
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.framework import BEST, Base
from tiphys.scheduler.node_table import CountKey, Mask, Nodes, Numbers
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.spreading import ZONE

_ZONE_SHARE = 2.0 / 3.0
Floats = NDArray[np.float64]


class SelectorSpread(Base):
    name = "SelectorSpread"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def _selector(self, pod: PodInfo) -> Selector:
        return self._cluster.default_selector(pod)

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        if pod.spread:
            return None
        selector = self._selector(pod)
        if selector.empty:
            return None
        column = nodes.pods_matching(CountKey(((frozenset((pod.namespace,)), selector),), living=True))
        scores = _fewest(column[nodes.rows], nodes.feasible)
        zones = nodes.topology(ZONE)
        if (zones[nodes.feasible] > 0).any():
            # Only nodes that could take the pod count.
            in_zone = np.bincount(zones[nodes.feasible], weights=column[nodes.rows][nodes.feasible], minlength=zones.max() + 1)
            in_zone[0] = 0
            by_zone = _fewest(in_zone, np.ones(len(in_zone), np.bool_))[zones]
            scores = np.where(zones > 0, scores * (1.0 - _ZONE_SHARE) + _ZONE_SHARE * by_zone, scores)
        return scores.astype(np.int64)


class ServiceSpreading(SelectorSpread):
    """The same before controllers were looked at."""

    name = "ServiceSpreading"

    def _selector(self, pod: PodInfo) -> Selector:
        return self._cluster.service_selector(pod)


def _fewest(counts: Floats | Numbers, among: Mask) -> Floats:
    most = counts.max(where=among, initial=0)
    return np.full(len(counts), float(BEST)) if most <= 0 else BEST * ((most - counts) / most)
