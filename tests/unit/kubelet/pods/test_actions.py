"""What to do next for a pod (v1.36.4 pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions)."""

import pytest

from tiphys.kubelet.cri.observed import CONTAINER_HASH, Container, ObservedPod, Sandbox
from tiphys.kubelet.pods.actions import Memory, actions
from tiphys.kubelet.pods.hashing import container_hash
from tiphys.kubelet.pods.resizing import InForce
from tiphys.kubelet.pods.restarts import BackOff, restarts

NOW = 1000.0
BOX = Sandbox("s0", 0)


def pod(*names, init=(), policy="Always", **sidecars):
    containers = [{"name": name, "image": "i"} for name in names]
    inits = [{"name": name, "image": "i", **({"restartPolicy": "Always"} if name in sidecars else {})} for name in init]
    return {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "spec": {"containers": containers, "initContainers": inits, "restartPolicy": policy},
    }


def run(name, state="running", code=0, attempt=0, **more):
    known = {CONTAINER_HASH: container_hash({"name": name, "image": "i"})}
    more.setdefault("annotations", known)
    return Container(
        f"{name}{attempt}", name, attempt, state, finished_at=990.0, exit_code=code, sandbox_id="s0", created_at=attempt, **more
    )


def seen(*containers, sandboxes=(BOX,)):
    return ObservedPod("u", "p", "d", tuple(sandboxes), tuple(sorted(containers, key=lambda each: -each.attempt)))


def decide(given, *containers, memory=None, **more):
    return actions(given, seen(*containers, **more), memory or Memory(), NOW)


def test_a_new_pod_gets_a_sandbox_first():
    plan = decide(pod("a"), sandboxes=())
    assert plan.create_sandbox
    assert plan.attempt == 0
    assert plan.start == ()


def test_all_containers_start_together_once_there_is_a_sandbox():
    assert decide(pod("a", "b")).start == ("a", "b")


@pytest.mark.parametrize(
    ("containers", "start"),
    [
        ((), ("i",)),
        ((run("i"),), ()),
        ((run("i", "exited", 0),), ("j",)),
        ((run("i", "exited", 1),), ("i",)),
        ((run("i", "exited", 0), run("j", "exited", 0)), ("a",)),
        ((run("a"),), ()),
    ],
)
def test_init_containers_run_in_order_before_the_others(containers, start):
    assert decide(pod("a", init=("i", "j")), *containers).start == start


def test_a_failed_init_container_ends_a_pod_that_never_restarts():
    assert decide(pod("a", init=("i",), policy="Never"), run("i", "exited", 1)).start == ()


def test_what_follows_a_sidecar_waits_until_it_has_started():
    # KEP-753
    given = pod("a", init=("s", "i"), s=True)
    assert decide(given).start == ("s",)
    assert decide(given, run("s")).start == ()
    assert decide(given, run("s"), memory=Memory(started=frozenset({"s0"}))).start == ("i",)


def test_a_sidecar_comes_back_beside_running_containers():
    assert decide(pod("a", init=("s",), s=True), run("s", "exited", 0), run("a")).start == ("s",)


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 1, False)],
)
def test_restart_policy(policy, code, again):
    plan = decide(pod("a", policy=policy), run("a", "exited", code))
    assert (plan.start == ("a",)) is again


