"""Ownership across /scale. Authority: v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go."""

from tiphys.machinery.patch.scale import to_parent, to_scale

PATHS = {"apps/v1": ("spec", "replicas")}
REPLICAS = {"f:spec": {"f:replicas": {}}}


def entry(manager, fields, operation="Update", api_version="apps/v1", **more):
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def test_shows_the_owners_of_the_replicas():
    both = {"f:spec": {"f:paused": {}, "f:replicas": {}}}
    entries = [
        entry("a", both, "Apply"),
        entry("b", {"f:spec": {"f:paused": {}}}),
        entry("c", both),
        entry("d", both, api_version="apps/v0"),
    ]
    assert to_scale(entries, PATHS) == [
        entry("a", REPLICAS, "Apply", "autoscaling/v1"),
        entry("c", REPLICAS, "Update", "autoscaling/v1"),
    ]


def test_a_scaling_takes_the_replicas():
    both = {"f:spec": {"f:paused": {}, "f:replicas": {}}}
    scaled = [entry("hpa", REPLICAS, api_version="autoscaling/v1", subresource="scale")]
    timeless = entry("hpa", REPLICAS, subresource="scale")
    del timeless["time"]
    after = to_parent([entry("a", both, "Apply"), entry("b", REPLICAS)], scaled, "apps/v1", PATHS)
    assert after == [entry("a", {"f:spec": {"f:paused": {}}}, "Apply"), timeless]


def test_an_applier_that_keeps_them_keeps_its_entry():
    before = [entry("a", REPLICAS, "Apply")]
    assert to_parent(before, to_scale(before, PATHS), "apps/v1", PATHS) == before
