"""What a StatefulSet reports."""

from collections.abc import Iterable

from tiphys.api.core.pods import facts
from tiphys.controllers.history import collisions
from tiphys.controllers.pods import seconds_until_available
from tiphys.controllers.statefulset.identity import replicas, revision_of
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

_NEWS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "currentRevision",
    "updateRevision",
)


def is_running_and_ready(pod: Obj) -> bool:
    return facts.phase(pod) == "Running" and facts.is_ready(pod)


def is_available(stateful_set: Obj, pod: Obj, now: float) -> bool:
    return seconds_until_available(pod, stateful_set["spec"].get("minReadySeconds", 0), now) == 0


def report(stateful_set: Obj, pods: Iterable[Obj], current: str, update: str, outgoing: frozenset[str], now: float) -> Obj:
    """`current`, `update`: names of revisions. `outgoing`: uids of pods that go now because their revision is old."""
    listed = list(pods)
    ready = [pod for pod in listed if is_running_and_ready(pod)]
    here = [revision_of(pod) for pod in listed if not facts.is_deleting(pod) and meta.uid(pod) not in outgoing]
    updated = sum(1 for pod in listed if not facts.is_deleting(pod) and revision_of(pod) == update)
    counts = {
        "readyReplicas": len(ready),
        "currentReplicas": here.count(current),
        "updatedReplicas": updated,
    }
    if _is_rolled_out(stateful_set, len(listed), len(ready), updated):
        current, counts["currentReplicas"] = update, updated
    status: Obj = {
        "replicas": len(listed),
        "availableReplicas": sum(1 for pod in ready if is_available(stateful_set, pod, now)),
        **{name: count for name, count in counts.items() if count},
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": collisions(stateful_set),
    }
    if meta.generation(stateful_set):
        status["observedGeneration"] = meta.generation(stateful_set)
    return status


def _is_rolled_out(stateful_set: Obj, present: int, ready: int, updated: int) -> bool:
    rolling = (stateful_set["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
    return rolling and present == ready == updated == replicas(stateful_set)


def is_news(stateful_set: Obj, status: Obj) -> bool:
    old = stateful_set.get("status") or {}
    if status.get("observedGeneration", 0) > old.get("observedGeneration", 0):
        return True
    return any((status.get(name) or 0) != (old.get(name) or 0) for name in _NEWS)
