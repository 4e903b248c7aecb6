"""Deployment: roll a set of pods from one template to the next."""

from collections.abc import Iterable, Iterator

from tiphys.api import pod_template, unset_times
from tiphys.api.apps import int_or_percent, workload
from tiphys.api.kind import AGE, SPEC, Column, Kind, Scale, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get, path
from tiphys.machinery.validators import at_least_zero

STRATEGIES = ("Recreate", "RollingUpdate")


def default(deployment: Obj) -> None:
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    pod_template.default(spec.setdefault("template", {}))
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    unset_times.show(deployment.setdefault("status", {}).get("conditions"), ("lastUpdateTime", "lastTransitionTime"))


def prepare_create(deployment: Obj) -> None:
    deployment["status"] = {}
    pod_template.prepare(deployment["spec"]["template"])


def prepare_update(new: Obj, old: Obj) -> None:
    pod_template.prepare(new["spec"]["template"], old["spec"].get("template"))


def validate_create(deployment: Obj) -> Iterator[FieldError]:
    yield from _validate(deployment["spec"], None)


def _validate(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    yield from workload.validate_selector(spec, "spec", "deployment")
    yield from workload.validate_template_of_replicas(spec, "spec", before)
    yield from _validate_strategy(spec["strategy"], "spec.strategy")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from at_least_zero(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from at_least_zero(deadline, "spec.progressDeadlineSeconds")
        if deadline <= spec.get("minReadySeconds", 0):
            yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _validate_strategy(strategy: Obj, at: str) -> Iterator[FieldError]:
    rolling, where = strategy.get("rollingUpdate"), child(at, "rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                yield forbidden(where, "may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            if rolling is None:
                yield required(where, "this should be defaulted and never be nil")
            else:
                yield from _validate_rolling_update(rolling, where)
        case _:
            yield not_supported(at, told(strategy, "DeploymentStrategy"), STRATEGIES)


def _validate_rolling_update(rolling: Obj, at: str) -> Iterator[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from int_or_percent.validate(unavailable, child(at, "maxUnavailable"))
    yield from int_or_percent.validate(surge, child(at, "maxSurge"))
    if int_or_percent.amount(unavailable) == 0 and int_or_percent.amount(surge) == 0:
        yield invalid(child(at, "maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0")
    yield from int_or_percent.at_most_all(unavailable, child(at, "maxUnavailable"))


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate(new["spec"], old["spec"])
    yield from workload.validate_selector_kept(new, old)


COUNTERS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)


def validate_status(new: Obj, old: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    yield from workload.validate_counters(status, COUNTERS)
    bounded = ("updatedReplicas", "readyReplicas", "availableReplicas")
    yield from workload.validate_not_above_replicas(status, bounded, "readyReplicas")
    yield from workload.validate_collision_count(new, old)


def prepare_status(new: Obj, old: Obj) -> None:
    """A status write may not touch labels: ReplicaSets are found by them."""
    labels = old["metadata"].get("labels")
    if labels is None:
        new["metadata"].pop("labels", None)
    else:
        new["metadata"]["labels"] = labels


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    if old is None:
        yield from workload.name_warnings(new)
    if old is None or new["spec"] != old["spec"]:
        yield from workload.template_warnings(new["spec"]["template"], "spec.template")


def _ready(deployment: Obj, _now: float) -> str:
    return f"{get(deployment, ('status', 'readyReplicas'), 0)}/{get(deployment, ('spec', 'replicas'), 0)}"


def _selector(deployment: Obj, _now: float) -> str:
    picks = workload.compiled(get(deployment, ("spec", "selector")))
    return "<invalid>" if picks is None else str(picks)


DEPLOYMENTS = Kind(
    group="apps",
    version="v1",
    kind="Deployment",
    plural="deployments",
    singular="deployment",
    short=("deploy",),
    categories=("all",),
    schema="io.k8s.api.apps.v1.Deployment",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=(*SPEC, path("metadata.annotations"))),
    scale=Scale(),
    columns=(
        Column("Ready", _ready, description="Number of the pod with ready state"),
        Column("Up-to-date", workload.number("status.updatedReplicas")),
        Column("Available", workload.number("status.availableReplicas")),
        AGE,
        *pod_template.COLUMNS,
        Column("Selector", _selector, wide=True),
    ),
)
