"""A pod's status in upstream's words (v1.36.4 pkg/kubelet/kubelet_pods.go, pkg/kubelet/status/generate.go)."""

import pytest

from tiphys.kubelet.cri.observed import RESTART_COUNT, Container, ObservedPod, Sandbox
from tiphys.kubelet.pods.resizing import InForce
from tiphys.kubelet.pods.restarts import BackOff
from tiphys.kubelet.status import Given, Verdict, pod_status, until_ended
from tiphys.kubelet.status.conditions import Raised
from tiphys.kubelet.status.containers import Health, Known, Trouble
from tiphys.kubelet.status.patch import status_patch
from tiphys.kubelet.status.resources import pod_resources

NOW = 1_700_000_000.0
BOX = Sandbox("s0", 0, addresses=("10.0.0.5",))


def pod(policy="Always", init=(), status=None, **more):
    spec = {"restartPolicy": policy, "containers": [{"name": "a", "image": "i"}], **more}
    if init:
        spec["initContainers"] = [{"name": name, "image": "i"} for name in init]
    return {
        "metadata": {"name": "p", "namespace": "d", "uid": "u", "generation": 3},
        "spec": spec,
        "status": status or {},
    }


def run(name="a", state="running", code=0, attempt=0, **more):
    return Container(
        f"{name}{attempt}",
        name,
        attempt,
        state,
        created_at=NOW - 100 + attempt,
        started_at=NOW - 100,
        finished_at=NOW - 50 if state == "exited" else 0,
        exit_code=code,
        image="docker.io/i:latest",
        image_id="sha256:1",
        sandbox_id="s0",
        annotations={RESTART_COUNT: str(attempt)},
        **more,
    )


def status(given, *containers, known=None, ended=False, sandboxes=(BOX,), **more):
    observed = ObservedPod("u", "p", "d", sandboxes, tuple(sorted(containers, key=lambda each: -each.attempt)))
    known = known or Known(health=Health(frozenset({"a0"}), frozenset({"a0"})))
    return pod_status(given, observed, Given(known, ("192.168.0.1",), ended, **more), NOW)


def condition(of, kind):
    return next(each for each in of["conditions"] if each["type"] == kind)


