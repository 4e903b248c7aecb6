"""APIServices in tables, and their status."""

import pytest

from tiphys.api.apiregistration.apiservices import API_SERVICES


def available(status, reason=""):
    return {"status": {"conditions": [{"type": "Available", "status": status, "reason": reason}]}}


# v1.36.4 staging/src/k8s.io/kube-aggregator/pkg/registry/apiservice/etcd/etcd.go:100
@pytest.mark.parametrize(
    ("shown", "cells"),
    [
        ({"spec": {}}, ["Local", "Unknown"]),
        ({"spec": {"service": {"namespace": "n", "name": "s"}}, **available("True", "Passed")}, ["n/s", "True"]),
        ({"spec": {}, **available("False", "MissingEndpoints")}, ["Local", "False (MissingEndpoints)"]),
        ({"spec": {}, **available("False")}, ["Local", "False"]),
    ],
)
def test_columns(shown, cells):
    assert [column.value(shown, 0.0) for column in API_SERVICES.columns if callable(column.value)] == cells


def test_status():
    [problem] = API_SERVICES.validate_status(available("Perhaps"), {})
    assert str(problem) == (
        'status.conditions[0].status: Unsupported value: "Perhaps": supported values: "True", "False", "Unknown"'
    )


def test_what_is_served_here_is_available_since_its_creation():
    made = {"metadata": {"name": "v1.a.b", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}
    API_SERVICES.prepare_create(made)
    assert made["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
