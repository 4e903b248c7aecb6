"""Which pods a node refuses, in upstream's words (v1.36.4 pkg/kubelet/lifecycle/predicate.go)."""

import pytest

from tiphys.kubelet.pods.admission import Place, refusal

NODE = {
    "metadata": {"name": "n", "labels": {"zone": "a"}},
    "spec": {},
    "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "3", "example.com/gpu": "1"}},
}


def pod(uid="u", *, requests=None, ports=(), meta=None, **spec):
    container = {"name": "c", "resources": {"requests": requests or {}}, "ports": list(ports)}
    return {
        "metadata": {"name": uid, "namespace": "d", "uid": uid, **(meta or {})},
        "spec": {"nodeName": "n", "containers": [container], **spec},
    }


def refused(given, *others, node=NODE, **more):
    found = refusal(given, Place(node, others=others, **more))
    return (found.reason, found.message) if found is not None else None


def test_what_fits_runs():
    assert refused(pod(requests={"cpu": "1"}), pod("o", requests={"cpu": "1"})) is None


@pytest.mark.parametrize(
    ("requests", "reason", "numbers"),
    [
        ({"cpu": "1500m"}, "OutOfcpu", "cpu, requested: 1500, used: 1000, capacity: 2000"),
        ({"memory": "2Gi"}, "OutOfmemory", "memory, requested: 2147483648, used: 0, capacity: 1073741824"),
        ({"example.com/gpu": "2"}, "OutOfexample.com/gpu", "example.com/gpu, requested: 2, used: 0, capacity: 1"),
    ],
)
def test_room(requests, reason, numbers):
    told = refused(pod(requests=requests), pod("o", requests={"cpu": "1"}))
    assert told == (reason, f"Node didn't have enough resource: {numbers}")


def test_resources_that_the_node_does_not_know_are_not_its_to_give():
    assert refused(pod(requests={"example.com/of-the-cluster": "2"})) is None


# v1.36.4 pkg/kubelet/lifecycle/predicate.go (removeMissingExtendedResources)
@pytest.mark.parametrize("resource", ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"])
def test_resources_that_devices_of_a_claim_stand_for_are_not_taken_from_the_node(resource):
    asking = pod(requests={resource: "2"})
    assert refused(asking) is not None
    mapping = {"containerName": "c", "resourceName": resource, "requestName": "container-0-request-0"}
    asking["status"] = {"extendedResourceClaimStatus": {"resourceClaimName": "made", "requestMappings": [mapping]}}
    assert refused(asking) is None
    asking["spec"]["containers"].append({"name": "other", "resources": {"requests": {resource: "2"}}})
    assert refused(asking) is not None


def test_the_number_of_pods():
    others = [pod(str(number)) for number in range(3)]
    assert refused(pod(), *others) == (
        "OutOfpods",
        "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
    )


def affinity(term):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"affinity": affinity({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]})}, True),
        ({"affinity": affinity({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]})}, False),
        ({"affinity": affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})}, True),
        ({"affinity": affinity({})}, False),
    ],
)
def test_node_affinity(spec, fits):
    told = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    assert refused(pod(**spec)) == (None if fits else ("NodeAffinity", told))


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ({}, {}, True),
        ({"hostIP": "1.1.1.1"}, {}, True),
        ({"hostIP": "1.1.1.1"}, {"hostIP": "1.1.1.2"}, False),
        ({"protocol": "UDP"}, {}, False),
    ],
)
def test_host_ports(one, other, clash):
    first, second = ({"containerPort": 1, "hostPort": 80, **each} for each in (one, other))
    told = refused(pod(ports=[first]), pod("o", ports=[second]))
    assert (told is not None and told[0] == "NodePorts") == clash


def test_taints_that_execute():
    node = {
        **NODE,
        "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoExecute"}, {"key": "s", "effect": "NoSchedule"}]},
    }
    assert refused(pod(), node=node)[0] == "TaintToleration"
    assert refused(pod(tolerations=[{"key": "k", "operator": "Equal", "value": "v"}]), node=node) is None
    assert refused(pod(tolerations=[{"operator": "Exists", "effect": "NoExecute"}]), node=node) is None


def test_pressure_refuses_best_effort_pods_first():
    # v1.36.4 pkg/kubelet/eviction/eviction_manager.go, Admit
    told = ("Evicted", "The node had condition: [MemoryPressure]. ")
    assert refused(pod(), pressures=("MemoryPressure",)) == told
    assert refused(pod(requests={"cpu": "1"}), pressures=("MemoryPressure",)) is None
    assert refused(pod(requests={"cpu": "1"}), pressures=("DiskPressure",))[0] == "Evicted"
    assert refused(pod(priority=2_000_000_000), pressures=("DiskPressure",)) is None


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("kernel.shm_rmid_forced", {}, None),
        ("net/ipv4/tcp_syncookies", {}, None),
        ("net.ipv4.tcp_syncookies", {"hostNetwork": True}, '"net.ipv4.tcp_syncookies" not allowed with host net enabled'),
        ("kernel.msgmax", {}, '"kernel.msgmax" not allowlisted'),
        ("kernel.sem", {}, None),
    ],
)
def test_sysctls(name, spec, words):
    # v1.36.4 pkg/kubelet/sysctl/allowlist.go
    told = refused(pod(securityContext={"sysctls": [{"name": name, "value": "1"}]}, **spec), sysctls=("kernel.s*",))
    assert told == (None if words is None else ("SysctlForbidden", f"forbidden sysctl: {words}"))


def test_other_systems_and_a_machine_that_goes_down():
    assert refused(pod(os={"name": "windows"}))[0] == "PodOSNotSupported"
    assert refused(pod(meta={"labels": {"kubernetes.io/os": "windows"}}))[0] == "PodOSSelectorNodeLabelDoesNotMatch"
    assert refused(pod(), ending=True) == ("NodeShutdown", "Pod was rejected as the node is shutting down.")
    strict = {"securityContext": {"supplementalGroupsPolicy": "Strict"}}
    assert refused(pod(**strict))[0] == "SupplementalGroupsPolicyNotSupported"
