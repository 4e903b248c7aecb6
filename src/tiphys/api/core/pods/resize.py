"""The resize subresource: more or less CPU and memory for containers that run."""

from collections.abc import Iterator

from tiphys.api.core.pods import facts
from tiphys.api.core.pods.update import tolerance
from tiphys.api.core.pods.validate import validate_pod
from tiphys.api.pod_template.features import drop_disabled
from tiphys.api.pod_template.internal import same
from tiphys.machinery.fields import FieldError, Problem, forbidden, invalid
from tiphys.machinery.tree import Obj

_RESIZED = ("resources", "resizePolicy")
_LIVE_METADATA = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "labels", "annotations", "finalizers")
_ONLY = "only cpu and memory resources are mutable"


def prepare_resize(pod: Obj, old: Obj) -> None:
    """Keeps nothing of the request but resources and resize policies, unless containers do not match (validation tells)."""
    spec, old_spec = pod["spec"], old["spec"]
    groups = ("containers", "initContainers")
    if all(len(spec.get(group) or ()) == len(old_spec.get(group) or ()) for group in groups):
        kept = {group: _only_resized(spec[group], old_spec[group]) for group in groups if spec.get(group)}
        pod["spec"] = {**old_spec, **kept}
        if spec.get("resources") is not None:
            pod["spec"]["resources"] = spec["resources"]
        else:
            pod["spec"].pop("resources", None)
        pod["status"] = old.get("status") or {}
        reset_metadata(pod, old)
    drop_disabled(pod["spec"], old_spec)


def reset_metadata(pod: Obj, old: Obj) -> None:
    """Of the metadata, such a write changes only what the server itself keeps."""
    for name in (*_LIVE_METADATA, "ownerReferences"):
        if old["metadata"].get(name) is not None:
            pod["metadata"][name] = old["metadata"][name]
        else:
            pod["metadata"].pop(name, None)


def _only_resized(new: list[Obj], old: list[Obj]) -> list[Obj]:
    if any(one.get("name") != other.get("name") for one, other in zip(new, old, strict=True)):
        return new
    merged = []
    for one, other in zip(new, old, strict=True):
        container = {name: value for name, value in other.items() if name not in _RESIZED}
        container.update({name: one[name] for name in _RESIZED if one.get(name) is not None})
        container.setdefault("resources", {})
        merged.append(container)
    return merged


def validate_resize(pod: Obj, old: Obj) -> Iterator[FieldError]:
    """Of the pod as `prepare_resize` left it."""
    if facts.is_mirror(old):
        yield FieldError(Problem.FORBIDDEN, "", "", "static pods cannot be resized")
        return
    spec, old_spec = pod["spec"], old["spec"]
    if (old_spec.get("os") or {}).get("name") == "windows":
        yield FieldError(Problem.FORBIDDEN, "", "", "windows pods cannot be resized")
        return
    found = list(_validate_as_a_whole(pod, old))
    yield from found
    ordering = list(_validate_order(spec, old_spec))
    yield from ordering
    if ordering:
        return
    munged = dict(spec)
    if _asks_as_a_whole(spec) or _asks_as_a_whole(old_spec):
        of_pod = list(_validate_pod_level(spec, old_spec))
        found += of_pod
        yield from of_pod
        _set_resources_back(munged, old_spec)
    of_containers = list(_validate_containers(spec, old_spec, munged))
    yield from of_containers
    if not found and not of_containers and not same(munged, old_spec, "PodSpec"):
        yield forbidden("spec", _ONLY)


def _validate_as_a_whole(pod: Obj, old: Obj) -> Iterator[FieldError]:
    yield from validate_pod(pod, tolerance(old))
    old_class = (old.get("status") or {}).get("qosClass") or facts.qos_class(old)
    if old_class != facts.qos_class(pod):
        shown = (pod.get("status") or {}).get("qosClass") or ""
        yield invalid("spec", shown, "Pod QOS Class may not change as a result of resizing")
    status = old.get("status") or {}
    running = [each for each in status.get("containerStatuses") or () if (each.get("state") or {}).get("running") is not None]
    if running and running[0].get("resources") is None:
        yield forbidden("spec", "Pod running on node without support for resize")
    if status.get("nodeAllocatableResourceClaimStatuses"):
        yield forbidden("spec", "pods with node allocatable resource claims cannot be resized")


