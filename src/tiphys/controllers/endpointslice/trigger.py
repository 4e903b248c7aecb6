"""Since when what an EndpointSlice or an Endpoints object tells has been true."""

from collections.abc import Mapping, Sequence

from tiphys.api.core.pods import facts
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, drop, put

TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


Told = Mapping[str, bool]
"""By the uid of a pod: whether it is told as ready. One that is not in it is not told at all."""


def trigger(service: Obj, pods: Sequence[Obj], told: Told | None, tells: Told) -> str:
    """When what is to be written now began: the first change of a pod between what was `told` and what is (`tells`). With
    nothing written yet, the Service itself; empty if no pod changed."""
    if told is None:
        return str(service["metadata"]["creationTimestamp"])
    changed = (pod for pod in pods if told.get(meta.uid(pod)) != tells.get(meta.uid(pod)))
    changes = [at for pod in changed if (at := _ready_changed(pod)) is not None]
    return times.rfc3339(min(changes)) if changes else ""


def _ready_changed(pod: Obj) -> float | None:
    ready = facts.condition(pod, "Ready")
    at = ready.get("lastTransitionTime") if ready is not None else None
    return times.parse(at) if at else None


def stamped(made: Obj, at: str) -> Obj:
    if not at:
        return drop(made, ("metadata", "annotations", TRIGGER))
    return put(made, ("metadata", "annotations", TRIGGER), at)
