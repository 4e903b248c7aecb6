"""Which nodes a DaemonSet's pods may run on, and the pod for one of them."""

from dataclasses import dataclass

from tiphys.api.apps.daemonsets import DAEMONSETS, TEMPLATE_GENERATION
from tiphys.api.node_selector import NAME_FIELD, NodeAffinity, node_affinity
from tiphys.controllers.history import HASH_LABEL
from tiphys.controllers.pods import pod_from
from tiphys.controllers.taints import untolerated
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, Path, get, put

GENERATION_LABEL = "pod-template-generation"
_REQUIRED: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_ENDURED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
"""Troubles of a node that its daemons live with; many are there to cure them."""
_NO_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")
_KEEPS_AWAY = frozenset(("NoSchedule", "NoExecute"))
_DRIVES_AWAY = frozenset(("NoExecute",))


def tolerations(spec: Obj) -> list[Obj]:
    found: list[Obj] = list(spec.get("tolerations") or ())
    endured = (*_ENDURED, _NO_NETWORK) if spec.get("hostNetwork") else _ENDURED
    for key, effect in endured:
        wanted = {"key": key, "operator": "Exists", "effect": effect}
        same = [at for at, each in enumerate(found) if _is_about(each, wanted)]
        for at in same:
            found[at] = wanted
        if not same:
            found.append(wanted)
    return found


def _is_about(toleration: Obj, other: Obj) -> bool:
    """They differ at most in how long they tolerate."""
    parts = ("key", "effect", "operator", "value")
    return all((toleration.get(part) or "") == (other.get(part) or "") for part in parts)


@dataclass(frozen=True, slots=True)
class Fit:
    """What a template asks of nodes; made once a turn."""

    node_name: str
    affinity: NodeAffinity
    tolerations: tuple[Obj, ...]

    def starts_on(self, node: Obj) -> bool:
        return self._suits(node) and not untolerated(_taints(node), self.tolerations, _KEEPS_AWAY)

    def stays_on(self, node: Obj) -> bool:
        """A pod that runs there may go on, although no new one would come."""
        return self._suits(node) and not untolerated(_taints(node), self.tolerations, _DRIVES_AWAY)

    def _suits(self, node: Obj) -> bool:
        name = meta.name(node)
        return self.node_name in ("", name) and self.affinity.allows(name, meta.labels(node))


def fit_of(daemon_set: Obj) -> Fit:
    spec = daemon_set["spec"]["template"]["spec"]
    return Fit(spec.get("nodeName") or "", node_affinity(spec), tuple(tolerations(spec)))


def _taints(node: Obj) -> list[Obj]:
    found: list[Obj] = (node.get("spec") or {}).get("taints") or []
    return found


def template_generation(daemon_set: Obj) -> str | None:
    text = meta.annotations(daemon_set).get(TEMPLATE_GENERATION)
    return text if text is not None and text.removeprefix("-").isdecimal() else None


def is_updated(daemon_set: Obj, pod: Obj, digest: str) -> bool:
    """Of the present template, by its hash or by the number that older versions went by."""
    generation, labels = template_generation(daemon_set), meta.labels(pod)
    return labels.get(HASH_LABEL) == digest or (generation is not None and labels.get(GENERATION_LABEL) == generation)


def pod_for(daemon_set: Obj, node: str, digest: str) -> Obj:
    made = pod_from(daemon_set["spec"]["template"], DAEMONSETS, daemon_set)
    generation = template_generation(daemon_set)
    labels = {**meta.labels(made), **({GENERATION_LABEL: generation} if generation is not None else {}), HASH_LABEL: digest}
    named = {"nodeSelectorTerms": [{"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node]}]}]}
    spec = put({**made["spec"], "tolerations": tolerations(made["spec"])}, _REQUIRED, named)
    return {**made, "metadata": {**made["metadata"], "labels": labels}, "spec": spec}


def node_of(pod: Obj) -> str:
    """Where it runs, or is meant to; empty for a pod that does not say."""
    spec = pod["spec"]
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    for term in get(spec, (*_REQUIRED, "nodeSelectorTerms")) or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == NAME_FIELD and field.get("operator") == "In":
                values: list[str] = field.get("values") or []
                return values[0] if len(values) == 1 else ""
    return ""
