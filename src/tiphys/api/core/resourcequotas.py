"""ResourceQuota: how much a namespace may ask for and hold in all."""

from collections.abc import Iterable, Iterator
from typing import Any

from tiphys.api import resources
from tiphys.api.core.rounding import round_up
from tiphys.api.core.structs import spelled
from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.pod_template import amounts
from tiphys.machinery.fields import FieldError, Verbatim, child, invalid, key, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE

_POD_SCOPES = frozenset(("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"))
_SCOPES = _POD_SCOPES | {"BestEffort", "VolumeAttributesClass"}
_EXISTS_ONLY = _SCOPES - {"PriorityClass", "VolumeAttributesClass"}
_EXCLUSIVE = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_POD_RESOURCES = frozenset(
    ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"),
)
_CLAIM_RESOURCES = frozenset(("persistentvolumeclaims", "requests.storage"))
_COMPARED = ("cpu", "memory", "storage", "ephemeral-storage")


def default(quota: Obj) -> None:
    spec, status = quota.setdefault("spec", {}), quota.setdefault("status", {})
    for part in (spec.get("hard"), status.get("hard"), status.get("used")):
        round_up(part)


def prepare_create(quota: Obj) -> None:
    quota["status"] = {}


def validate(quota: Obj) -> Iterator[FieldError]:
    spec = quota.get("spec") or {}
    yield from _validate_hard(spec.get("hard"), "spec.hard")
    yield from _validate_scopes(spec)
    yield from _validate_scope_selector(spec)
    yield from _validate_status(quota)


def _validate_status(quota: Obj) -> Iterator[FieldError]:
    for part in ("hard", "used"):
        yield from _validate_hard(get(quota, ("status", part)), f"status.{part}")


def _validate_hard(hard: Obj | None, at: str) -> Iterator[FieldError]:
    for name, value in amounts.parsed(hard).items():
        yield from resources.validate_quota_name(name, key(at, name))
        yield from resources.validate_quantity(name, value, key(at, name))


def _applies(scope: str, resource: str) -> bool:
    if scope in _POD_SCOPES:
        return resource in _POD_RESOURCES
    if scope == "BestEffort":
        return resource == "pods"
    if scope == "VolumeAttributesClass":
        return resource in _CLAIM_RESOURCES
    return True


def _misapplied(scope: str, spec: Obj) -> Iterable[str]:
    limited = sorted(spec.get("hard") or ())
    return [name for name in limited if resources.is_standard_quota(name) and not _applies(scope, name)]


def _validate_scopes(spec: Obj) -> Iterator[FieldError]:
    scopes = spec.get("scopes") or []
    at = "spec.scopes"
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(at, scopes, "unsupported scope")
        for _ in _misapplied(scope, spec):
            yield invalid(at, scopes, "unsupported scope applied to resource")
    for pair in _EXCLUSIVE:
        if all(scope in scopes for scope in pair):
            yield invalid(at, scopes, "conflicting scopes")


def _validate_scope_selector(spec: Obj) -> Iterator[FieldError]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return
    at = "spec.scopeSelector.matchExpressions"
    named: set[str] = set()
    for expression in selector.get("matchExpressions") or ():
        scope = expression.get("scopeName", "")
        if scope not in _SCOPES:
            yield invalid(child(at, "scopeName"), scope, "unsupported scope")
        for _ in _misapplied(scope, spec):
            yield invalid(at, _go_selector(selector), "unsupported scope applied to resource")
        yield from _validate_expression(expression, scope, at)
        named.add(scope)
    for pair in _EXCLUSIVE:
        if named.issuperset(pair):
            yield invalid("spec.scopeSelector.matchExpressions", spec.get("scopes"), "conflicting scopes")


def _go_selector(selector: Obj) -> Verbatim:
    """The names of the fields in upstream's source: that is what its message shows."""
    expressions = [
        {"ScopeName": each.get("scopeName", ""), "Operator": each.get("operator", ""), "Values": each.get("values")}
        for each in selector.get("matchExpressions") or ()
    ]
    return spelled({"MatchExpressions": expressions})


def _validate_expression(expression: Obj, scope: str, at: str) -> Iterator[FieldError]:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if scope in _EXISTS_ONLY and operator != "Exists":
        told = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
            "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        yield invalid(child(at, "operator"), operator, told)
    if operator in ("In", "NotIn"):
        if not values:
            told = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(child(at, "values"), told)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            told = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid(child(at, "values"), values, told)
    else:
        yield invalid(child(at, "operator"), operator, "not a valid selector operator")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    scopes = get(new, ("spec", "scopes"))
    if set(scopes or ()) != set(get(old, ("spec", "scopes"), ())):
        yield invalid("spec.scopes", scopes, IMMUTABLE)


def validate_status(new: Obj, _: Obj) -> Iterator[FieldError]:
    if not new.get("metadata", {}).get("resourceVersion"):
        yield required("resourceVersion")
    yield from _validate_status(new)


def warnings(new: Obj, old: Obj | None) -> Iterator[str]:
    if old is not None:
        return
    hard = amounts.parsed(get(new, ("spec", "hard")))
    for name in _COMPARED:
        request_name, limit_name = f"requests.{name}", f"limits.{name}"
        if request_name not in hard and name in ("cpu", "memory"):
            request_name = name
        request, limit = hard.get(request_name), hard.get(limit_name)
        if request is not None and limit is not None and request > limit:
            yield f"ResourceQuota {request_name} ({request}) should be less than {limit_name} ({limit})"


def _usage(quota: Obj, *, limits: bool) -> str:
    hard, used = get(quota, ("status", "hard"), {}), get(quota, ("status", "used"), {})
    names = sorted(name for name in hard if name.startswith("limits.") == limits)
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


def _requests(quota: Obj, _: float) -> Any:
    return _usage(quota, limits=False)


def _limits(quota: Obj, _: float) -> Any:
    return _usage(quota, limits=True)


RESOURCE_QUOTAS = Kind(
    group="",
    version="v1",
    kind="ResourceQuota",
    plural="resourcequotas",
    singular="resourcequota",
    schema="io.k8s.api.core.v1.ResourceQuota",
    short=("quota",),
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, returns_deleted=True),
    columns=(
        Column("Request", _requests, description="What containers are guaranteed: used and allowed."),
        Column("Limit", _limits, description="What containers may use at the most: used and allowed."),
        AGE,
    ),
)
