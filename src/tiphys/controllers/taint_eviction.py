"""Taint eviction: a pod leaves a node whose NoExecute taint it does not tolerate, at once or when its patience ends."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.controllers.controller import Base, Caches, Watch, own
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Delete, Note, Patch, Plan
from tiphys.controllers.taints import tolerates
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

MESSAGE = "Taint manager: deleting due to NoExecute taint"


@dataclass(frozen=True, slots=True)
class World:
    pod: Obj
    taints: tuple[Obj, ...]
    """The node's NoExecute taints."""
    since: float
    """When the pod first met these taints."""
    now: float


def _pods_of_node(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    if new is None or (old is not None and _no_execute(old) == _no_execute(new)):
        return ()
    return [meta.key(pod) for pod in caches[PODS].by("node", meta.name(new))]


def _no_execute(node: Obj) -> tuple[Obj, ...]:
    return tuple(each for each in node["spec"].get("taints") or () if each.get("effect") == "NoExecute")


class TaintEvictionController(Base):
    name = "taint-eviction-controller"
    component = "taint-eviction-controller"
    watches = (own(PODS), Watch(NODES, _pods_of_node))

    def __init__(self) -> None:
        self._met: dict[str, tuple[frozenset[str], float]] = {}
        """By pod: the taints it has met, and when."""

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        pod = caches[PODS].get(key)
        node = caches[NODES].get(pod["spec"].get("nodeName", "")) if pod is not None else None
        taints = _no_execute(node) if node is not None else ()
        if pod is None or not taints:
            self._met.pop(key, None)
            return None
        met = frozenset((meta.uid(pod), *(f"{each['key']}={each.get('value', '')}" for each in taints)))
        known = self._met.get(key)
        if known is None or known[0] != met:
            known = self._met[key] = (met, now)
        return World(pod, taints, known[1], now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        pod = world.pod
        if facts.is_deleting(pod) or facts.is_finished(pod):
            return NOTHING
        patience = seconds_left(pod, world.taints)
        if patience is None:
            return NOTHING
        wait = world.since + patience - world.now
        if wait > 0:
            return Plan(again_in=wait)
        key = f"{meta.namespace(pod)}/{meta.name(pod)}"
        note = Note(pod, "TaintManagerEviction", f"Marking for deletion Pod {key}")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": MESSAGE,
            "observedGeneration": meta.generation(pod),
            "lastTransitionTime": times.rfc3339(world.now),
        }
        patch = {"metadata": {"uid": meta.uid(pod)}, "status": {"conditions": [condition]}}
        return Plan(
            (
                Patch(PODS, pod, patch, "strategic", "status", tolerate=NOT_FOUND),
                Delete(PODS, pod, done=note),
            )
        )


def seconds_left(pod: Obj, taints: Iterable[Obj]) -> float | None:
    """How long the pod may stay; None: for ever. The shortest patience counts, none at all is zero."""
    shortest: float | None = None
    for taint in taints:
        # The first toleration that covers a taint is the one that counts.
        used = next((each for each in pod["spec"].get("tolerations") or () if tolerates(each, taint)), None)
        if used is None:
            return 0.0
        if used.get("tolerationSeconds") is not None:
            patience = max(0.0, float(used["tolerationSeconds"]))
            shortest = patience if shortest is None else min(shortest, patience)
    return shortest
