"""What is read off a pod: resources, QoS class, readiness, and which pods of a set go first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.pods.deletion import deletion_order
from tiphys.machinery import tree
from tiphys.machinery.tree import Obj

NOW = 1_800_000_000.0


def asking(name: str = "c", limits: Obj | None = None, restart: str = "", **requests: str) -> Obj:
    resources: Obj = {"requests": requests} if requests else {}
    if limits:
        resources["limits"] = limits
    container: Obj = {"name": name, "image": "x", "resources": resources}
    if restart:
        container["restartPolicy"] = restart
    return container


def pod(*containers: Obj, **spec: Any) -> Obj:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers or (asking(),)), **spec}}


FULL = {"cpu": "1", "memory": "1Gi"}


# v1.36.4 pkg/apis/core/helper/qos/qos.go: ComputePodQOS
@pytest.mark.parametrize(
    ("given_pod", "expected"),
    [
        (pod(), "BestEffort"),
        (pod(asking(cpu="0")), "BestEffort"),
        (pod(asking(**{"ephemeral-storage": "1Gi"})), "BestEffort"),
        (pod(asking(cpu="1")), "Burstable"),
        (pod(asking(limits=FULL, cpu="1", memory="1Gi")), "Guaranteed"),
        (pod(asking(limits=FULL, cpu="1000m", memory="1024Mi")), "Guaranteed"),
        (pod(asking(limits=FULL, cpu="500m", memory="1Gi")), "Burstable"),
        (pod(asking(limits={"cpu": "1"}, cpu="1")), "Burstable"),
        (pod(asking(limits=FULL, cpu="1", memory="1Gi"), asking("d")), "Burstable"),
        (pod(asking(limits=FULL, cpu="1", memory="1Gi"), initContainers=[asking("i")]), "Burstable"),
        (pod(resources={"limits": FULL, "requests": FULL}), "Guaranteed"),
        (pod(resources={"requests": FULL}), "Burstable"),
        (pod(resources={"limits": FULL}), "Burstable"),
        (pod(asking(limits=FULL, cpu="1", memory="1Gi"), resources={}), "BestEffort"),
    ],
)
def test_qos_class(given_pod: Obj, expected: str) -> None:
    assert facts.qos_class(given_pod) == expected


def requested(given_pod: Obj, **kwargs: bool) -> dict[str, str]:
    return {name: str(amount) for name, amount in facts.requests(given_pod, **kwargs).items()}


# v1.36.4 staging/src/k8s.io/component-helpers/resource/helpers.go: PodRequests; KEP-753
@pytest.mark.parametrize(
    ("given_pod", "expected"),
    [
        (pod(asking(cpu="100m"), asking("d", cpu="1", memory="1Gi")), {"cpu": "1100m", "memory": "1Gi"}),
        (pod(asking(cpu="1"), initContainers=[asking("i", cpu="3"), asking("j", cpu="2")]), {"cpu": "3"}),
        # A sidecar runs beside the containers, and beside the init containers that come after it.
        (pod(asking(cpu="1"), initContainers=[asking("s", restart="Always", cpu="1"), asking("i", cpu="2")]), {"cpu": "3"}),
        (pod(asking(cpu="1"), initContainers=[asking("i", cpu="2"), asking("s", restart="Always", cpu="1")]), {"cpu": "2"}),
        (pod(asking(cpu="1"), overhead={"cpu": "10m", "memory": "1Mi"}), {"cpu": "1010m", "memory": "1Mi"}),
        (pod(asking(cpu="1", memory="1Gi"), resources={"requests": {"cpu": "4"}}), {"cpu": "4", "memory": "1Gi"}),
    ],
)
def test_requests(given_pod: Obj, expected: dict[str, str]) -> None:
    assert requested(given_pod) == expected


def test_requests_without_overhead() -> None:
    assert requested(pod(asking(cpu="1"), overhead={"cpu": "10m"}), overhead=False) == {"cpu": "1"}


# v1.36.4 staging/src/k8s.io/component-helpers/resource/helpers.go: determineEffectiveRequests
@pytest.mark.parametrize(
    ("reported", "conditions", "expected"),
    [
        ({}, [], "2"),
        ({"resources": {"requests": {"cpu": "3"}}}, [], "3"),
        ({"resources": {"requests": {"cpu": "1"}}}, [], "2"),
        ({"resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "4"}}, [], "4"),
        ({"resources": {"requests": {"cpu": "1"}}}, [{"type": "PodResizePending", "reason": "Infeasible"}], "1"),
        ({"resources": {"requests": {"cpu": "1"}}}, [{"type": "PodResizePending", "reason": "Deferred"}], "2"),
    ],
)
def test_effective_requests(reported: Obj, conditions: list[Obj], expected: str) -> None:
    resized = pod(asking(cpu="2"))
    resized["status"] = {"containerStatuses": [{"name": "c", **reported}], "conditions": conditions}
    assert {name: str(amount) for name, amount in facts.effective_requests(resized).items()} == {"cpu": expected}


def test_effective_requests_of_the_pod_as_a_whole() -> None:
    resized = pod(asking(cpu="1"), resources={"requests": {"cpu": "2"}})
    resized["status"] = {"resources": {"requests": {"cpu": "3"}}}
    assert {name: str(amount) for name, amount in facts.effective_requests(resized).items()} == {"cpu": "3"}


def test_limits_take_overhead_only_where_there_is_a_limit() -> None:
    # v1.36.4 staging/src/k8s.io/component-helpers/resource/helpers.go: PodLimits
    limited = pod(asking(limits={"cpu": "1"}), overhead={"cpu": "10m", "memory": "1Mi"})
    assert {name: str(amount) for name, amount in facts.limits(limited).items()} == {"cpu": "1010m"}


def member(uid: str, **fields: Any) -> Obj:
    """A pod of a set, running and ready for a minute unless said otherwise."""
    ready = fields.pop("ready", "2027-01-15T07:59:00Z")
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ready}] if ready else []
    status = {"phase": fields.pop("phase", "Running"), "conditions": conditions}
    status["containerStatuses"] = [{"name": "c", "restartCount": fields.pop("restarts", 0)}]
    metadata: Obj = {"uid": uid, "creationTimestamp": fields.pop("created", "2027-01-15T07:00:00Z")}
    if "cost" in fields:
        metadata["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": fields.pop("cost")}
    return {"metadata": metadata, "spec": {"nodeName": fields.pop("node", "n"), "containers": []}, "status": status}


# v1.36.4 pkg/controller/controller_utils.go: ActivePodsWithRanks
@pytest.mark.parametrize(
    "in_order",
    [
        [member("b", node=""), member("a", phase="Pending", ready=None)],
        [member("b", phase="Pending", ready=None), member("a", phase="Unknown", ready=None)],
        [member("b", ready=None), member("a")],
        [member("b", cost="-5"), member("c"), member("a", cost="5")],
        [member("b", ready="2027-01-15T07:59:59Z"), member("a", ready="2027-01-15T06:00:00Z")],
        [member("b", restarts=3), member("a", restarts=1)],
        [member("b", created="2027-01-15T07:59:00Z"), member("a", created="2027-01-10T00:00:00Z")],
        # Ages of one order of magnitude are equal: the uid decides.
        [member("a", created="2027-01-15T07:00:00Z"), member("b", created="2027-01-15T07:00:01Z")],
    ],
)
def test_deletion_order(in_order: list[Obj]) -> None:
    now = 1_800_000_000.0  # 2027-01-15T08:00:00Z
    assert deletion_order(in_order[::-1], {}, now) == in_order


def test_crowded_nodes_are_relieved_first() -> None:
    alone, crowded = member("a"), member("b")
    assert deletion_order([alone, crowded], {"a": 0, "b": 2}, NOW) == [crowded, alone]


# v1.36.4 pkg/controller/controller_utils.go: IsPodActive
@pytest.mark.parametrize(
    ("status", "deleting", "active"),
    [({}, False, True), ({"phase": "Succeeded"}, False, False), ({"phase": "Failed"}, False, False), ({}, True, False)],
)
def test_is_active(status: Obj, deleting: bool, active: bool) -> None:
    metadata = {"deletionTimestamp": "2027-01-15T07:00:00Z"} if deleting else {}
    assert facts.is_active({"metadata": metadata, "spec": {}, "status": status}) is active


amounts = st.dictionaries(
    st.sampled_from(("cpu", "memory", "hugepages-2Mi", "example.com/gpu")),
    st.sampled_from(("0", "1", "100m", "2Mi", "1500m", "1e3", "4Gi")),
)
probes = st.fixed_dictionaries(
    {},
    optional={
        "httpGet": st.just({"port": 80}),
        "grpc": st.just({"port": 80}),
        "periodSeconds": st.integers(0, 30),
        "failureThreshold": st.integers(0, 3),
    },
)
drawn_containers = st.fixed_dictionaries(
    {"name": st.sampled_from("abc"), "image": st.sampled_from(("nginx", "nginx:1", "a/b@sha256:" + "0" * 64, "A B", ""))},
    optional={
        "resources": st.fixed_dictionaries({}, optional={"limits": amounts, "requests": amounts}),
        "ports": st.lists(st.fixed_dictionaries({"containerPort": st.integers(0, 9)}), max_size=2),
        "livenessProbe": probes,
        "restartPolicy": st.sampled_from(("Always", "Never")),
        "env": st.just([{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]),
    },
)
drawn_volumes = st.fixed_dictionaries(
    {"name": st.sampled_from("vw")},
    optional={
        "configMap": st.just({"name": "x"}),
        "projected": st.just({"sources": [{"serviceAccountToken": {"path": "t"}}]}),
        "ephemeral": st.just({"volumeClaimTemplate": {}}),
        "hostPath": st.just({"path": "/"}),
    },
)
drawn_specs = st.fixed_dictionaries(
    {"containers": st.lists(drawn_containers, max_size=3)},
    optional={
        "initContainers": st.lists(drawn_containers, max_size=2),
        "volumes": st.lists(drawn_volumes, max_size=2),
        "hostNetwork": st.booleans(),
        "resources": st.fixed_dictionaries({}, optional={"limits": amounts, "requests": amounts}),
        "terminationGracePeriodSeconds": st.integers(-2, 2),
        "serviceAccount": st.just("old"),
    },
)


@given(drawn_specs)
def test_defaults_are_idempotent(spec: Obj) -> None:
    once = {"metadata": {"name": "p"}, "spec": tree.copy(spec)}
    PODS.default(once)
    twice = tree.copy(once)
    PODS.default(twice)
    assert twice == once


@given(drawn_specs)
def test_an_unchanged_pod_may_always_be_updated(spec: Obj) -> None:
    created = {"metadata": {"name": "p"}, "spec": tree.copy(spec)}
    PODS.default(created)
    PODS.prepare_create(created)
    if not list(PODS.validate_create(created)):
        again = tree.copy(created)
        again["metadata"]["labels"] = {"a": "b"}
        PODS.default(again)
        assert not list(PODS.validate_update(again, created))


@given(drawn_specs)
def test_no_container_asks_for_more_than_the_pod(spec: Obj) -> None:
    spec = {name: value for name, value in spec.items() if name != "resources"}
    total = facts.requests({"metadata": {}, "spec": spec})
    for container in facts.containers(spec):
        for name, amount in facts.requests({"metadata": {}, "spec": {"containers": [container]}}).items():
            assert amount <= total[name]
