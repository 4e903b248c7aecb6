"""The node selector and node affinity of a pod: nodes it must have, and nodes it would like."""

from tiphys.api.node_selector import ANYWHERE, LabelCondition, NodeTerm, node_affinity
from tiphys.api.node_selector import NodeAffinity as Wanted
from tiphys.machinery.tree import Obj
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Lack, Narrowed, OfNodesOnly, Reason, Refused, most_is_best
from tiphys.scheduler.node_table import Nodes, Numbers
from tiphys.scheduler.pod_info import PodInfo

_MISMATCH = "node(s) didn't match Pod's node affinity/selector"
_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"


class NodeAffinity(OfNodesOnly):
    name = "NodeAffinity"
    unblocked_by = Event.NODE_ADDED | Event.NODE_LABELS

    def __init__(self, args: Obj | None = None) -> None:
        """`args`: upstream's NodeAffinityArgs; what they add holds for every pod of the profile."""
        added = (args or {}).get("addedAffinity")
        self._added = node_affinity({"affinity": {"nodeAffinity": added}}) if added else ANYWHERE

    def narrow(self, pod: PodInfo) -> Narrowed | None:
        names = pod.node_affinity.only
        if names is None:
            return None
        return Narrowed(names, "" if names else "pod affinity terms conflict")

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        found = [
            Reason(~nodes.table.labels.matching(wanted, nodes.table.rows)[nodes.rows], words, False)
            for wanted, words in ((self._added, _ENFORCED), (pod.node_affinity, _MISMATCH))
            if wanted.restricts
        ]
        if not found:
            return None
        every, reasons = nodes.nothing(), []
        for each in found:
            reasons.append(Reason(each.rows & ~every, each.words, False))
            every |= each.rows
        return Refused(every, tuple(reasons))

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        name = nodes.table.names[nodes.row()]
        node = nodes.table.node(name)
        labels = ((node or {"metadata": {}})["metadata"].get("labels")) or {}
        wanted = pod.node_affinity
        found = [_other_label(name, key, value, labels) for key, value in wanted.selector if labels.get(key) != value]
        if wanted.required is not None and not any(term_matches(each, name, labels) for each in wanted.required):
            terms: list[list[Lack]] = [_unmet(each, name, labels) for each in wanted.required]
            found += _fewest(terms)
        return found

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        preferred = (*self._added.preferred, *pod.node_affinity.preferred)
        if not preferred:
            return None
        table = nodes.table
        sums = sum(each.weight * table.labels.term(each.term, table.rows)[nodes.rows].astype("int64") for each in preferred)
        return most_is_best(sums, nodes)  # type: ignore[arg-type]

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if not self._suits(pod, change.node):
            return False
        return change.old is None or not self._suits(pod, change.old)

    def _suits(self, pod: PodInfo, node: Obj) -> bool:
        return matches(pod.node_affinity, node) and matches(self._added, node)


def matches(wanted: Wanted, node: Obj) -> bool:
    """One node, by its object."""
    labels, name = node["metadata"].get("labels") or {}, node["metadata"]["name"]
    if any(labels.get(key) != value for key, value in wanted.selector):
        return False
    return wanted.required is None or any(term_matches(each, name, labels) for each in wanted.required)


def _other_label(node: str, key: str, value: str, labels: dict[str, str]) -> Lack:
    has = f" (it has {key}={labels[key]})" if key in labels else ""
    overwrite = " --overwrite" if key in labels else ""
    return Lack(f"has no label {key}={value}{has}", f"kubectl label node {node} {key}={value}{overwrite}", 0.6)


def _fewest(terms: list[list[Lack]]) -> list[Lack]:
    return min(terms, key=len) if terms else [Lack("matches no term of the node affinity: it has none")]


def _unmet(term: NodeTerm, name: str, labels: dict[str, str]) -> list[Lack]:
    """What of the term does not hold."""
    if term.unsound:
        return [Lack("matches no term of the node affinity: one is not valid", "correct the pod's node affinity")]
    found = [_condition(each, labels) for each in term.labels if not each.requirement().matches(labels)]
    others = [each.name for each in term.names if (each.name == name) != each.equal]
    return found + [Lack(f"is not the node {each} that the affinity names", "") for each in others]


def _condition(condition: LabelCondition, labels: dict[str, str]) -> Lack:
    key, values = condition.key, ",".join(condition.values)
    has = f"it has {key}={labels[key]}" if key in labels else f"it has no label {key}"
    words = {"!": f"{key} not there", "exists": f"{key} there"}.get(
        condition.operator, f"{key} {condition.operator} ({values})"
    )
    return Lack(f"does not match the node affinity: {words}; {has}", "change a label of the node or the affinity", 0.6)


def term_matches(term: NodeTerm, name: str, labels: dict[str, str]) -> bool:
    if term.unsound:
        return False
    return all(each.requirement().matches(labels) for each in term.labels) and all(
        (each.name == name) == each.equal for each in term.names
    )
