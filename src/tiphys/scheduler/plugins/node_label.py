"""Nodes must have certain labels, whatever their values, and must not have others: CheckNodeLabelPresence of policy files.

upstream v1.22 pkg/scheduler/framework/plugins/nodelabel/node_label.go.
"""

from tiphys.machinery.tree import Obj
from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import Lack, OfNodesOnly, Refused, refused
from tiphys.scheduler.node_table import Nodes
from tiphys.scheduler.pod_info import PodInfo

_WORDS = "node(s) didn't have the requested labels"


class NodeLabel(OfNodesOnly):
    name = "NodeLabel"
    unblocked_by = Event.NODE_ADDED | Event.NODE_LABELS

    def __init__(self, args: Obj | None = None) -> None:
        """`args`: upstream's NodeLabelArgs."""
        given = args or {}
        self._present: tuple[str, ...] = tuple(given.get("presentLabels") or ())
        self._absent: tuple[str, ...] = tuple(given.get("absentLabels") or ())

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:  # noqa: ARG002
        wrong = nodes.nothing()
        for key in self._present:
            wrong |= nodes.topology(key) == 0
        for key in self._absent:
            wrong |= nodes.topology(key) > 0
        return refused(wrong, _WORDS, preemption_helps=False)

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:  # noqa: ARG002
        name = nodes.table.names[nodes.row()]
        missing = [each for each in self._present if not nodes.topology(each)[0]]
        excess = [each for each in self._absent if nodes.topology(each)[0]]
        found = [Lack(f"has no label {key}", f"kubectl label node {name} {key}=", 0.6) for key in missing]
        return found + [Lack(f"has the label {key}", f"kubectl label node {name} {key}-", 0.6) for key in excess]
