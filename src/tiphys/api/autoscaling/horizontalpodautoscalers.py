"""HorizontalPodAutoscaler: follow these metrics with the number of copies."""

from collections.abc import Iterator

from tiphys.api import unset_times
from tiphys.api.autoscaling import metrics
from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.machinery import quantity
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero

DEFAULT_CPU_UTILIZATION = 80
LONGEST_PERIOD = 1800
LONGEST_STABILIZATION = 3600
SELECT_POLICIES = ("Disabled", "Max", "Min")
POLICY_TYPES = ("Percent", "Pods")


def cpu_utilization(percent: int) -> Obj:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def default(autoscaler: Obj) -> None:
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("scaleTargetRef", {})
    spec.setdefault("minReplicas", 1)
    spec.setdefault("maxReplicas", 0)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_utilization(DEFAULT_CPU_UTILIZATION)]
    if spec.get("behavior") is not None:
        _default_behavior(spec["behavior"])
    default_status(autoscaler)


def _default_behavior(behavior: Obj) -> None:
    up, down = behavior.setdefault("scaleUp", {}), behavior.setdefault("scaleDown", {})
    doubling = {"type": "Percent", "value": 100, "periodSeconds": 15}
    up.setdefault("stabilizationWindowSeconds", 0)
    up.setdefault("selectPolicy", "Max")
    up.setdefault("policies", [{"type": "Pods", "value": 4, "periodSeconds": 15}, dict(doubling)])
    down.setdefault("selectPolicy", "Max")
    down.setdefault("policies", [dict(doubling)])


def default_status(autoscaler: Obj) -> None:
    status = autoscaler.setdefault("status", {})
    status.setdefault("desiredReplicas", 0)
    status.setdefault("currentMetrics", None)
    unset_times.show(status.get("conditions"), unset_times.CONDITION)


def prepare_create(autoscaler: Obj) -> None:
    autoscaler["status"] = {"desiredReplicas": 0, "currentMetrics": None}


def validate_create(autoscaler: Obj) -> Iterator[FieldError]:
    yield from _validate(autoscaler["spec"], None)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate(new["spec"], old["spec"])


def _validate(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    # Scaling to zero is behind a gate that v1.36 ships switched off; what is at zero already may stay there.
    bound = 0 if before is not None and before.get("minReplicas") == 0 else 1
    if least is not None and least < bound:
        yield invalid("spec.minReplicas", least, f"must be greater than or equal to {bound}")
    if most == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    same_kind = before is not None and _kind_of(before) == _kind_of(spec)
    core_group = not same_kind and target.get("kind") == "ReplicationController"
    yield from metrics.validate_reference(target, "spec.scaleTargetRef", any_version=same_kind, core_group=core_group)
    was_invalid = before is not None and _has_invalid_object(before)
    yield from metrics.validate(spec.get("metrics") or [], "spec.metrics", least, was_invalid)
    for direction in ("scaleUp", "scaleDown"):
        rules = get(spec, ("behavior", direction))
        if rules is not None:
            yield from _validate_rules(rules, child("spec.behavior", direction))


def _kind_of(spec: Obj) -> tuple[str, str]:
    target = spec.get("scaleTargetRef") or {}
    return target.get("apiVersion", ""), target.get("kind", "")


def _has_invalid_object(spec: Obj) -> bool:
    described = [get(each, ("object", "describedObject")) for each in spec.get("metrics") or () if each.get("type") == "Object"]
    return any(each is not None and metrics.version_problem(each, core_group=True) for each in described)


def _validate_rules(rules: Obj, at: str) -> Iterator[FieldError]:
    window, where = rules.get("stabilizationWindowSeconds"), child(at, "stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(where, window, "must be greater than or equal to zero")
    if window is not None and window > LONGEST_STABILIZATION:
        yield invalid(where, window, f"must be less than or equal to {LONGEST_STABILIZATION}")
    select = rules.get("selectPolicy")
    if select is not None and select not in SELECT_POLICIES:
        yield not_supported(child(at, "selectPolicy"), select, SELECT_POLICIES)
    policies = rules.get("policies") or ()
    if not policies:
        yield required(child(at, "policies"), "must specify at least one Policy")
    for position, policy in enumerate(policies):
        yield from _validate_policy(policy, index(child(at, "policies"), position))
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity.parse(tolerance).sign() < 0:
        yield invalid(child(at, "tolerance"), tolerance, "must be greater than or equal to 0")


def _validate_policy(policy: Obj, at: str) -> Iterator[FieldError]:
    kind, value, period = policy.get("type", ""), policy.get("value", 0), policy.get("periodSeconds", 0)
    if kind not in POLICY_TYPES:
        yield not_supported(child(at, "type"), kind, POLICY_TYPES)
    if value <= 0:
        yield invalid(child(at, "value"), value, "must be greater than zero")
    if period <= 0:
        yield invalid(child(at, "periodSeconds"), period, "must be greater than zero")
    if period > LONGEST_PERIOD:
        yield invalid(child(at, "periodSeconds"), period, f"must be less than or equal to {LONGEST_PERIOD}")


def validate_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    for name in ("currentReplicas", "desiredReplicas"):
        yield from at_least_zero(get(new, ("status", name)), child("status", name))


def _reference(autoscaler: Obj, _now: float) -> str:
    target = get(autoscaler, ("spec", "scaleTargetRef")) or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _targets(autoscaler: Obj, _now: float) -> str:
    current = get(autoscaler, ("status", "currentMetrics")) or []
    return metrics.on_one_line(get(autoscaler, ("spec", "metrics")) or [], current)


def _least(autoscaler: Obj, _now: float) -> str:
    return str(get(autoscaler, ("spec", "minReplicas"), "<unset>"))


COLUMNS = (
    Column("Reference", _reference),
    Column("Targets", _targets),
    Column("MinPods", _least),
    Column("MaxPods", lambda each, _now: get(each, ("spec", "maxReplicas"), 0)),
    Column("Replicas", lambda each, _now: get(each, ("status", "currentReplicas"), 0)),
    AGE,
)

HORIZONTALPODAUTOSCALERS = Kind(
    group="autoscaling",
    version="v2",
    kind="HorizontalPodAutoscaler",
    plural="horizontalpodautoscalers",
    singular="horizontalpodautoscaler",
    short=("hpa",),
    categories=("all",),
    schema="io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    default=default,
    prepare_create=prepare_create,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    strategy=Strategy(status=True),
    columns=COLUMNS,
)
