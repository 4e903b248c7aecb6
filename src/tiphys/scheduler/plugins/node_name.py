"""A pod that names its node goes nowhere else."""

from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import Lack, OfNodesOnly, Refused, refused
from tiphys.scheduler.node_table import Nodes
from tiphys.scheduler.pod_info import PodInfo


class NodeName(OfNodesOnly):
    name = "NodeName"
    unblocked_by = Event.NODE_ADDED

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        if not pod.node:
            return None
        others = ~nodes.nothing()
        row = nodes.table.rows.get(pod.node)
        at = None if row is None else nodes.position(row)
        if at is not None:
            others[at] = False
        return refused(others, "node(s) didn't match the requested node name", preemption_helps=False)

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:  # noqa: ARG002
        return [Lack(f"is not {pod.node}, which the pod names", f"let {pod.node} join")]
