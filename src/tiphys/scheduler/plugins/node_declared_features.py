"""A pod that needs something new of its node runs only where the kubelet says that it can do that."""

from collections.abc import Iterator

from tiphys.machinery.tree import Obj
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Lack, OfNodesOnly, Refused, refused
from tiphys.scheduler.node_table import Nodes
from tiphys.scheduler.pod_info import PodInfo

_WORDS = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures(OfNodesOnly):
    name = "NodeDeclaredFeatures"
    unblocked_by = Event.NODE_ADDED | Event.NODE_FEATURES

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        needed = features(pod.obj["spec"])
        if not needed:
            return None
        without = nodes.nothing()
        for position, name in nodes.named():
            without[position] = not needed <= _declared(nodes.table.node(name))
        return refused(without, _WORDS, preemption_helps=False)

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        node = nodes.table.node(nodes.table.names[nodes.row()])
        missing = sorted(features(pod.obj["spec"]) - _declared(node))
        return [Lack(f"does not declare the feature {name}", f"a kubelet with the feature {name}") for name in missing]

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        return features(pod.obj["spec"]) <= _declared(change.node)


def features(spec: Obj) -> frozenset[str]:
    """upstream component-helpers/nodedeclaredfeatures/features: those that matter before a pod runs."""
    return frozenset(_inferred(spec))


def _inferred(spec: Obj) -> Iterator[str]:
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    rules = (rule for each in containers for rule in each.get("restartPolicyRules") or ())
    if any(rule.get("action") == "RestartAllContainers" for rule in rules):
        yield "RestartAllContainersOnContainerExits"
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        yield "UserNamespacesHostNetworkSupport"


def _declared(node: Obj | None) -> frozenset[str]:
    return frozenset(((node or {}).get("status") or {}).get("declaredFeatures") or ())