def _validate_order(spec: Obj, old: Obj) -> Iterator[FieldError]:
    for group in ("containers", "initContainers"):
        new_listed, old_listed = spec.get(group) or [], old.get(group) or []
        if len(new_listed) != len(old_listed):
            yield forbidden(f"spec.{group}", f"{group} may not be added or removed on resize")
            continue
        for position, (one, other) in enumerate(zip(new_listed, old_listed, strict=True)):
            if one.get("name") != other.get("name"):
                yield forbidden(f"spec.{group}[{position}].name", f"{group} may not be renamed or reordered on resize")


def _asks_as_a_whole(spec: Obj) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _validate_pod_level(spec: Obj, old: Obj) -> Iterator[FieldError]:
    resources, old_resources = spec.get("resources"), old.get("resources")
    if old_resources is not None and resources is None:
        yield forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    for what in ("requests", "limits"):
        if _lost(resources or {}, old_resources or {}, what):
            yield forbidden(f"spec.resources.{what}", f"pod-level resource {what} cannot be removed")
    munged = dict(spec)
    _set_resources_back(munged, old)
    if not same(munged.get("resources"), old_resources, "*ResourceRequirements"):
        yield forbidden("spec", "only cpu and memory resources are mutable at pod-level")


def _lost(resources: Obj, old: Obj, what: str) -> bool:
    return not (old.get(what) or {}).keys() <= (resources.get(what) or {}).keys()


def _set_resources_back(spec: Obj, old: Obj) -> None:
    resources = spec.get("resources")
    if resources is None:
        return
    munged = {**resources, **_set_back(resources, old.get("resources") or {})}
    if old.get("resources") is None and not any(munged.values()):
        spec.pop("resources")
    else:
        spec["resources"] = munged


def _set_back(resources: Obj, old: Obj) -> Obj:
    """With CPU and memory as they were."""
    munged: Obj = {}
    for what in ("limits", "requests"):
        listed = {name: text for name, text in (resources.get(what) or {}).items() if name not in ("cpu", "memory")}
        before = old.get(what) or {}
        munged[what] = {**listed, **{name: before[name] for name in ("cpu", "memory") if name in before}}
    return munged


def _validate_containers(spec: Obj, old: Obj, munged: Obj) -> Iterator[FieldError]:
    """`munged` becomes the spec with all that a resize may change set back."""
    for group in ("initContainers", "containers"):
        for position, (one, other) in enumerate(zip(spec.get(group) or (), old.get(group) or (), strict=True)):
            for what in ("requests", "limits"):
                if _lost(one.get("resources") or {}, other.get("resources") or {}, what):
                    yield forbidden(f"spec.{group}[{position}].resources.{what}", f"resource {what} cannot be removed")
    for group in ("containers", "initContainers"):
        if not spec.get(group):
            continue
        munged[group] = []
        for position, (one, other) in enumerate(zip(spec[group], old[group], strict=True)):
            # Claims are dropped as upstream drops them, so that a container with claims cannot be resized.
            container = {**one, "resources": _set_back(one.get("resources") or {}, other.get("resources") or {})}
            munged[group].append(container)
            equal = same(container, other, "Container")
            if group == "containers":
                if not equal:
                    yield forbidden("spec", _ONLY)
                continue
            here = f"spec.initContainers[{position}]"
            if not equal:
                yield forbidden(here, "only cpu and memory resources for init or sidecar containers are mutable")
            if not facts.is_restartable(one) and not same(one, other, "Container"):
                for policy in container.get("resizePolicy") or ():
                    if policy.get("restartPolicy") == "RestartContainer":
                        why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                        yield forbidden(here, why)
