"""ReplicationController: keep this many copies of this pod. ReplicaSets have taken its place."""

from collections.abc import Iterator
from typing import Any

from tiphys.api import pod_template, unset_times
from tiphys.api.core import cells
from tiphys.api.kind import AGE, SPEC, Column, Kind, Scale, Strategy
from tiphys.machinery.fields import FieldError, forbidden, invalid, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero, dns1123_label

_COUNTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def default(controller: Obj) -> None:
    spec, status = controller.setdefault("spec", {}), controller.setdefault("status", {})
    status.setdefault("replicas", 0)
    unset_times.show(status.get("conditions"), unset_times.CONDITION)
    if spec.get("replicas") is None:
        spec["replicas"] = 1
    template = spec.get("template")
    if template is None:
        return
    pod_template.default(template)
    labels = get(template, ("metadata", "labels"))
    if labels is not None:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        meta = controller.setdefault("metadata", {})
        if not meta.get("labels"):
            meta["labels"] = dict(labels)


def prepare_create(controller: Obj) -> None:
    controller["status"] = {"replicas": 0}
    pod_template.prepare(_template(controller))


def prepare_update(new: Obj, old: Obj) -> None:
    pod_template.prepare(_template(new), _template(old))


def _template(controller: Obj) -> Obj:
    template: Obj = get(controller, ("spec", "template"), {})
    return template


def validate(controller: Obj) -> Iterator[FieldError]:
    spec = controller.get("spec") or {}
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    if not spec.get("selector"):
        yield required("spec.selector")
    if spec.get("replicas") is None:
        yield required("spec.replicas")
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    template = spec.get("template")
    if template is None:
        yield required("spec.template")
        return
    labels: dict[str, str] = get(template, ("metadata", "labels"), {})
    if any(labels.get(name) != value for name, value in (spec.get("selector") or {}).items()):
        told = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels or None, told)
    if get(template, ("spec", "activeDeadlineSeconds")) is not None:
        told = "activeDeadlineSeconds in ReplicationController is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", told)


def validate_create(controller: Obj) -> Iterator[FieldError]:
    if get(controller, ("spec", "template")) is not None:
        yield from pod_template.validate(_template(controller), restart_policy="Always")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if get(new, ("spec", "template")) is not None:
        yield from pod_template.validate(_template(new), restart_policy="Always", old=_template(old))


def validate_status(new: Obj, _: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    for part in ("replicas", *_COUNTS, "observedGeneration"):
        yield from at_least_zero(status.get(part), f"status.{part}")
    for part in _COUNTS:
        if status.get(part, 0) > status.get("replicas", 0):
            yield invalid(f"status.{part}", status.get(part, 0), "cannot be greater than status.replicas")
    if status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        yield invalid("status.availableReplicas", status.get("availableReplicas", 0), "cannot be greater than readyReplicas")


def warnings(new: Obj, old: Obj | None) -> Iterator[str]:
    name = new.get("metadata", {}).get("name", "")
    if old is None and (problems := dns1123_label(name)):
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(problems)}]"
        )
    # An update that changes the spec tells of the old template, as upstream does.
    template = _template(new) if old is None else _template(old)
    if old is None or new.get("spec") != old.get("spec"):
        yield from pod_template.warnings(template.get("spec") or {}, template.get("metadata") or {}, "spec.template")


def _count(*path: str) -> Any:
    def cell(controller: Obj, _: float) -> int:
        return int(get(controller, path, 0))

    return cell


def _selector(controller: Obj, _: float) -> str:
    return cells.labels(get(controller, ("spec", "selector")))


def _replicas(controller: Obj) -> str:
    return str(get(controller, ("status", "replicas"), 0))


REPLICATION_CONTROLLERS = Kind(
    group="",
    version="v1",
    kind="ReplicationController",
    plural="replicationcontrollers",
    singular="replicationcontroller",
    schema="io.k8s.api.core.v1.ReplicationController",
    short=("rc",),
    categories=("all",),
    storage_prefix="controllers",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=SPEC, propagation="orphan"),
    scale=Scale(),
    selectable=("status.replicas",),
    field_of={"status.replicas": _replicas},
    columns=(
        Column("Desired", _count("spec", "replicas"), type="integer", description="Copies asked for."),
        Column("Current", _count("status", "replicas"), type="integer", description="Copies there are."),
        Column("Ready", _count("status", "readyReplicas"), type="integer", description="Copies that are ready."),
        AGE,
        *pod_template.COLUMNS,
        Column("Selector", _selector, wide=True),
    ),
)
