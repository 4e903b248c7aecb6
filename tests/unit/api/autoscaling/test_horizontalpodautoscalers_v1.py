import json

import pytest

from tiphys.api.autoscaling import metrics_v1
from tiphys.api.autoscaling.horizontalpodautoscalers import HORIZONTALPODAUTOSCALERS, cpu_utilization
from tiphys.api.autoscaling.horizontalpodautoscalers_v1 import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    from_stored,
    to_stored,
)

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def v2(spec=None, status=None, annotations=None):
    meta = {"name": "h"} | ({"annotations": annotations} if annotations else {})
    obj = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta}
    obj["spec"] = {"scaleTargetRef": TARGET, "maxReplicas": 3} | (spec or {})
    obj["status"] = status or {}
    HORIZONTALPODAUTOSCALERS.default(obj)
    return obj


SPECS = [
    {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
    {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "3"}}},
    {
        "type": "Object",
        "object": {
            "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "s"},
            "metric": {"name": "r", "selector": {"matchLabels": {"a": "b"}}},
            "target": {"type": "AverageValue", "averageValue": "5"},
        },
    },
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 30}}},
    {
        "type": "ContainerResource",
        "containerResource": {"name": "cpu", "container": "c", "target": {"type": "AverageValue", "averageValue": "1"}},
    },
]


# v1.36.4 pkg/apis/autoscaling/v1/conversion.go: each metric survives the way to version 1 and back
@pytest.mark.parametrize("metric", SPECS, ids=lambda metric: metric["type"])
def test_metrics_survive_version_1(metric):
    assert metrics_v1.spec_to_v2(metrics_v1.spec_from_v2(metric)) == metric


def test_what_version_1_cannot_say_stands_in_annotations():
    behavior = {"scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 30}]}}
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "r"}
    current = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "1"}}}
    status = {"desiredReplicas": 2, "currentMetrics": [current], "conditions": [condition]}
    stored = v2({"metrics": [*SPECS, cpu_utilization(50)], "behavior": behavior}, status, {"own": "note"})
    told = from_stored(stored)
    assert told["apiVersion"] == "autoscaling/v1"
    assert told["spec"] == {
        "scaleTargetRef": TARGET,
        "maxReplicas": 3,
        "minReplicas": 1,
        "targetCPUUtilizationPercentage": 50,
    }
    assert told["status"] == {"currentReplicas": 0, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 40}
    annotations = told["metadata"]["annotations"]
    assert set(annotations) == {"own", METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS}
    assert [each["type"] for each in json.loads(annotations[METRICS])] == [each["type"] for each in SPECS]
    assert to_stored(told) == stored


# v1.36.4 pkg/apis/autoscaling/v1/conversion.go:428: no metric at all means 80 % of the CPU
def test_cpu_is_followed_where_nothing_else_is():
    obj = {"metadata": {"name": "h"}, "kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": TARGET, "maxReplicas": 2}}
    assert to_stored(obj)["spec"]["metrics"] == [cpu_utilization(80)]


# v1.36.4 pkg/apis/autoscaling/v1/conversion.go:388: an annotation that cannot be read is ignored
@pytest.mark.parametrize("text", ["zzz", "{}", "3"])
def test_unreadable_annotations_are_ignored(text):
    obj = {"metadata": {"name": "h", "annotations": {METRICS: text, "own": "note"}}, "spec": {}, "status": {}}
    stored = to_stored(obj)
    assert stored["spec"]["metrics"] == [cpu_utilization(80)]
    assert stored["metadata"]["annotations"] == {"own": "note"}
