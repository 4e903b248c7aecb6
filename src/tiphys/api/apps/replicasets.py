"""ReplicaSet: keep this many copies of this pod."""

from collections.abc import Iterable, Iterator

from tiphys.api import pod_template, unset_times
from tiphys.api.apps import workload
from tiphys.api.kind import AGE, SPEC, Column, Kind, Scale, Strategy
from tiphys.machinery.fields import FieldError
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import at_least_zero


def default(replica_set: Obj) -> None:
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    pod_template.default(spec.setdefault("template", {}))
    status = replica_set.setdefault("status", {})
    status.setdefault("replicas", 0)
    unset_times.show(status.get("conditions"), unset_times.CONDITION)


def prepare_create(replica_set: Obj) -> None:
    replica_set["status"] = {"replicas": 0}
    pod_template.prepare(replica_set["spec"]["template"])


def prepare_update(new: Obj, old: Obj) -> None:
    pod_template.prepare(new["spec"]["template"], old["spec"].get("template"))


def validate_create(replica_set: Obj) -> Iterator[FieldError]:
    yield from _validate(replica_set["spec"], None)


def _validate(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from workload.validate_selector(spec, "spec", "deployment")
    yield from workload.validate_template_of_replicas(spec, "spec", before)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate(new["spec"], old["spec"])
    yield from workload.validate_selector_kept(new, old)


COUNTERS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)


def validate_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    yield from workload.validate_counters(status, COUNTERS)
    bounded = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from workload.validate_not_above_replicas(status, bounded, "readyReplicas")


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    if old is None:
        yield from workload.name_warnings(new)
    if old is None or new["spec"] != old["spec"]:
        yield from workload.template_warnings(new["spec"]["template"], "spec.template")


REPLICASETS = Kind(
    group="apps",
    version="v1",
    kind="ReplicaSet",
    plural="replicasets",
    singular="replicaset",
    short=("rs",),
    categories=("all",),
    schema="io.k8s.api.apps.v1.ReplicaSet",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=SPEC),
    scale=Scale(),
    columns=(
        Column("Desired", workload.number("spec.replicas"), type="integer"),
        Column("Current", workload.number("status.replicas"), type="integer"),
        Column("Ready", workload.number("status.readyReplicas"), type="integer"),
        AGE,
        *pod_template.COLUMNS,
        workload.selector_column(),
    ),
)
