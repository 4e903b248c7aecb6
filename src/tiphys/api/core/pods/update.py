"""What an update of a pod may change: hardly anything."""

from collections.abc import Iterator
from typing import Any

from tiphys.api.core.pods.validate import validate_pod
from tiphys.api.pod_template.annotations import DELETION_COST, parse_deletion_cost, validate_annotation_update
from tiphys.api.pod_template.internal import differ, same, told
from tiphys.api.pod_template.options import REQUIRED, Options
from tiphys.api.pod_template.scheduling import validate_tolerations
from tiphys.api.pod_template.tolerance import tolerated_by
from tiphys.machinery.fields import FieldError, forbidden, invalid, required
from tiphys.machinery.tree import Obj, get

_INT32_MAX = 2**31 - 1
_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
_FORBIDDEN = f"pod updates may not change fields other than {','.join(_UPDATABLE)}\n"
_ONLY_SECONDS = "existing toleration can not be modified except its tolerationSeconds"
_ONLY_MORE = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"


def tolerance(old: Obj) -> Options:
    cost = (old["metadata"].get("annotations") or {}).get(DELETION_COST)
    unsound = cost is not None and parse_deletion_cost(cost) is None
    return tolerated_by(old["spec"], is_pod=True, any_deletion_cost=unsound)


def validate_metadata_and_spec(pod: Obj, old: Obj, options: Options) -> Iterator[FieldError]:
    """Every kind of update begins with it."""
    yield from validate_pod(pod, options)
    yield from validate_annotations_of(pod, old)


def validate_annotations_of(pod: Obj, old: Obj) -> Iterator[FieldError]:
    new_annotations = pod["metadata"].get("annotations") or {}
    old_annotations = old["metadata"].get("annotations") or {}
    if new_annotations != old_annotations:
        yield from validate_annotation_update(new_annotations, old_annotations, "metadata.annotations")


def validate_update(pod: Obj, old: Obj) -> Iterator[FieldError]:
    spec, old_spec = pod["spec"], old["spec"]
    if spec == old_spec and pod["metadata"].get("annotations") == old["metadata"].get("annotations"):
        # The old pod is sound, or what is wrong with it is forgiven: labels, finalizers and owners do not change that.
        return
    options = tolerance(old)
    yield from validate_metadata_and_spec(pod, old, options)
    for group in ("containers", "initContainers"):
        listed, old_listed = spec.get(group) or [], old_spec.get(group) or []
        if len(listed) != len(old_listed):
            yield forbidden(f"spec.{group}", "pod updates may not add or remove containers")
            return
        yield from _validate_images(listed, f"spec.{group}")
    problem = _deadline_problem(spec.get("activeDeadlineSeconds"), old_spec.get("activeDeadlineSeconds"))
    if problem is not None:
        yield problem
        if spec.get("activeDeadlineSeconds") is not None:
            return
    yield from _validate_tolerations(spec.get("tolerations") or [], old_spec.get("tolerations") or [], options)
    yield from _validate_gates(spec.get("schedulingGates") or [], old_spec.get("schedulingGates") or [])
    if spec is old_spec or same(spec, old_spec, "PodSpec"):
        return
    yield from _validate_fixed(spec, old_spec)


def _validate_images(containers: list[Obj], at: str) -> Iterator[FieldError]:
    for position, container in enumerate(containers):
        image = container.get("image") or ""
        if not image:
            yield required(f"{at}[{position}].image")
        if image != image.strip():
            yield invalid(f"{at}[{position}].image", image, "must not have leading or trailing whitespace")


def _deadline_problem(new: int | None, old: int | None) -> FieldError | None:
    at = "spec.activeDeadlineSeconds"
    if new is None:
        return None if old is None else invalid(at, None, "must not update from a positive integer to nil value")
    if not 0 <= new <= _INT32_MAX:
        return invalid(at, new, f"must be between 0 and {_INT32_MAX}, inclusive")
    if old is not None and old < new:
        return invalid(at, new, "must be less than or equal to previous value")
    return None


