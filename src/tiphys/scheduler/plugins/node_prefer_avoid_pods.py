"""A node may ask, by an annotation, that pods of certain ReplicaSets or ReplicationControllers stay away if they can.

upstream v1.22 pkg/scheduler/framework/plugins/nodepreferavoidpods/node_prefer_avoid_pods.go.
"""

import json

import numpy as np

from tiphys.machinery.tree import Obj
from tiphys.scheduler.framework import BEST, Base
from tiphys.scheduler.node_table import Nodes, Numbers
from tiphys.scheduler.pod_info import PodInfo

ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_KINDS = ("ReplicationController", "ReplicaSet")


class NodePreferAvoidPods(Base):
    name = "NodePreferAvoidPods"

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        owner = next((each for each in pod.obj["metadata"].get("ownerReferences") or () if each.get("controller")), None)
        if owner is None or owner.get("kind") not in _KINDS:
            return None
        scores: Numbers = np.full(nodes.count, BEST, np.int64)
        for position, name in nodes.named():
            if nodes.feasible[position] and _avoids(nodes.table.node(name), owner):
                scores[position] = 0
        return scores


def _avoids(node: Obj | None, owner: Obj) -> bool:
    told = ((node or {"metadata": {}})["metadata"].get("annotations") or {}).get(ANNOTATION)
    if not told:
        return False
    try:
        listed = json.loads(told).get("preferAvoidPods") or ()
    except (ValueError, AttributeError):
        return False  # what nobody can read asks for nothing
    signed = ((each.get("podSignature") or {}).get("podController") or {} for each in listed)
    return any(each.get("kind") == owner.get("kind") and each.get("uid") == owner.get("uid") for each in signed)
