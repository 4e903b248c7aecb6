"""HorizontalPodAutoscaler in version 1, which knows the CPU only: what it cannot say stands in annotations."""

import dataclasses
import json
from typing import Any

import orjson

from tiphys.api.autoscaling import metrics_v1
from tiphys.api.autoscaling.horizontalpodautoscalers import (
    DEFAULT_CPU_UTILIZATION,
    cpu_utilization,
)
from tiphys.api.autoscaling.horizontalpodautoscalers import (
    HORIZONTALPODAUTOSCALERS as V2,
)
from tiphys.api.kind import Column, Conversion, Problems
from tiphys.machinery.tree import Obj, get

_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS = _PREFIX + "metrics"
BEHAVIOR = _PREFIX + "behavior"
CURRENT_METRICS = _PREFIX + "current-metrics"
CONDITIONS = _PREFIX + "conditions"
ROUND_TRIP = (METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS, _PREFIX + "scale-down-tolerance", _PREFIX + "scale-up-tolerance")

_SHARED_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_SHARED_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def default(autoscaler: Obj) -> None:
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("scaleTargetRef", {})
    spec.setdefault("minReplicas", 1)
    spec.setdefault("maxReplicas", 0)
    status = autoscaler.setdefault("status", {})
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)


def to_stored(v1: Obj) -> Obj:
    spec, status = v1.get("spec") or {}, v1.get("status") or {}
    annotations = get(v1, ("metadata", "annotations")) or {}
    new_spec = {name: spec[name] for name in _SHARED_SPEC if name in spec}
    percent = spec.get("targetCPUUtilizationPercentage")
    cpu = [cpu_utilization(percent)] if percent is not None else []
    others = _decode(annotations.get(METRICS), list)
    listed = [metrics_v1.spec_to_v2(each) for each in others or ()] + cpu
    new_spec["metrics"] = listed or [cpu_utilization(DEFAULT_CPU_UTILIZATION)]
    behavior = metrics_v1.behavior_from_internal(_decode(annotations.get(BEHAVIOR), dict))
    if behavior:
        new_spec["behavior"] = behavior
    stored = _rebuilt(v1, "autoscaling/v2", new_spec, _status_to_stored(status, annotations))
    V2.default(stored)
    return stored


def _status_to_stored(status: Obj, annotations: Obj) -> Obj:
    stored = {name: status[name] for name in _SHARED_STATUS if name in status}
    stored["currentMetrics"] = None
    percent = status.get("currentCPUUtilizationPercentage")
    if percent is not None:
        stored["currentMetrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percent}}},
        ]
    current = _decode(annotations.get(CURRENT_METRICS), list)
    if current is not None:
        stored["currentMetrics"] = [metrics_v1.status_to_v2(each) for each in current]
    conditions = _decode(annotations.get(CONDITIONS), list)
    if conditions is not None:
        stored["conditions"] = conditions
    if not stored.get("currentReplicas"):
        stored.pop("currentReplicas", None)
    return stored


def from_stored(v2: Obj) -> Obj:
    spec, status = v2.get("spec") or {}, v2.get("status") or {}
    new_spec = {name: spec[name] for name in _SHARED_SPEC if name in spec}
    listed = spec.get("metrics") or []
    cpu = [each for each in listed if _is_cpu_utilization(each)]
    if cpu:
        new_spec["targetCPUUtilizationPercentage"] = cpu[0]["resource"]["target"]["averageUtilization"]
    new_status = {name: status[name] for name in _SHARED_STATUS if name in status}
    new_status.setdefault("currentReplicas", 0)
    new_status.setdefault("desiredReplicas", 0)
    current = status.get("currentMetrics") or []
    for each in current:
        percent = get(each, ("resource", "current", "averageUtilization"))
        if each.get("type") == "Resource" and get(each, ("resource", "name")) == "cpu" and percent is not None:
            new_status["currentCPUUtilizationPercentage"] = percent
    v1 = _rebuilt(v2, "autoscaling/v1", new_spec, new_status)
    kept: dict[str, Any] = {
        METRICS: [metrics_v1.spec_from_v2(each) for each in listed if not _is_cpu_utilization(each)],
        CURRENT_METRICS: [metrics_v1.status_from_v2(each) for each in current],
        BEHAVIOR: metrics_v1.behavior_to_internal(spec.get("behavior")),
        CONDITIONS: [metrics_v1.condition_from_v2(each) for each in status.get("conditions") or ()],
    }
    told = {name: _encode(value) for name, value in kept.items() if value}
    if told:
        v1["metadata"] = v1["metadata"] | {"annotations": (v1["metadata"].get("annotations") or {}) | told}
    return v1


def _is_cpu_utilization(metric: Obj) -> bool:
    resource = metric.get("resource") or {}
    wanted = get(resource, ("target", "averageUtilization"))
    return metric.get("type") == "Resource" and resource.get("name") == "cpu" and wanted is not None


def _rebuilt(old: Obj, api_version: str, spec: Obj, status: Obj) -> Obj:
    """Both ways, annotations that carry the other version's fields are dropped first: they are written anew or not at all."""
    meta = old.get("metadata") or {}
    annotations = meta.get("annotations")
    if annotations and any(name in annotations for name in ROUND_TRIP):
        meta = dict(meta)
        kept = {name: value for name, value in annotations.items() if name not in ROUND_TRIP}
        meta["annotations"] = kept
        if not kept:
            del meta["annotations"]
    return old | {"apiVersion": api_version, "metadata": meta, "spec": spec, "status": status}


def _decode(text: str | None, kind: type) -> Any:
    """What cannot be read is ignored, as upstream does."""
    if text is None:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, kind) else None


def _encode(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _of_stored(column: Column) -> Column:
    """Both versions print the same table."""
    read = column.value
    if not callable(read):
        return column
    return dataclasses.replace(column, value=lambda autoscaler, now: read(to_stored(autoscaler), now))


def validate_create(autoscaler: Obj) -> Problems:
    return V2.validate_create(to_stored(autoscaler))


def validate_update(new: Obj, old: Obj) -> Problems:
    return V2.validate_update(to_stored(new), to_stored(old))


def validate_status(new: Obj, old: Obj) -> Problems:
    return V2.validate_status(to_stored(new), to_stored(old))


HORIZONTALPODAUTOSCALERS_V1 = dataclasses.replace(
    V2,
    version="v1",
    schema="io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler",
    stored_as=V2,
    conversion=Conversion(to_stored, from_stored),
    default=default,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    columns=tuple(_of_stored(column) for column in V2.columns),
)
