"""The metrics an autoscaler follows: what may be asked for, and how a table shows them."""

from collections.abc import Callable, Iterator

from tiphys.api import resources
from tiphys.machinery import quantity
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1123_label, path_segment

SOURCES = ("ContainerResource", "External", "Object", "Pods", "Resource")
TARGETS = ("Utilization", "Value", "AverageValue")

FIELD_OF = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""In the order in which upstream looks at them."""

SHOWN = 2


def validate(metrics: list[Obj], at: str, min_replicas: int | None, any_version: bool) -> Iterator[FieldError]:
    for position, metric in enumerate(metrics):
        yield from _validate_metric(metric, index(at, position), any_version)
    wakes = any(metric.get("type") in ("Object", "External") for metric in metrics)
    if min_replicas == 0 and not wakes:
        yield forbidden(at, "must specify at least one Object or External metric to support scaling to zero replicas")


def _validate_metric(metric: Obj, at: str, any_version: bool) -> Iterator[FieldError]:
    kind = metric.get("type", "")
    if not kind:
        yield required(child(at, "type"), "must specify a metric source type")
    if kind not in SOURCES:
        yield not_supported(child(at, "type"), kind, SOURCES)
    present = [name for name in FIELD_OF.values() if metric.get(name) is not None]
    if present:
        # Only the first is looked at; the others are one too many anyway.
        yield from _validate_source(present[0], metric[present[0]], child(at, present[0]), any_version)
    expected = FIELD_OF.get(kind, "")
    if not expected:
        yield not_supported(child(at, "type"), kind, SOURCES)
    elif expected not in present:
        yield required(child(at, expected), "must populate information for the given metric source")
    if len(present) != 1:
        for name in present:
            if name != expected:
                yield forbidden(child(at, name), "must populate the given metric source only")


def _validate_source(name: str, source: Obj, at: str, any_version: bool) -> Iterator[FieldError]:
    if name == "object":
        where = child(at, "describedObject")
        yield from validate_reference(source.get("describedObject") or {}, where, any_version=any_version, core_group=True)
    if name in ("object", "external", "pods"):
        yield from _validate_identifier(source.get("metric") or {}, child(at, "metric"))
    else:
        yield from _validate_resource(source, at, in_container=name == "containerResource")
    target, where = source.get("target") or {}, child(at, "target")
    yield from _validate_target(target, where)
    yield from _CHOICES[name](target, where)


def _validate_resource(source: Obj, at: str, *, in_container: bool) -> Iterator[FieldError]:
    name = source.get("name", "")
    if not name:
        yield required(child(at, "name"), "must specify a resource name")
    elif in_container:
        yield from resources.validate_container_name(name, child(at, "name"))
    if not in_container:
        return
    container = source.get("container", "")
    if not container:
        yield required(child(at, "container"), "must specify a container")
    for problem in dns1123_label(container) if container else ():
        yield invalid(child(at, "container"), container, problem)


def _choose_object(target: Obj, at: str) -> Iterator[FieldError]:
    if target.get("value") is None and target.get("averageValue") is None:
        yield required(child(at, "averageValue"), "must set either a target value or averageValue")


def _choose_external(target: Obj, at: str) -> Iterator[FieldError]:
    value, average = target.get("value"), target.get("averageValue")
    if value is None and average is None:
        yield required(child(at, "averageValue"), "must set either a target value for metric or a per-pod target")
    if value is not None and average is not None:
        yield forbidden(child(at, "value"), "may not set both a target value for metric and a per-pod target")


def _choose_pods(target: Obj, at: str) -> Iterator[FieldError]:
    if target.get("averageValue") is None:
        yield required(child(at, "averageValue"), "must specify a positive target averageValue")


def _choose_resource(target: Obj, at: str) -> Iterator[FieldError]:
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        yield required(child(at, "averageUtilization"), "must set either a target raw value or a target utilization")
    if utilization is not None and average is not None:
        yield forbidden(child(at, "averageValue"), "may not set both a target raw value and a target utilization")


_CHOICES: dict[str, Callable[[Obj, str], Iterator[FieldError]]] = {
    "object": _choose_object,
    "external": _choose_external,
    "pods": _choose_pods,
    "resource": _choose_resource,
    "containerResource": _choose_resource,
}


def _validate_identifier(metric: Obj, at: str) -> Iterator[FieldError]:
    name = metric.get("name", "")
    if not name:
        yield required(child(at, "name"), "must specify a metric name")
    for problem in path_segment(name):
        yield invalid(child(at, "name"), name, problem)


def _validate_target(target: Obj, at: str) -> Iterator[FieldError]:
    kind = target.get("type", "")
    if not kind:
        yield required(child(at, "type"), "must specify a metric target type")
    if kind not in TARGETS:
        yield invalid(child(at, "type"), kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        value = target.get(name)
        if value is not None and quantity.parse(value).sign() != 1:
            yield invalid(child(at, name), value, "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid(child(at, "averageUtilization"), utilization, "must be greater than 0")


def validate_reference(ref: Obj, at: str, *, any_version: bool, core_group: bool) -> Iterator[FieldError]:
    """`any_version`: tolerate what is there; `core_group`: the group may be empty."""
    for name in ("kind", "name"):
        value = ref.get(name, "")
        if not value:
            yield required(child(at, name))
        for problem in path_segment(value):
            yield invalid(child(at, name), value, problem)
    problem = version_problem(ref, core_group=core_group)
    if problem and not any_version:
        yield invalid(child(at, "apiVersion"), ref.get("apiVersion", ""), problem)


def version_problem(ref: Obj, *, core_group: bool) -> str:
    version = ref.get("apiVersion", "")
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if not core_group and not version.partition("/")[1]:
        return "apiVersion must specify API group"
    return ""


def on_one_line(metrics: list[Obj], current: list[Obj]) -> str:
    """`cpu: 12%/80%, 3/10 + 1 more...`."""
    if not metrics:
        return "<none>"
    texts = [_shown(metric, current[at] if at < len(current) else {}) for at, metric in enumerate(metrics)]
    told = ", ".join(texts[:SHOWN])
    return f"{told} + {len(texts) - SHOWN} more..." if len(texts) > SHOWN else told


def _shown(metric: Obj, status: Obj) -> str:
    kind = metric.get("type", "")
    name = FIELD_OF.get(kind)
    if name is None:
        return "<unknown type>"
    source = metric.get(name) or {}
    target, now = source.get("target") or {}, get(status, (name, "current")) or {}
    if kind in ("Resource", "ContainerResource"):
        return f"{source.get('name', '')}: " + _shown_resource(target, now)
    if kind == "Pods":
        return f"{now.get('averageValue', '<unknown>')}/{target.get('averageValue', '0')}"
    if target.get("averageValue") is not None:
        return f"{now.get('averageValue', '<unknown>')}/{target['averageValue']} (avg)"
    return f"{now.get('value', '<unknown>')}/{target.get('value', '0')}"


def _shown_resource(target: Obj, now: Obj) -> str:
    if target.get("averageValue") is not None:
        return f"{now.get('averageValue', '<unknown>')}/{target['averageValue']}"
    utilization, wanted = now.get("averageUtilization"), target.get("averageUtilization")
    told = "<unknown>" if utilization is None else f"{utilization}%"
    return told + "/" + ("<auto>" if wanted is None else f"{wanted}%")
