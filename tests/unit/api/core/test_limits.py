"""LimitRanges, ResourceQuotas and the names of resources."""

import pytest

from tiphys.api import resources
from tiphys.api.core.limitranges import LIMIT_RANGES
from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS

NOT_STANDARD = "must be a standard resource type or fully qualified"
NOT_QUOTA = "must be a standard resource for quota"
NOT_CONTAINER = "must be a standard resource for containers"
NOT_EXTENDED = "doesn't follow extended resource name standard"


def details(problems):
    return [problem.detail for problem in problems]


# v1.36.4 pkg/apis/core/validation/validation.go:7567, :7581, :7552; pkg/apis/core/helper/helpers.go:219
@pytest.mark.parametrize(
    ("name", "anywhere", "quota", "container"),
    [
        ("cpu", [], [], []),
        ("hugepages-2Mi", [], [], []),
        ("requests.hugepages-2Mi", [], [], [NOT_CONTAINER]),
        ("storage", [], [NOT_QUOTA], [NOT_CONTAINER]),
        ("pods", [], [], [NOT_CONTAINER]),
        ("requests.storage", [], [], [NOT_CONTAINER]),
        ("x", [NOT_STANDARD], [NOT_STANDARD, NOT_QUOTA], [NOT_STANDARD, NOT_CONTAINER]),
        ("example.com/gpu", [], [], []),
        ("kubernetes.io/x", [], [], []),
        ("requests.example.com/gpu", [], [], [NOT_EXTENDED]),
        ("count/deployments.apps", [], [], []),
    ],
)
def test_where_a_resource_may_stand(name, anywhere, quota, container):
    assert details(resources.validate_name(name, "at")) == anywhere
    assert details(resources.validate_quota_name(name, "at")) == quota
    assert details(resources.validate_container_name(name, "at")) == container


# v1.36.4 pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem)
@pytest.mark.parametrize(
    ("item", "limit", "asked"),
    [
        ({"max": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"max": {"cpu": "2"}, "default": {"cpu": "1"}}, {"cpu": "1"}, {"cpu": "1"}),
        ({"min": {"cpu": "100m"}}, None, {"cpu": "100m"}),
        ({"min": {"cpu": "100m"}, "max": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}}, {"cpu": "1"}, {"cpu": "500m"}),
        ({"default": {"cpu": "0.1234567"}}, {"cpu": "124m"}, {"cpu": "124m"}),
    ],
)
def test_limits_and_requests_of_containers(item, limit, asked):
    obj = {"spec": {"limits": [{"type": "Container", **item}]}}
    LIMIT_RANGES.default(obj)
    filled = obj["spec"]["limits"][0]
    assert (filled.get("default"), filled.get("defaultRequest")) == (limit, asked)


def test_other_types_are_left_alone():
    # v1.36.4 pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem)
    obj = {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}
    LIMIT_RANGES.default(obj)
    assert obj["spec"]["limits"] == [{"type": "Pod", "max": {"cpu": "2"}}]


def test_quota_columns():
    # v1.36.4 pkg/printers/internalversion/printers.go:2877
    status = {"hard": {"pods": "10", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "3", "limits.cpu": "500m"}}
    request, limit, *_ = RESOURCE_QUOTAS.columns
    assert request.value({"status": status}, 0) == "cpu: 0/1, pods: 3/10"
    assert limit.value({"status": status}, 0) == "limits.cpu: 500m/2"


def test_scopes_of_a_quota_stay():
    # v1.36.4 pkg/apis/core/validation/validation.go:8235: their order does not count
    old = {"spec": {"scopes": ["BestEffort", "Terminating"]}}
    assert not list(RESOURCE_QUOTAS.validate_update({"spec": {"scopes": ["Terminating", "BestEffort"]}}, old))
    problems = list(RESOURCE_QUOTAS.validate_update({"spec": {}}, old))
    assert [str(problem) for problem in problems] == ["spec.scopes: Invalid value: null: field is immutable"]
