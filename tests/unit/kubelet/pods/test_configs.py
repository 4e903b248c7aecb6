"""What the runtime is told of sandboxes and containers."""

from pathlib import PurePath

import pytest

from tiphys.kubelet.cri.connection import protos
from tiphys.kubelet.pods.container_config import MASKED, Made, container_config
from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.pods.resources import PodLimits, linux_resources, oom_score, pod_cgroup, pod_limits, quota, shares
from tiphys.kubelet.pods.sandbox_config import HostDns, Settings, dns, namespaces, sandbox_config

SETTINGS = Settings(
    "n1", PurePath("/logs"), "/kubepods", cluster_dns=("10.96.0.10",), host_dns=HostDns(("8.8.8.8",), ("corp",), ("rotate",))
)


def pod(container=None, **spec):
    return {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "spec": {"containers": [{"name": "a", "image": "i", **(container or {})}], **spec},
    }


def made(given, user="", environment=None):
    prepared = Made(1, 4, "sha256:1", user, environment or {}, [], 8 << 30)
    return container_config(given, given["spec"]["containers"][0], prepared)


@pytest.mark.parametrize(
    ("spec", "servers", "searches", "options"),
    [
        (
            {},
            ["10.96.0.10"],
            ["d.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp"],
            ["ndots:5"],
        ),
        ({"dnsPolicy": "Default"}, ["8.8.8.8"], ["corp"], ["rotate"]),
        ({"hostNetwork": True}, ["8.8.8.8"], ["corp"], ["rotate"]),
        (
            {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]}},
            ["1.1.1.1"],
            [],
            ["ndots:2"],
        ),
        (
            {"dnsConfig": {"searches": ["more"], "options": [{"name": "ndots", "value": "1"}, {"name": "edns0"}]}},
            ["10.96.0.10"],
            ["d.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp", "more"],
            ["ndots:1", "edns0"],
        ),
    ],
)
def test_dns(spec, servers, searches, options):
    # https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
    assert dns(pod(**spec), SETTINGS) == {"servers": servers, "searches": searches, "options": options}


def test_a_pod_that_wants_users_of_its_own_is_not_run_with_those_of_the_node():
    # pkg/kubelet/userns/userns_manager.go, GetOrCreateUserNamespaceMappings
    words = "^can't set `spec.hostUsers: false`, runtime does not support user namespaces$"
    with pytest.raises(CannotMake, match=words):
        sandbox_config(pod(hostUsers=False), 0, SETTINGS)
    with pytest.raises(CannotMake, match='RuntimeClass handler "kata" does not support user namespaces'):
        sandbox_config(pod(hostUsers=False), 0, SETTINGS, "kata")
    sandbox_config(pod(hostUsers=True), 0, SETTINGS)


def test_a_sandbox():
    given = pod({"ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "UDP"}, {"containerPort": 81}]}, hostname="h")
    config = sandbox_config(given, 2, SETTINGS)
    assert config["metadata"] == {"name": "p", "uid": "u", "namespace": "d", "attempt": 2}
    assert config["log_directory"] == "/logs/d_p_u"
    assert config["hostname"] == "h"
    assert config["port_mappings"] == [{"protocol": 1, "container_port": 80, "host_port": 8080, "host_ip": ""}]
    protos()["PodSandboxConfig"](**config)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"network": 0, "pid": 1, "ipc": 0}),
        ({"hostNetwork": True, "hostPID": True, "hostIPC": True}, {"network": 2, "pid": 2, "ipc": 2}),
        ({"shareProcessNamespace": True}, {"network": 0, "pid": 0, "ipc": 0}),
    ],
)
def test_namespaces(spec, expected):
    assert namespaces(pod(**spec)) == expected


def test_a_container_may_see_the_processes_of_another_unless_it_sees_more_anyway():
    # pkg/kubelet/kuberuntime/util/util.go: NamespacesForPod; types/v1: EphemeralContainer.targetContainerName
    assert namespaces(pod(), "abc") == {"network": 0, "pid": 3, "ipc": 0, "target_id": "abc"}
    assert namespaces(pod(shareProcessNamespace=True), "abc")["pid"] == 0
    assert namespaces(pod(hostPID=True), "abc")["pid"] == 2


def test_a_container():
    given = pod({"command": ["run", "$(A)", "$(B)"], "args": ["$$(A)"], "tty": True, "workingDir": "/w"})
    config = made(given, "1000", {"A": "1"})
    assert config["command"] == ["run", "1", "$(B)"]
    assert config["args"] == ["$(A)"]
    assert config["log_path"] == "a/1.log"
    assert config["annotations"]["io.kubernetes.container.restartCount"] == "4"
    context = config["linux"]["security_context"]
    assert context["run_as_user"] == {"value": 1000}
    assert context["masked_paths"] == list(MASKED)
    assert context["seccomp"] == {"profile_type": 1}
    protos()["ContainerConfig"](**config)