def _validate_tolerations(new: list[Obj], old: list[Obj], options: Options) -> Iterator[FieldError]:
    if new == old:
        yield from validate_tolerations(new, "spec.tolerations", options)
        return
    known = [_without_seconds(each) for each in new]
    if any(_without_seconds(each) not in known for each in old):
        yield forbidden("spec.tolerations", _ONLY_SECONDS)
        return
    yield from validate_tolerations(new, "spec.tolerations", options)


def _without_seconds(toleration: Obj) -> Obj:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds" and value}


def _validate_gates(new: list[Obj], old: list[Obj]) -> Iterator[FieldError]:
    known = {gate.get("name") for gate in old}
    for position, gate in enumerate(new):
        name = gate.get("name") or ""
        if name not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{position}].name", why)


def _validate_fixed(spec: Obj, old: Obj) -> Iterator[FieldError]:
    """With all that may change set back, the specs must be equal."""
    fixed = dict(spec)
    for group in ("containers", "initContainers"):
        if spec.get(group):
            pairs = zip(spec[group], old[group], strict=True)
            fixed[group] = [{**container, "image": before.get("image")} for container, before in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _set_back(fixed, old, name)
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        _set_back(fixed, old, "terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        yield from _validate_gated(fixed, old)
    if not same(fixed, old, "PodSpec"):
        yield forbidden("spec", _FORBIDDEN + differ(old, fixed, "PodSpec"))


def _set_back(fixed: Obj, old: Obj, name: str) -> None:
    if old.get(name) is None:
        fixed.pop(name, None)
    else:
        fixed[name] = old[name]


def _validate_gated(fixed: Obj, old: Obj) -> Iterator[FieldError]:
    """As long as a pod is gated, where it may run can be narrowed."""
    selector, old_selector = fixed.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if selector != old_selector:
        if any(selector.get(name) != value for name, value in old_selector.items()):
            yield invalid("spec.nodeSelector", fixed.get("nodeSelector") or None, _ONLY_MORE)
        _set_back(fixed, old, "nodeSelector")
    affinity, old_affinity = fixed.get("affinity"), old.get("affinity")
    of_nodes, old_of_nodes = (affinity or {}).get("nodeAffinity"), (old_affinity or {}).get("nodeAffinity")
    if same(of_nodes, old_of_nodes, "*NodeAffinity"):
        return
    yield from _validate_node_affinity(of_nodes, old_of_nodes)
    if affinity is None:
        fixed["affinity"] = {"nodeAffinity": old_of_nodes}
    elif old_affinity is None and not affinity.get("podAffinity") and not affinity.get("podAntiAffinity"):
        del fixed["affinity"]
    else:
        fixed["affinity"] = {**affinity, "nodeAffinity": old_of_nodes}


def _validate_node_affinity(new: Obj | None, old: Obj | None) -> Iterator[FieldError]:
    old_terms: list[Any] = get(old, (REQUIRED, "nodeSelectorTerms"), [])
    if not old_terms:
        return
    new_terms: list[Any] = get(new, (REQUIRED, "nodeSelectorTerms"), [])
    at = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    if len(new_terms) != len(old_terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(at, told(new_terms or None, "[]NodeSelectorTerm"), why)
        return
    for position, (term, old_term) in enumerate(zip(new_terms, old_terms, strict=True)):
        if not _only_narrows(term, old_term):
            why = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{at}[{position}]", told(term, "NodeSelectorTerm"), why)


def _only_narrows(term: Obj, old: Obj) -> bool:
    """An empty term matches nothing, and anything added to it would match more."""
    fields = ("matchExpressions", "matchFields")
    if not any(old.get(field) for field in fields):
        return not any(term.get(field) for field in fields)
    for field in fields:
        before = old.get(field) or []
        if not same((term.get(field) or [])[: len(before)], before, "[]NodeSelectorRequirement"):
            return False
    return True
