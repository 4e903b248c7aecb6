"""What to write where a bootstrap object is there already: what is missing is added, what somebody added stays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tiphys.apiserver.authz.escalation import missing
from tiphys.apiserver.bootstrap import flow_control, rbac_policy
from tiphys.machinery.tree import Obj, get


@dataclass(frozen=True, slots=True)
class Change:
    """`recreate`: delete the existing one first, because the field that differs cannot be changed."""

    action: Literal["create", "update", "recreate"]
    obj: Obj


def role_change(expected: Obj, existing: Obj | None) -> Change | None:
    """For a Role or ClusterRole."""
    if existing is None:
        return Change("create", expected)
    if _is_protected(existing):
        return None
    revised = _with_metadata(expected, existing)
    lacking = missing(existing.get("rules") or (), expected.get("rules") or ())
    if lacking:
        revised["rules"] = [*(existing.get("rules") or ()), *lacking]
    wanted, has = expected.get("aggregationRule"), existing.get("aggregationRule")
    if wanted is None:
        revised.pop("aggregationRule", None)
    else:
        selectors = list((has or {}).get("clusterRoleSelectors") or ())
        added = [each for each in wanted["clusterRoleSelectors"] if each not in selectors]
        if added:
            revised["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *added]}
    return _update_if_different(revised, existing)


def binding_change(expected: Obj, existing: Obj | None) -> Change | None:
    """For a RoleBinding or ClusterRoleBinding."""
    if existing is None:
        return Change("create", expected)
    if expected["roleRef"] != existing.get("roleRef"):
        return Change("recreate", expected)
    if _is_protected(existing):
        return None
    revised = _with_metadata(expected, existing)
    subjects = existing.get("subjects") or ()
    added = [each for each in expected.get("subjects") or () if each not in subjects]
    if added:
        revised["subjects"] = [*subjects, *added]
    return _update_if_different(revised, existing)


def flow_control_change(expected: Obj, existing: Obj | None) -> Change | None:
    """For a FlowSchema or PriorityLevelConfiguration: suggestions are kept up to date while nobody has changed them."""
    if existing is None:
        return Change("create", expected)
    metadata = existing["metadata"]
    annotation = get(metadata, ("annotations", flow_control.AUTOUPDATE))
    said = _BOOLEANS.get(annotation or "")
    update = flow_control.is_mandatory(expected) or (metadata.get("generation") == 1 if said is None else said)
    spec = existing.get("spec")
    if update and not _same_spec(expected, existing):
        spec = _revised_spec(expected, existing)
    elif said is update:
        return None
    annotations = metadata.get("annotations") or {}
    if said is not update:
        annotations = {**annotations, flow_control.AUTOUPDATE: "true" if update else "false"}
    return Change("update", {**existing, "metadata": {**metadata, "annotations": annotations}, "spec": spec})


_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _revised_spec(expected: Obj, existing: Obj) -> Obj:
    """What somebody set for the exempt level stays: it is the one mandatory part that is theirs."""
    spec: Obj = expected["spec"]
    exempt = get(existing, ("spec", "exempt"))
    if expected["kind"] == "PriorityLevelConfiguration" and expected["metadata"]["name"] == "exempt" and exempt:
        return {**spec, "exempt": exempt}
    return spec


def _same_spec(expected: Obj, existing: Obj) -> bool:
    return bool(_revised_spec(expected, existing) == existing.get("spec"))


def _is_protected(existing: Obj) -> bool:
    return bool(get(existing, ("metadata", "annotations", rbac_policy.AUTOUPDATE)) == "false")


def _merged(expected: Mapping[str, str] | None, existing: Mapping[str, str] | None) -> dict[str, str]:
    return {**(expected or {}), **(existing or {})}


def _with_metadata(expected: Obj, existing: Obj) -> Obj:
    metadata = dict(existing["metadata"])
    for field in ("labels", "annotations"):
        merged = _merged(expected["metadata"].get(field), metadata.get(field))
        if merged:
            metadata[field] = merged
    return {**existing, "metadata": metadata}


def _update_if_different(revised: Obj, existing: Obj) -> Change | None:
    return None if revised == existing else Change("update", revised)


def missing_objects(expected: Sequence[Obj], present: Mapping[str, Obj]) -> list[Obj]:
    """Those of the plain objects (namespaces, priority classes) that are not there; `present` by name."""
    return [obj for obj in expected if obj["metadata"]["name"] not in present]
