"""Which objects a quota with scopes counts."""

from collections.abc import Iterator

from tiphys.api.core.pods import facts
from tiphys.api.kind import Kind
from tiphys.api.quota import usage
from tiphys.machinery.tree import Obj, get


def counts(quota: Obj, kind: Kind, obj: Obj) -> bool:
    """Whether the quota limits something that the object uses, and all of its scopes hold the object."""
    hard = (quota.get("status") or {}).get("hard") or quota["spec"].get("hard") or {}
    return bool(usage.limited(kind, hard)) and all(_holds(scope, kind, obj) for scope in requirements(quota))


def requirements(quota: Obj) -> Iterator[Obj]:
    """The scopes of both fields in one form."""
    for name in quota["spec"].get("scopes") or ():
        yield {"scopeName": name, "operator": "Exists"}
    yield from get(quota, ("spec", "scopeSelector", "matchExpressions")) or ()


def _holds(requirement: Obj, kind: Kind, obj: Obj) -> bool:
    if kind.group:
        return False
    if kind.plural == "pods":
        return _holds_pod(requirement, obj)
    if kind.plural == "persistentvolumeclaims" and requirement["scopeName"] == "VolumeAttributesClass":
        names = {obj["spec"].get("volumeAttributesClassName"), *_class_names_in_status(obj)} - {None, ""}
        return any(_selects(requirement, str(name)) for name in names) or (not names and _selects(requirement, ""))
    return False


def _class_names_in_status(claim: Obj) -> Iterator[str | None]:
    status = claim.get("status") or {}
    yield status.get("currentVolumeAttributesClassName")
    yield (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")


def _holds_pod(requirement: Obj, pod: Obj) -> bool:
    scope = requirement["scopeName"]
    if scope in ("Terminating", "NotTerminating"):
        return bool(is_terminating(pod) == (scope == "Terminating"))
    if scope in ("BestEffort", "NotBestEffort"):
        return bool((facts.qos_class(pod) == "BestEffort") == (scope == "BestEffort"))
    if scope == "PriorityClass":
        return _selects(requirement, pod["spec"].get("priorityClassName") or "")
    return scope == "CrossNamespacePodAffinity" and _crosses_namespaces(pod)


def is_terminating(pod: Obj) -> bool:
    return pod["spec"].get("activeDeadlineSeconds") is not None


def _selects(requirement: Obj, value: str) -> bool:
    values = requirement.get("values") or ()
    operator = requirement.get("operator", "Exists")
    return {
        "Exists": bool(value),
        "DoesNotExist": not value,
        "In": value in values,
        "NotIn": value not in values,
    }.get(operator, False)


def _crosses_namespaces(pod: Obj) -> bool:
    affinity = pod["spec"].get("affinity") or {}
    for part in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(part) or {}
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms = [*(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())]
        terms += [each.get("podAffinityTerm") or {} for each in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False
