"""DaemonSet: one copy of this pod on every node that fits."""

from collections.abc import Iterable, Iterator

from tiphys.api import pod_template, unset_times
from tiphys.api.apps import int_or_percent, workload
from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.machinery import selectors
from tiphys.machinery.fields import FieldError, child, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero

STRATEGIES = ("RollingUpdate", "OnDelete")
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
ALWAYS_TOLD = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def default(daemon_set: Obj) -> None:
    spec = daemon_set.setdefault("spec", {})
    pod_template.default(spec.setdefault("template", {}))
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    if TEMPLATE_GENERATION not in (daemon_set["metadata"].get("annotations") or {}):
        _set_template_generation(daemon_set, 0)
    status = daemon_set.setdefault("status", {})
    for name in ALWAYS_TOLD:
        status.setdefault(name, 0)
    unset_times.show(status.get("conditions"), unset_times.CONDITION)


def template_generation(daemon_set: Obj) -> int:
    """apps/v1 keeps extensions/v1beta1's spec.templateGeneration in an annotation."""
    told = get(daemon_set, ("metadata", "annotations", TEMPLATE_GENERATION), "0")
    return int(told) if told.lstrip("-").isdecimal() else 0


def _set_template_generation(daemon_set: Obj, generation: int) -> None:
    annotations = dict(daemon_set["metadata"].get("annotations") or {})
    daemon_set["metadata"]["annotations"] = annotations | {TEMPLATE_GENERATION: str(generation)}


def prepare_create(daemon_set: Obj) -> None:
    daemon_set["status"] = dict.fromkeys(ALWAYS_TOLD, 0)
    pod_template.prepare(daemon_set["spec"]["template"])
    _set_template_generation(daemon_set, max(1, template_generation(daemon_set)))


def prepare_update(new: Obj, old: Obj) -> None:
    pod_template.prepare(new["spec"]["template"], old["spec"].get("template"))
    changed = new["spec"]["template"] != old["spec"].get("template")
    _set_template_generation(new, template_generation(old) + (1 if changed else 0))


def prepare_status(new: Obj, old: Obj) -> None:
    """The number counts as a part of the spec, wherever it is written."""
    _set_template_generation(new, template_generation(old))


def validate_create(daemon_set: Obj) -> Iterator[FieldError]:
    yield from _validate(daemon_set, None)


def _validate(daemon_set: Obj, before: Obj | None) -> Iterator[FieldError]:
    spec = daemon_set["spec"]
    selector, template = spec.get("selector"), spec["template"]
    lenient = before is not None and selectors.has_invalid_label_value(before.get("selector"))
    yield from selectors.validate_label_selector(selector, "spec.selector", allow_invalid_values=lenient)
    picks = workload.compiled(selector)
    if picks is not None:
        yield from workload.validate_match(picks, template, "spec.template")
    if selector is not None and workload.is_empty(selector):
        yield invalid("spec.selector", told(selector, "Selector"), "empty selector is invalid for daemonset")
    yield from pod_template.validate(template, at="spec.template", old=(before or {}).get("template"))
    yield from workload.validate_runs_forever(template, "spec.template", "DaemonSet")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from at_least_zero(template_generation(daemon_set), "spec.templateGeneration")
    yield from _validate_update_strategy(spec["updateStrategy"], "spec.updateStrategy")
    yield from at_least_zero(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")


def _validate_update_strategy(strategy: Obj, at: str) -> Iterator[FieldError]:
    if strategy.get("type") not in STRATEGIES:
        yield not_supported(at, told(strategy, "DaemonSetUpdateStrategy"), STRATEGIES)
    elif strategy["type"] == "RollingUpdate":
        rolling = strategy.get("rollingUpdate")
        if rolling is None:
            yield required(child(at, "rollingUpdate"))
        else:
            yield from _validate_rolling_update(rolling, child(at, "rollingUpdate"))


def _validate_rolling_update(rolling: Obj, at: str) -> Iterator[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    at_unavailable, at_surge = child(at, "maxUnavailable"), child(at, "maxSurge")
    yield from int_or_percent.validate(unavailable, at_unavailable)
    yield from int_or_percent.validate(surge, at_surge)
    yield from int_or_percent.at_most_all(unavailable, at_unavailable)
    yield from int_or_percent.at_most_all(surge, at_surge)
    has_unavailable, has_surge = int_or_percent.amount(unavailable) != 0, int_or_percent.amount(surge) != 0
    if has_unavailable and has_surge:
        yield invalid(at_surge, surge, "may not be set when maxUnavailable is non-zero")
    elif not has_unavailable and not has_surge:
        yield required(at_unavailable, "cannot be 0 when maxSurge is 0")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from workload.validate_selector_kept(new, old)
    yield from _validate(new, old["spec"])


COUNTERS = (
    *ALWAYS_TOLD,
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


def validate_status(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from workload.validate_counters(new.get("status") or {}, COUNTERS)
    yield from workload.validate_collision_count(new, old)


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    if old is None or new["spec"]["template"] != old["spec"].get("template"):
        yield from workload.template_warnings(new["spec"]["template"], "spec.template")


def _node_selector(daemon_set: Obj, _now: float) -> str:
    wanted = get(daemon_set, ("spec", "template", "spec", "nodeSelector")) or {}
    return ",".join(f"{key}={value}" for key, value in sorted(wanted.items())) or "<none>"


DAEMONSETS = Kind(
    group="apps",
    version="v1",
    kind="DaemonSet",
    plural="daemonsets",
    singular="daemonset",
    short=("ds",),
    categories=("all",),
    schema="io.k8s.api.apps.v1.DaemonSet",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=SPEC),
    columns=(
        Column("Desired", workload.number("status.desiredNumberScheduled"), type="integer"),
        Column("Current", workload.number("status.currentNumberScheduled"), type="integer"),
        Column("Ready", workload.number("status.numberReady"), type="integer"),
        Column("Up-to-date", workload.number("status.updatedNumberScheduled"), type="integer"),
        Column("Available", workload.number("status.numberAvailable"), type="integer"),
        Column("Node Selector", _node_selector),
        AGE,
        *pod_template.COLUMNS,
        workload.selector_column(),
    ),
)
