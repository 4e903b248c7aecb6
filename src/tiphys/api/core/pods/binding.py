"""The binding subresource: a pod gets its node, once."""

from collections.abc import Iterator

from tiphys.machinery import times
from tiphys.machinery.errors import ApiError, conflict
from tiphys.machinery.fields import FieldError, not_supported, required
from tiphys.machinery.tree import Obj


def validate_binding(binding: Obj) -> Iterator[FieldError]:
    target = binding.get("target") or {}
    kind = target.get("kind") or ""
    if kind and kind != "Node":
        yield not_supported("target.kind", kind, ("Node", "<empty>"))
    if not target.get("name"):
        yield required("target.name")


def bind(pod: Obj, binding: Obj, now: float) -> Obj:
    """The pod, bound; the given one stays as it is. Labels and annotations of the binding go over to the pod.

    The uid and resourceVersion of the binding, where it has them, are preconditions that the caller checks.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    name = metadata.get("name") or ""
    if metadata.get("deletionTimestamp"):
        raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _refused(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
    new_metadata, given = dict(metadata), binding.get("metadata") or {}
    for field in ("annotations", "labels"):
        if given.get(field):
            new_metadata[field] = {**(metadata.get(field) or {}), **given[field]}
    status = dict(pod.get("status") or {})
    status.pop("nominatedNodeName", None)
    status["conditions"] = _scheduled(status.get("conditions") or [], now)
    return {**pod, "metadata": new_metadata, "spec": {**spec, "nodeName": binding["target"]["name"]}, "status": status}


def _refused(name: str, why: str) -> ApiError:
    return conflict("", "pods/binding", name, why)


def _scheduled(conditions: list[Obj], now: float) -> list[Obj]:
    condition: Obj = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": times.rfc3339(now),
    }
    places = [position for position, each in enumerate(conditions) if each.get("type") == "PodScheduled"]
    if not places:
        return [*conditions, condition]
    old = conditions[places[0]]
    if old.get("status") == "True":
        condition["lastTransitionTime"] = old.get("lastTransitionTime")
    return [*conditions[: places[0]], condition, *conditions[places[0] + 1 :]]
