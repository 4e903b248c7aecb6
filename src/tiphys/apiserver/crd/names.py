"""Which names a definition gets, and what its conditions say. Core.

Two definitions of a group may not claim the same resource or kind: whoever was first keeps it (upstream:
apiextensions-apiserver/pkg/controller/status/naming_controller.go).
"""

from collections.abc import Iterable

from tiphys.api.apiextensions.conditions import condition, is_true, with_condition
from tiphys.api.apiextensions.customresourcedefinitions import APPROVED, approval, is_community_group
from tiphys.machinery import meta
from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj, get

_RESOURCES = ("plural", "singular", "shortNames")


def status_of(definition: Obj, others: Iterable[Obj], now: float) -> Obj:
    """The status that the definition has to have; `others` are those of its group."""
    status: Obj = definition.get("status") or {}
    wanted = get(definition, ("spec", "names"), {})
    if wanted != status.get("acceptedNames"):
        status = _named(status, wanted, list(others), now)
    return _with_approval(status, definition, now)


def _named(status: Obj, wanted: Obj, others: list[Obj], now: float) -> Obj:
    had: Obj = status.get("acceptedNames") or {}
    taken = [get(other, ("status", "acceptedNames"), {}) for other in others]
    resources = {name for names in taken for field in _RESOURCES for name in _each(names, field)}
    kinds = {name for names in taken for field in ("kind", "listKind") for name in _each(names, field)}
    accepted, conflict = dict(had), ("", "")
    for field in ("plural", "singular", "shortNames", "kind", "listKind"):
        used = resources if field in _RESOURCES else kinds
        fresh = [name for name in _each(wanted, field) if name not in _each(had, field)]
        problems = [f"{quote(name)} is already in use" for name in fresh if name in used]
        if problems:
            conflict = f"{field[0].upper()}{field[1:]}Conflict", _aggregate(problems)
        else:
            _take(accepted, wanted, field)
    _take(accepted, wanted, "categories")
    status = {**status, "acceptedNames": accepted}
    if conflict[0]:
        status = with_condition(status, "NamesAccepted", "False", *conflict, now)
        if not is_true({"status": status}, "Established"):
            status = with_condition(status, "Established", "False", "NotAccepted", "not all names are accepted", now)
        return status
    status = with_condition(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    if not is_true({"status": status}, "Established"):
        told = "the initial names have been accepted"
        status = with_condition(status, "Established", "True", "InitialNamesAccepted", told, now)
    return status


def _each(names: Obj, field: str) -> list[str]:
    value = names.get(field)
    return value if isinstance(value, list) else [value] if value else []


def _take(accepted: Obj, wanted: Obj, field: str) -> None:
    if wanted.get(field):
        accepted[field] = wanted[field]
    else:
        accepted.pop(field, None)


def _aggregate(problems: list[str]) -> str:
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


_APPROVALS = {
    "approved": ("True", "ApprovedAnnotation", "approved in {annotation}"),
    "bypassed": ("False", "UnapprovedAnnotation", "not approved: {shown}"),
    "missing": ("False", "MissingAnnotation", "protected groups must have approval annotation {name}, {more}"),
    "invalid": (
        "False",
        "InvalidAnnotation",
        "protected groups must have approval annotation {name} with either a URL or a reason starting with "
        '"unapproved", {more}',
    ),
}
_MORE = "see https://github.com/kubernetes/enhancements/pull/1111"


def _with_approval(status: Obj, definition: Obj, now: float) -> Obj:
    """Groups of the community say of their definitions who has approved them."""
    if not is_community_group(get(definition, ("spec", "group"), "")):
        return status
    annotation = meta.annotations(definition).get(APPROVED, "")
    state, reason, message = _APPROVALS[approval(annotation)]
    told = message.format(annotation=annotation, shown=quote(annotation), name=quote(APPROVED), more=_MORE)
    old = condition({"status": status}, "KubernetesAPIApprovalPolicyConformant")
    if old is not None and (old.get("status"), old.get("reason"), old.get("message")) == (state, reason, told):
        return status
    return with_condition(status, "KubernetesAPIApprovalPolicyConformant", state, reason, told, now)
