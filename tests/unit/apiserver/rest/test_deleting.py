"""What a DELETE does. Authorities: v1.36.4 apiserver/pkg/registry/rest/delete.go, registry/generic/registry/store.go."""

import pytest

from tiphys.api.kind import Kind, Strategy
from tiphys.apiserver.rest import deleting
from tiphys.machinery import times
from tiphys.machinery.errors import ApiError

NOW = 1_700_000_000.0
PLAIN = Kind("", "v1", "ConfigMap", "configmaps", "x")
PODS = Kind("", "v1", "Pod", "pods", "x", strategy=Strategy(graceful=True))
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", "x", namespaced=False, strategy=Strategy(spec_finalizers=True))


def obj(**metadata):
    return {"metadata": {"name": "a", "uid": "u", "resourceVersion": "7", **metadata}, "spec": {}}


def running_pod(**metadata):
    return {**obj(**metadata), "spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Running"}}


def test_an_object_without_finalizers_goes_at_once():
    assert deleting.decide(PLAIN, obj(), {}, NOW) is None


def test_finalizers_hold_it():
    new = deleting.decide(PLAIN, obj(finalizers=["a/b"], generation=3), {}, NOW)
    assert new["metadata"]["deletionTimestamp"] == times.rfc3339(NOW)
    assert new["metadata"]["deletionGracePeriodSeconds"] == 0
    assert new["metadata"]["generation"] == 4


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_propagation_policies_are_finalizers(policy, finalizer):
    new = deleting.decide(PLAIN, obj(), {"propagationPolicy": policy}, NOW)
    assert new["metadata"]["finalizers"] == [finalizer]


def test_background_takes_the_collectors_finalizers_off():
    assert deleting.decide(PLAIN, obj(finalizers=["foregroundDeletion"]), {"propagationPolicy": "Background"}, NOW) is None


def test_a_running_pod_is_given_its_grace():
    new = deleting.decide(PODS, running_pod(), {}, NOW)
    assert new["metadata"]["deletionGracePeriodSeconds"] == 30
    assert new["metadata"]["deletionTimestamp"] == times.rfc3339(NOW + 30)


def test_a_pod_that_no_node_runs_goes_at_once():
    pod = running_pod()
    del pod["spec"]["nodeName"]
    assert deleting.decide(PODS, pod, {}, NOW) is None
    assert deleting.decide(PODS, {**running_pod(), "status": {"phase": "Succeeded"}}, {}, NOW) is None
    assert deleting.decide(PODS, running_pod(), {"gracePeriodSeconds": 0}, NOW) is None


def test_a_second_delete_only_shortens():
    pod = running_pod(deletionTimestamp=times.rfc3339(NOW + 30), deletionGracePeriodSeconds=30)
    assert deleting.decide(PODS, pod, {}, NOW + 5) is pod
    assert deleting.decide(PODS, pod, {"gracePeriodSeconds": 60}, NOW + 5) is pod
    shorter = deleting.decide(PODS, pod, {"gracePeriodSeconds": 10}, NOW + 5)
    assert shorter["metadata"]["deletionTimestamp"] == times.rfc3339(NOW + 10)
    assert deleting.decide(PODS, pod, {"gracePeriodSeconds": 0}, NOW + 5) is None


def test_a_namespace_turns_to_terminating_first():
    namespace = {**obj(), "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    new = deleting.decide(NAMESPACES, namespace, {}, NOW)
    assert new["status"]["phase"] == "Terminating"
    assert namespace["status"]["phase"] == "Active"
    assert deleting.decide(NAMESPACES, new, {}, NOW) is new
    emptied = {**new, "spec": {}}
    assert deleting.decide(NAMESPACES, emptied, {}, NOW) is None


@pytest.mark.parametrize("preconditions", [{"uid": "other"}, {"resourceVersion": "8"}])
def test_preconditions(preconditions):
    with pytest.raises(ApiError) as caught:
        deleting.check_preconditions(PLAIN, obj(), {"preconditions": preconditions})
    assert caught.value.code == 409
