"""What a DaemonSet reports."""

from collections.abc import Mapping, Sequence

from tiphys.api.core.pods import facts
from tiphys.controllers.daemonset.placing import is_updated
from tiphys.controllers.daemonset.sync import by_age
from tiphys.controllers.pods import seconds_until_available
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

Placed = Mapping[str, list[Obj]]
"""Pods by the node that they run on or are meant for."""
_ALWAYS_TOLD = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def report(daemon_set: Obj, digest: str, starts: Sequence[str], nodes: Sequence[Obj], on: Placed, now: float) -> Obj | None:
    """None: what is there is right."""
    counts = _counts(daemon_set, digest, starts, nodes, on, now)
    old = daemon_set.get("status") or {}
    seen = old.get("observedGeneration", 0) >= meta.generation(daemon_set)
    if seen and all(old.get(name, 0) == count for name, count in counts.items()):
        return None
    kept = {name: value for name, value in old.items() if name not in counts}
    told = {name: count for name, count in counts.items() if count or name in _ALWAYS_TOLD}
    return {**kept, **told, "observedGeneration": meta.generation(daemon_set)}


def _counts(
    daemon_set: Obj, digest: str, starts: Sequence[str], nodes: Sequence[Obj], on: Placed, now: float
) -> dict[str, int]:
    min_ready = daemon_set["spec"].get("minReadySeconds", 0)
    fitting = frozenset(starts)
    serving = [by_age(on[name])[0] for name in starts if on.get(name)]
    misplaced = sum(1 for node in nodes if meta.name(node) not in fitting and on.get(meta.name(node)))
    available = sum(1 for pod in serving if seconds_until_available(pod, min_ready, now) == 0)
    return {
        "desiredNumberScheduled": len(starts),
        "currentNumberScheduled": len(serving),
        "numberMisscheduled": misplaced,
        "numberReady": sum(1 for pod in serving if facts.is_ready(pod)),
        "updatedNumberScheduled": sum(1 for pod in serving if is_updated(daemon_set, pod, digest)),
        "numberAvailable": available,
        "numberUnavailable": len(starts) - available,
    }
