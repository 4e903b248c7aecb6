"""What controllers that run pods share: the pod of a template, when a pod counts as available."""

from collections.abc import Iterable

from tiphys.api.core.pods import facts
from tiphys.api.kind import Kind
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj


def pod_from(template: Obj, owner_kind: Kind, owner: Obj) -> Obj:
    """A new Pod as `template` says, controlled by `owner`; its name is generated from the owner's."""
    given = template.get("metadata") or {}
    metadata: Obj = {"generateName": f"{meta.name(owner)}-", "namespace": meta.namespace(owner)}
    for part in ("labels", "annotations", "finalizers"):
        if given.get(part):
            metadata[part] = given[part]
    metadata["ownerReferences"] = [reference_to(owner_kind, owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def reference_to(kind: Kind, owner: Obj) -> Obj:
    return meta.owner_reference({**owner, "apiVersion": kind.api_version, "kind": kind.kind})


def is_terminating(pod: Obj) -> bool:
    return not facts.is_finished(pod) and facts.is_deleting(pod)


def ready_since(pod: Obj) -> float | None:
    ready = facts.condition(pod, "Ready")
    if ready is None or ready.get("status") != "True":
        return None
    at = ready.get("lastTransitionTime")
    return times.parse(at) if at else None


def seconds_until_available(pod: Obj, min_ready_seconds: int, now: float) -> float | None:
    """Zero: it is. None: it is not ready, time alone will not make it available."""
    if not facts.is_ready(pod):
        return None
    if min_ready_seconds == 0:
        return 0.0
    since = ready_since(pod)
    return max(0.0, since + min_ready_seconds - now) if since is not None else None


def next_available(pods: Iterable[Obj], min_ready_seconds: int, now: float) -> float | None:
    """Seconds until the first that is ready, but not for long enough, becomes available."""
    waits = [seconds_until_available(pod, min_ready_seconds, now) for pod in pods]
    return min((wait for wait in waits if wait), default=None)


def neighbours(pods: Iterable[Obj], related: Iterable[Obj]) -> dict[str, int]:
    """By uid of `pods`: how many active ones of `related` run on the same node."""
    on_node: dict[str, int] = {}
    for pod in related:
        if facts.is_active(pod):
            node = pod["spec"].get("nodeName", "")
            on_node[node] = on_node.get(node, 0) + 1
    return {meta.uid(pod): on_node.get(pod["spec"].get("nodeName", ""), 0) for pod in pods}
