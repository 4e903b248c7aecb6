"""Cordoned nodes take no pods but those that tolerate it."""

from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Lack, OfNodesOnly, Refused, refused
from tiphys.scheduler.node_table import Nodes
from tiphys.scheduler.pod_info import PodInfo

_TAINT = ("node.kubernetes.io/unschedulable", "", "NoSchedule")


class NodeUnschedulable(OfNodesOnly):
    name = "NodeUnschedulable"
    unblocked_by = Event.NODE_ADDED | Event.NODE_TAINTS | Event.POD_TOLERATIONS

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        if not nodes.table.cordoned or any(each.tolerates(*_TAINT) for each in pod.tolerations):
            return None
        return refused(nodes.table.unschedulable[nodes.rows], "node(s) were unschedulable", preemption_helps=False)

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:  # noqa: ARG002
        return [Lack("is cordoned", f"kubectl uncordon {nodes.table.names[nodes.row()]}", 0.5)]

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if change.event is Event.POD_TOLERATIONS:
            return change.concerns(pod)
        return not (change.node.get("spec") or {}).get("unschedulable")