def test_security_of_the_container_goes_before_that_of_the_pod():
    # https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
    own = {"securityContext": {"runAsUser": 7, "allowPrivilegeEscalation": False, "capabilities": {"add": ["NET_ADMIN"]}}}
    given = pod(own, securityContext={"runAsUser": 5, "runAsGroup": 6, "fsGroup": 9, "supplementalGroups": [8]})
    context = made(given)["linux"]["security_context"]
    assert context["run_as_user"] == {"value": 7}
    assert context["run_as_group"] == {"value": 6}
    assert context["supplemental_groups"] == [8, 9]
    assert context["no_new_privs"]
    assert context["capabilities"]["add_capabilities"] == ["NET_ADMIN"]


def test_privileged_containers_see_all_of_proc():
    context = made(pod({"securityContext": {"privileged": True}}))["linux"]["security_context"]
    assert context["privileged"]
    assert context["masked_paths"] == context["readonly_paths"] == []


@pytest.mark.parametrize(
    ("security", "user", "words"),
    [
        ({}, "", "container has runAsNonRoot and image will run as root"),
        ({}, "0", "container has runAsNonRoot and image will run as root"),
        ({}, "nobody", r"image has non-numeric user \(nobody\), cannot verify user is non-root"),
        ({"runAsUser": 0}, "5", "container's runAsUser breaks non-root policy"),
        ({}, "5", ""),
        ({"runAsUser": 3}, "", ""),
    ],
)
def test_run_as_non_root(security, user, words):
    # v1.36.4 pkg/kubelet/kuberuntime/security_context_others.go, verifyRunAsNonRoot
    given = pod({"securityContext": {"runAsNonRoot": True, **security}})
    if words:
        with pytest.raises(CannotMake, match=words):
            made(given, user)
    else:
        made(given, user)


@pytest.mark.parametrize(("milli", "expected"), [(0, 2), (1, 2), (100, 102), (1000, 1024), (2**40, 262144)])
def test_shares(milli, expected):
    # v1.36.4 pkg/kubelet/cm/helpers_linux.go, MilliCPUToShares
    assert shares(milli) == expected
    assert quota(1) == 1000
    assert quota(1500) == 150000


@pytest.mark.parametrize(
    ("resources", "score", "cgroup"),
    [
        ({}, 1000, "/kubepods/besteffort/podu"),
        ({"requests": {"memory": "4Gi"}}, 500, "/kubepods/burstable/podu"),
        ({"requests": {"memory": "1"}}, 999, "/kubepods/burstable/podu"),
        ({part: {"cpu": "1", "memory": "1Gi"} for part in ("limits", "requests")}, -997, "/kubepods/podu"),
    ],
)
def test_quality_of_service(resources, score, cgroup):
    # v1.36.4 pkg/kubelet/qos/policy.go
    given = pod({"resources": resources})
    assert oom_score(given, given["spec"]["containers"][0], 8 << 30) == score
    assert pod_cgroup("/kubepods", given) == cgroup


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # What not every container limits the pod does not either; init containers run before the others.
        (
            {
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1Mi"}}}],
                "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}}],
            },
            PodLimits(2048, None, None),
        ),
        # A sidecar stays beside the others.
        (
            {
                "containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Mi"}}}],
                "initContainers": [
                    {"name": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": "500m", "memory": "1Mi"}}}
                ],
            },
            PodLimits(2, 150_000, 2 << 20),
        ),
        ({"containers": [{"name": "a"}]}, PodLimits(2, None, None)),
        # https://kubernetes.io/docs/tasks/configure-pod-container/assign-pod-level-resources/
        (
            {"containers": [{"name": "a"}], "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Mi"}}},
            PodLimits(1024, 200_000, 1 << 20),
        ),
        # https://kubernetes.io/docs/concepts/scheduling-eviction/pod-overhead/
        (
            {
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}],
                "overhead": {"cpu": "250m", "memory": "1Mi"},
            },
            PodLimits(1280, 225_000, None),
        ),
    ],
)
def test_the_cgroup_of_a_pod(spec, expected):
    # v1.36.4 pkg/kubelet/cm/helpers_linux.go, ResourceConfigForPod
    assert pod_limits({"metadata": {"uid": "u"}, "spec": spec}) == expected


def test_what_a_container_does_not_limit_its_pod_may():
    given = pod({"resources": {"requests": {"cpu": "100m"}}}, resources={"limits": {"cpu": "1", "memory": "1Mi"}})
    told = linux_resources(given, given["spec"]["containers"][0], 1 << 30)
    assert told["cpu_shares"] == 102
    assert told["cpu_quota"] == 100_000
    assert told["memory_limit_in_bytes"] == 1 << 20


def test_huge_pages():
    given = pod({"resources": {"limits": {"hugepages-2Mi": "4Mi"}}})
    told = linux_resources(given, given["spec"]["containers"][0], 1 << 30)
    assert told["hugepage_limits"] == [{"page_size": "2MB", "limit": 4 << 20}]
    protos()["LinuxContainerResources"](**told)