def test_a_running_pod():
    told = status(pod(), run())
    assert told["phase"] == "Running"
    assert told["podIP"] == "10.0.0.5"
    assert told["hostIP"] == "192.168.0.1"
    assert told["observedGeneration"] == 3
    assert told["containerStatuses"] == [
        {
            "name": "a",
            "restartCount": 0,
            "image": "docker.io/i:latest",
            "imageID": "sha256:1",
            "containerID": "containerd://a0",
            "resources": {},
            "state": {"running": {"startedAt": "2023-11-14T22:11:40Z"}},
            "lastState": {},
            "ready": True,
            "started": True,
        }
    ]
    assert {each["type"]: each["status"] for each in told["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }


@pytest.mark.parametrize(
    ("policy", "containers", "ended", "phase"),
    [
        ("Always", (), False, "Pending"),
        ("Always", (run(state="exited", code=1),), False, "Running"),
        ("OnFailure", (run(state="exited", code=0),), False, "Succeeded"),
        ("OnFailure", (run(state="exited", code=1),), False, "Running"),
        ("Never", (run(state="exited", code=1),), False, "Failed"),
        ("Never", (run(state="exited", code=0),), False, "Succeeded"),
        ("Always", (run(state="exited", code=0),), True, "Succeeded"),
        ("Always", (run(state="exited", code=137),), True, "Failed"),
    ],
)
def test_phase(policy, containers, ended, phase):
    assert status(pod(policy), *containers, ended=ended)["phase"] == phase


@pytest.mark.parametrize(
    ("policy", "containers", "phase"),
    [
        ("Always", (run("i"),), "Pending"),
        ("Always", (run("i", "exited", 1),), "Pending"),
        ("Never", (run("i", "exited", 1),), "Failed"),
        ("Always", (run("i", "exited", 0), run("a")), "Running"),
    ],
)
def test_phase_with_init_containers(policy, containers, phase):
    given = pod(policy, init=("i",))
    known = Known(waiting=frozenset({"i"})) if policy == "Always" and containers[0].exit_code else None
    assert status(given, *containers, known=known)["phase"] == phase


def test_what_waits_says_why():
    told = status(pod(init=("i",)))
    assert told["initContainerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert status(pod())["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert condition(told, "Initialized")["message"] == "containers with incomplete status: [i]"
    assert condition(told, "Ready")["message"] == "containers with unready status: [a]"
    troubled = status(pod(), known=Known({"a": Trouble("ErrImagePull", "no such image")}))
    assert troubled["containerStatuses"][0]["state"]["waiting"] == {"reason": "ErrImagePull", "message": "no such image"}


def test_crash_loop_back_off():
    known = Known(back_offs={"a": BackOff(80.0, NOW)}, waiting=frozenset({"a"}))
    told = status(pod(), run(state="exited", code=3, attempt=4, message="oops"), known=known)["containerStatuses"][0]
    assert told["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 1m20s restarting failed container=a pod=p_d(u)",
    }
    assert told["lastState"]["terminated"]["exitCode"] == 3
    assert told["lastState"]["terminated"]["reason"] == "Error"
    assert told["lastState"]["terminated"]["message"] == "oops"
    assert told["restartCount"] == 4


def test_the_run_before_the_last_is_the_last_state():
    told = status(pod(), run(state="exited", code=1), run(attempt=1))["containerStatuses"][0]
    assert "running" in told["state"]
    assert told["lastState"]["terminated"]["containerID"] == "containerd://a0"
    assert told["restartCount"] == 1


def test_ended_pods_stay_ended_and_keep_what_was_told():
    before = status(pod("Never"), run(state="exited", code=0), ended=True)
    assert before["phase"] == "Succeeded"
    after = status(pod("Never", status=before), sandboxes=(), ended=True)
    assert after["phase"] == "Succeeded"
    assert after["containerStatuses"] == before["containerStatuses"]
    assert condition(after, "Ready")["reason"] == "PodCompleted"


def test_transition_times_move_only_with_the_status():
    before = status(pod(), run())
    later = pod_status(pod(status=before), ObservedPod("u", "p", "d", (BOX,), (run(),)), Given(), NOW + 60)
    assert condition(later, "PodScheduled")["lastTransitionTime"] == condition(before, "PodScheduled")["lastTransitionTime"]
    assert condition(later, "Ready")["lastTransitionTime"] != condition(before, "Ready")["lastTransitionTime"]


def test_readiness_gates():
    # https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
    given = pod(readinessGates=[{"conditionType": "example.com/x"}])
    told = condition(status(given, run()), "Ready")
    assert told["reason"] == "ReadinessGatesNotReady"
    assert told["message"] == 'corresponding condition of pod readiness gate "example.com/x" does not exist.'
    given["status"] = {"conditions": [{"type": "example.com/x", "status": "True"}]}
    after = status(given, run())
    assert condition(after, "Ready")["status"] == "True"
    assert condition(after, "example.com/x") == {"type": "example.com/x", "status": "True"}


def test_a_patch_holds_only_what_changes_and_takes_reasons_away():
    before = status(pod())
    after = status(pod(status=before), run())
    patch = status_patch(before, after)
    ready = next(each for each in patch["conditions"] if each["type"] == "Ready")
    assert ready["reason"] is None
    assert "startTime" not in patch
    assert "PodScheduled" not in {each["type"] for each in patch["conditions"]}
    assert status_patch(after, after) == {}


def test_addresses_are_replaced_not_merged():
    assert status_patch({"podIPs": [{"ip": "1"}]}, {"podIPs": [{"ip": "2"}]})["podIPs"] == [{"ip": "2"}, {"$patch": "replace"}]


def test_a_pod_that_the_node_refuses_tells_nothing_of_containers():
    # v1.36.4 pkg/kubelet/kubelet.go, rejectPod
    told = pod_status(
        pod(), ObservedPod("u"), Given(verdict=Verdict("OutOfcpu", "Pod was rejected: no room", refused=True)), NOW
    )
    assert (told["phase"], told["reason"], told["message"]) == ("Failed", "OutOfcpu", "Pod was rejected: no room")
    assert "containerStatuses" not in told


def test_an_evicted_pod_says_who_ended_it():
    # https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
    verdict = Verdict("Evicted", "low on memory", disruption="low on memory")
    told = pod_status(pod(), ObservedPod("u", sandboxes=(BOX,), containers=(run(),)), Given(verdict=verdict), NOW)
    assert condition(told, "DisruptionTarget")["reason"] == "TerminationByKubelet"


def test_resources_are_those_in_force_while_a_resize_is_under_way():
    # https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
    given = pod()
    given["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    known = Known(in_force=InForce({"a/0": {"requests": {"cpu": "1"}}}))
    raised = {"PodResizeInProgress": Raised(generation=3)}
    seen = ObservedPod("u", sandboxes=(BOX,), containers=(run(),))
    before = pod_status(given, seen, Given(known, raised=raised), NOW)
    assert before["containerStatuses"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert before["containerStatuses"][0]["allocatedResources"] == {"cpu": "2"}
    assert condition(before, "PodResizeInProgress")["observedGeneration"] == 3
    after = pod_status({**given, "status": before}, seen, Given(Known()), NOW)
    assert after["containerStatuses"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert {"type": "PodResizeInProgress", "$patch": "delete"} in status_patch(before, after)["conditions"]


def test_an_end_is_told_when_nothing_runs_any_more():
    """pkg/kubelet/status/status_manager.go:1402: what a pod had is given to others as soon as it is told to have ended."""
    given = pod(policy="Never", status={"phase": "Running"})
    computed = status(given, run(state="exited"), verdict=Verdict("Evicted", "no memory", disruption="no memory"))
    told = until_ended(given, computed)
    assert computed["phase"] == "Failed"
    assert told["phase"] == "Running"
    assert "reason" not in told
    assert "message" not in told
    assert all(each["type"] != "DisruptionTarget" for each in told["conditions"])


def test_what_had_ended_before_stays_told():
    given = pod(policy="Never", status={"phase": "Failed", "reason": "Evicted"})
    assert until_ended(given, status(given, run(state="exited", code=1)))["phase"] == "Failed"


def containers(*resources):
    return [{"name": f"c{number}", "image": "i", "resources": each} for number, each in enumerate(resources)]


def test_resources_of_a_pod_before_it_runs():
    """pkg/kubelet/kubelet_pods.go:2168: the sums, limits of some containers among them."""
    some = containers({"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}}, {"requests": {"cpu": "30m"}})
    found = pod_resources({"metadata": {}, "spec": {"containers": some}, "status": {"phase": "Pending"}}, None)
    assert found == {
        "resources": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "40m"}},
        "allocatedResources": {"cpu": "40m"},
    }


def test_resources_of_a_pod_that_runs():
    """pkg/kubelet/kubelet_pods.go:2181: what its cgroup says; it has no limit unless each of its containers has one."""
    some = containers({"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}}, {"requests": {"cpu": "30m"}})
    found = pod_resources({"metadata": {}, "spec": {"containers": some}, "status": {"phase": "Running"}}, None)
    assert found["resources"] == {"requests": {"cpu": "40m"}}
    whole = containers({"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}})
    found = pod_resources({"metadata": {}, "spec": {"containers": whole}, "status": {"phase": "Running"}}, None)
    assert found["resources"] == {"limits": {"memory": "64Mi"}, "requests": {"cpu": "10m", "memory": "64Mi"}}


@pytest.mark.differs(
    "reads `status.resources` of a running pod back from its cgroup; the first version of control groups has a number for "
    "*no limit*, which is shown as a limit of 9007199254740988Ki of memory.",
    "where nothing limits a pod no limit is shown.",
)
def test_a_pod_without_wishes_has_been_given_nothing():
    assert pod_resources({"metadata": {}, "spec": {"containers": containers({})}, "status": {"phase": "Running"}}, None) == {
        "resources": {}
    }
