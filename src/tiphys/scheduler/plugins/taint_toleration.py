"""Keep pods off nodes whose taints they do not tolerate; prefer nodes with fewer soft taints."""

from tiphys.machinery.tree import Obj
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Lack, OfNodesOnly, Refused, fewest_is_best, refused
from tiphys.scheduler.node_table import Nodes, Numbers
from tiphys.scheduler.node_table.taints import HARD, SOFT, Taint, taints_of
from tiphys.scheduler.pod_info import PodInfo

_REMOVED = {
    "node.kubernetes.io/unschedulable": "kubectl uncordon {node}",
    "node.kubernetes.io/not-ready": "get {node} ready",
    "node.kubernetes.io/unreachable": "let the kubelet of {node} be heard of again",
    "node.kubernetes.io/network-unavailable": "give {node} a network for pods",
    "node.kubernetes.io/memory-pressure": "free memory on {node}",
    "node.kubernetes.io/disk-pressure": "free disk space on {node}",
    "node.kubernetes.io/pid-pressure": "end processes on {node}",
}
"""Taints that others put on and take off: by what makes them go."""


class TaintToleration(OfNodesOnly):
    name = "TaintToleration"
    unblocked_by = Event.NODE_ADDED | Event.NODE_TAINTS | Event.POD_TOLERATIONS

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        rows = nodes.cut(nodes.table.taints.refused(pod.tolerations))
        # Evicting other pods does not remove a taint.
        return None if rows is None else refused(rows, "node(s) had untolerated taint(s)", preemption_helps=False)

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        name = nodes.table.names[nodes.row()]
        node = nodes.table.node(name)
        return [_lack(name, taint) for taint in (taints_of(node) if node else ()) if _keeps_away(taint, pod)]

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        soft = tuple(each for each in pod.tolerations if each.effect in ("", SOFT))
        counted = nodes.table.taints.unwelcome(soft)
        return None if counted is None else fewest_is_best(counted[nodes.rows], nodes)

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if change.event is Event.POD_TOLERATIONS:
            return change.concerns(pod)
        return not keeps_away(change.node, pod) and (change.old is None or keeps_away(change.old, pod))


def keeps_away(node: Obj, pod: PodInfo) -> bool:
    return any(_keeps_away(taint, pod) for taint in taints_of(node))


def _keeps_away(taint: Taint, pod: PodInfo) -> bool:
    return taint[2] in HARD and not any(each.tolerates(*taint) for each in pod.tolerations)


def _lack(node: str, taint: Taint) -> Lack:
    key, value, effect = taint
    told = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
    removed = _REMOVED.get(key, "kubectl taint node {node} " + f"{key}:{effect}-").format(node=node)
    remedy = removed if key in _REMOVED else f"add a toleration of {told} to the pod, or: {removed}"
    return Lack(f"has the taint {told}", remedy, 0.5)
