"""Pods that were to be disrupted, and then were not: the condition that says so is taken back."""

from dataclasses import dataclass

from tiphys.api.core.pods import PODS, facts
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Patch, Plan
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

PATIENCE = 120.0
"""Seconds in which a pod that is to go should have begun to."""
TARGET = "DisruptionTarget"


@dataclass(frozen=True, slots=True)
class Marked:
    pod: Obj
    now: float


def is_marked(pod: Obj) -> bool:
    """The kubelet's own marks may take as long as they want."""
    found = facts.condition(pod, TARGET)
    if found is None or found.get("status") != "True" or found.get("reason") == "TerminationByKubelet":
        return False
    return facts.is_active(pod)


def take_back(world: Marked) -> Plan:
    pod = world.pod
    found = facts.condition(pod, TARGET)
    if not is_marked(pod) or found is None:
        return NOTHING
    since = found.get("lastTransitionTime")
    wait = times.parse(since) + PATIENCE - world.now if since else 0.0
    if wait > 0:
        return Plan(again_in=wait)
    change = {
        "type": TARGET,
        "status": "False",
        "observedGeneration": meta.generation(pod),
        "lastTransitionTime": times.rfc3339(world.now),
        "reason": None,
        "message": None,
    }
    patch = {
        "metadata": {"uid": meta.uid(pod), "resourceVersion": meta.resource_version(pod)},
        "status": {"conditions": [change]},
    }
    return Plan((Patch(PODS, pod, patch, "strategic", "status", tolerate=NOT_FOUND),))