def test_rules_of_a_container_go_before_its_policy():
    # KEP-5307
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    container = {"name": "a", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    assert restarts(pod("a"), container, 42)
    assert not restarts(pod("a"), container, 1)


def test_a_container_in_back_off_waits_and_the_others_start():
    memory = Memory(back_offs={"a": BackOff(20.0, 980.0)})
    plan = decide(pod("a", "b"), run("a", "exited", 1), memory=memory)
    assert plan.start == ("b",)
    assert plan.waiting == {"a": 10.0}
    assert plan.again_in == 10.0


def test_back_off_doubles_up_to_five_minutes_and_forgives_long_runs():
    # v1.36.4 pkg/kubelet/kubelet.go: backOffPeriod, MaxCrashLoopBackOff
    back_off, delays = BackOff(), []
    for now in range(0, 70, 10):
        back_off = back_off.next(float(now), float(now))
        delays.append(back_off.delay)
    assert delays == [10, 20, 40, 80, 160, 300, 300]
    assert back_off.waits(ended=60.0, now=61.0) == 299.0
    assert back_off.waits(ended=60.0 + 601, now=60.0 + 601) == 0.0
    assert back_off.next(60.0 + 601, 700.0).delay == 10


def test_an_unhealthy_container_is_killed_before_anything_else():
    plan = decide(pod("a", "b"), run("a"), memory=Memory(unhealthy={"a0": "liveness"}))
    assert [kill.why for kill in plan.kill] == ["Container a failed liveness probe, will be restarted"]
    assert plan.start == ()


def test_a_changed_image_restarts_its_container():
    plan = decide(pod("a"), run("a", annotations={CONTAINER_HASH: "old"}))
    assert [kill.why for kill in plan.kill] == ["Container a definition changed, will be restarted"]


def test_a_lost_sandbox_is_replaced_and_what_still_runs_is_stopped():
    plan = decide(pod("a"), run("a"), sandboxes=(Sandbox("s0", 3, ready=False),))
    assert plan.stop_pod
    assert plan.create_sandbox
    assert plan.attempt == 4


def test_a_pod_that_has_run_to_its_end_gets_no_new_sandbox():
    gone = Sandbox("s0", 0, ready=False)
    assert not decide(pod("a", policy="Never"), run("a", "exited"), sandboxes=(gone,)).create_sandbox
    assert not decide(pod("a", policy="OnFailure"), run("a", "exited"), sandboxes=(gone,)).create_sandbox
    assert decide(pod("a", policy="OnFailure"), run("a", "exited", 1), sandboxes=(gone,)).create_sandbox


def test_of_dead_containers_two_are_kept():
    plan = decide(pod("a"), *(run("a", "exited", 1, attempt) for attempt in range(4)), run("a", attempt=4))
    assert plan.remove == ("a2", "a1", "a0")


def test_old_sandboxes_go_once_they_are_empty():
    boxes = (Sandbox("s2", 2), Sandbox("s1", 1, ready=False), Sandbox("s0", 0, ready=False))
    assert decide(pod("a"), run("a", "exited", 1), sandboxes=boxes).remove_sandboxes == ("s1",)


def test_the_longest_back_off_can_be_set():
    # https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#reduced-container-restart-delay
    back_off = BackOff(longest=5.0)
    for now in range(3):
        back_off = back_off.next(float(now), float(now))
        assert back_off.delay == 5.0


def test_nothing_to_do_for_a_pod_that_runs():
    plan = decide(pod("a"), run("a"))
    assert (plan.kill, plan.start, plan.create_sandbox, plan.again_in) == ((), (), False, None)


def test_an_ephemeral_container_is_started_once():
    # https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/
    given = pod("a")
    given["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "i"}]
    assert decide(given, run("a")).start == ("debug",)
    assert decide(given, run("a"), run("debug", "exited", 1)).start == ()


def rule(action, *codes, operator="In"):
    return {"action": action, "exitCodes": {"operator": operator, "values": list(codes)}}


@pytest.mark.parametrize(("code", "again"), [(42, True), (1, False), (0, False)])
def test_rules_go_before_policies(code, again):
    # https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restart-rules
    given = pod("a", policy="Never")
    given["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[rule("Restart", 42)])
    assert (decide(given, run("a", "exited", code)).start == ("a",)) == again


def test_one_that_ends_may_make_all_begin_again():
    # v1.36.4 pkg/kubelet/kuberuntime/kuberuntime_manager.go, getContainersToReset: the cause is the last to be removed
    given = pod("a", "b", init=("i",))
    given["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[rule("RestartAllContainers", 1)])
    runs = (run("i", "exited"), run("a", "exited", 1), run("b"))
    plan = decide(given, *runs)
    assert [each.name for each in plan.anew] == ["b", "i", "a"]
    assert (plan.start, plan.kill) == ((), ())
    assert decide(given, *runs[:1], run("a", "exited", 2), run("b")).anew == ()
    assert decide(given).start == ("i",)


def resized(before, after, **container):
    given = pod("a")
    given["spec"]["containers"][0].update(resources=after, **container)
    return decide(given, run("a"), memory=Memory(in_force=InForce({"a/0": before})))


def test_resources_change_in_place():
    # v1.36.4 pkg/kubelet/kuberuntime/kuberuntime_manager_test.go, TestComputePodActionsForPodResize
    plan = resized({"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}})
    assert [(each.before.cpu_request, each.after.cpu_request) for each in plan.resize] == [(1000, 2000)]
    assert plan.kill == ()
    assert resized({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1000m"}}).resize == ()


def test_or_with_a_restart():
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    plan = resized({"limits": {"memory": "1Gi"}}, {"limits": {"memory": "2Gi"}}, resizePolicy=policy)
    assert [kill.why for kill in plan.kill] == ["Container a resize requires restart"]
    assert resized({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, resizePolicy=policy).kill == ()
