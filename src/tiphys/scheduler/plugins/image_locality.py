"""Prefer nodes that have the pod's images, the more so the more nodes have them: a new image should not draw all pods."""

import numpy as np

from tiphys.scheduler.framework import BEST, Base
from tiphys.scheduler.node_table import Nodes, Numbers
from tiphys.scheduler.pod_info import PodInfo

_MEBIBYTE = 1024 * 1024
_LEAST = 23 * _MEBIBYTE
_MOST_PER_CONTAINER = 1000 * _MEBIBYTE


class ImageLocality(Base):
    name = "ImageLocality"

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        table = nodes.table
        total: Numbers | None = None
        for name in pod.images:
            found = table.images.find(name)
            if found is not None:
                size, count, on = found
                part = int(size * (count / table.count)) * on[nodes.rows].astype(np.int64)
                total = part if total is None else total + part
        if total is None:
            return None
        most = _MOST_PER_CONTAINER * pod.containers
        scores: Numbers = BEST * (np.clip(total, _LEAST, most) - _LEAST) // (most - _LEAST)
        return scores
