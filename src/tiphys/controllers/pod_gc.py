"""Pod garbage collector: pods that nobody else can end. Those of nodes that are no more, those that never had a node and are
to go, those stuck on a node that is out of service; and the oldest of very many that are done.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.client.interface import Client
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, Inquiry, Watch
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Delete, Inquire, Patch, Plan, Write
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

QUARANTINE = 40.0
"""A node that is gone may be about to come back."""
KEPT = 12500
"""Pods that are done, of the whole cluster."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
DONE = "done"


@dataclass(frozen=True, slots=True)
class World:
    node: Obj | None
    known_gone: bool
    """The server was asked: there is no such node."""
    name: str
    """Of the node; empty for pods without one, `done` for those that are done."""
    pods: tuple[Obj, ...]
    now: float
    kept: int = KEPT


def _done(pod: Obj) -> Iterable[str]:
    return ("",) if facts.is_finished(pod) else ()


def _unscheduled(pod: Obj) -> Iterable[str]:
    return ("",) if facts.is_deleting(pod) and not pod["spec"].get("nodeName") else ()


def _pod_keys(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    if new is None:
        return
    node = new["spec"].get("nodeName") or ""
    if facts.is_finished(new) and (old is None or not facts.is_finished(old)) and len(caches[PODS]) > KEPT:
        yield DONE
    if facts.is_deleting(new) and not node:
        yield "node/"
    elif node and facts.is_deleting(new):
        there = caches[NODES].get(node)
        if there is not None and _is_out_of_service(there):
            yield f"node/{node}"


def _late_pod_keys(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """Pods that come to a node which is not there."""
    if new is None or (old is not None and old["spec"].get("nodeName") == new["spec"].get("nodeName")):
        return
    node = new["spec"].get("nodeName")
    if node and caches[NODES].get(node) is None:
        yield f"node/{node}"


def _node_keys(_old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    return (f"node/{meta.name(new)}",) if new is not None and _is_out_of_service(new) else ()


def _gone_node_keys(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    return (f"node/{meta.name(old)}",) if new is None and old is not None else ()


def _is_out_of_service(node: Obj) -> bool:
    tainted = any(each.get("key") == OUT_OF_SERVICE for each in node["spec"].get("taints") or ())
    return tainted and not conditions.is_true((node.get("status") or {}).get("conditions"), "Ready")


class PodGarbageCollector(Base):
    name = "pod-garbage-collector-controller"
    component = "pod-garbage-collector"
    inquiries: Mapping[str, Inquiry]
    watches = (
        Watch(PODS, _pod_keys, {"done": _done, "unscheduled": _unscheduled}),
        Watch(PODS, _late_pod_keys, delay=QUARANTINE),
        Watch(NODES, _node_keys),
        Watch(NODES, _gone_node_keys, delay=QUARANTINE),
    )

    def __init__(self, kept: int = KEPT) -> None:
        """`kept`: finished pods, of all namespaces together; no limit if zero."""
        self._kept = kept
        self.inquiries = {"node": is_gone}

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        if key == DONE:
            done = tuple(caches[PODS].by("done", "")) if self._kept > 0 else ()
            return World(None, False, DONE, done, now, self._kept)
        name = key.removeprefix("node/")
        pods = caches[PODS].by("node", name) if name else caches[PODS].by("unscheduled", "")
        known_gone = caches.answers.get(key) is True
        return World(caches[NODES].get(name) if name else None, known_gone, name, tuple(pods), now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        if not world.pods:
            return NOTHING
        if world.name == DONE:
            oldest = sorted(world.pods, key=_seniority)
            return Plan(tuple(write for pod in oldest[: max(0, len(oldest) - world.kept)] for write in _end(pod)))
        if not world.name:
            return Plan(tuple(write for pod in world.pods for write in _end(pod)))
        if world.node is not None:
            stuck = [pod for pod in world.pods if facts.is_deleting(pod)] if _is_out_of_service(world.node) else []
            return Plan(tuple(write for pod in stuck for write in _end(pod)))
        if not world.known_gone:
            return Plan((Inquire("node", {"name": world.name}),))
        told = conditions.condition("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists", world.now)
        return Plan(tuple(write for pod in world.pods for write in _end(pod, told)))


async def is_gone(client: Client, arguments: Mapping[str, Any]) -> bool:
    try:
        await client.get(NODES, arguments["name"])
    except ApiError as refused:
        if refused.reason != "NotFound":
            raise
        return True
    return False


def _seniority(pod: Obj) -> tuple[bool, str, str]:
    """The evicted first, then the oldest."""
    evicted = (pod.get("status") or {}).get("reason") == "Evicted"
    return not evicted, pod["metadata"].get("creationTimestamp", ""), meta.name(pod)


def _end(pod: Obj, told: Obj | None = None) -> list[Write]:
    """Marked as failed, so that its owner counts it as such, and removed without waiting for a kubelet."""
    writes: list[Write] = [Delete(PODS, pod, grace=0)]
    if not facts.is_finished(pod):
        status: Obj = {"phase": "Failed"}
        generation = meta.generation(pod)
        if generation:
            status["observedGeneration"] = generation
        if told is not None:
            status["conditions"] = [{**told, **({"observedGeneration": generation} if generation else {})}]
        patch = {"metadata": {"uid": meta.uid(pod)}, "status": status}
        writes.insert(0, Patch(PODS, pod, patch, "strategic", "status", tolerate=NOT_FOUND))
    return writes
