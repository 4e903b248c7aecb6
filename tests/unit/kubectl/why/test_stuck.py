"""`tiphys why` of pods that have a node: what they wait for, why they fail, what keeps them from going."""

from typing import Any

from tiphys.kubectl.why import crashing, reporting, terminating, unready, waiting
from tiphys.kubectl.why.facts import Facts
from tiphys.machinery import times
from tiphys.machinery.tree import Obj

NOW = 1_700_000_100.0


def ago(seconds: float) -> str:
    return times.rfc3339(NOW - seconds)


def pod(statuses: list[Obj], phase: str = "Running", **meta: Any) -> Obj:
    spec = {"nodeName": "n", "containers": [{"name": "c", "resources": {"limits": {"memory": "20Mi"}}}]}
    status = {"phase": phase, "containerStatuses": statuses}
    return {"metadata": {"name": "p", "namespace": "default", **meta}, "spec": spec, "status": status}


def node(ready: str = "True") -> Obj:
    return {"status": {"conditions": [{"type": "Ready", "status": ready, "message": "Kubelet stopped posting node status."}]}}


def deleted(**meta: Any) -> Obj:
    return pod([], deletionTimestamp=ago(-20), deletionGracePeriodSeconds=30, **meta)


def step(what: str, **more: Any) -> dict[str, Any]:
    return {"what": what, "began": times.rfc3339_micro(NOW - 12), "underWayForSeconds": 12.0, **more}


def told(found: Any) -> list[str]:
    assert found is not None
    return list(found.text().splitlines())


def test_a_process_that_ignores_its_signal():
    kubelet = {
        "phase": "terminating",
        "graceLeftSeconds": 18.0,
        "steps": [step("SIGTERM, and its end", container="c", leftSeconds=18)],
    }
    assert told(terminating.answer(Facts(deleted(), NOW, node=node(), kubelet=kubelet))) == [
        "Pod default/p is being deleted (grace period 30 s): the process of container c has not ended yet",
        "c was sent its stop signal 12 s ago and goes on; it is killed in 18 s.",
        "Of its grace period 18 s are left.",
    ]


def test_a_hook_that_is_still_running():
    kubelet = {"phase": "terminating", "steps": [step("preStop hook", container="c", leftSeconds=18.0)]}
    lines = told(terminating.answer(Facts(deleted(), NOW, node=node(), kubelet=kubelet)))
    assert lines[0].endswith(": the preStop hook of container c is still running")
    assert lines[1] == "The preStop hook of c has run for 12 s; it may for 18 s more, then SIGTERM is sent."


def test_volumes_that_cannot_be_unmounted():
    kubelet = {"phase": "terminated", "problem": "[Errno 16] Device or resource busy: '/v'", "failures": 4, "steps": []}
    assert told(terminating.answer(Facts(deleted(), NOW, node=node(), kubelet=kubelet)))[1:] == [
        "[Errno 16] Device or resource busy: '/v' (tried 4 times)"
    ]


def test_finalizers_hold_what_the_node_has_let_go():
    held = deleted(finalizers=["example.com/mine"])
    lines = told(terminating.answer(Facts(held, NOW, node=node(), kubelet={"phase": "ended", "steps": []})))
    assert lines[0].endswith(": finalizers hold it")
    assert "example.com/mine" in lines[1]


def test_a_node_that_is_gone_or_silent_cannot_end_anything():
    # https://kubernetes.io/docs/concepts/architecture/nodes/#node-status
    lease = {"spec": {"renewTime": times.rfc3339_micro(NOW - 300), "leaseDurationSeconds": 40}}
    for facts, word in (
        (Facts(deleted(), NOW), "Node n is not there any more"),
        (Facts(deleted(), NOW, node=node("Unknown"), lease=lease), "Node n was heard of 5 min ago for the last time"),
        (Facts(deleted(), NOW, node=node(), lease=lease), "Node n has not renewed its lease for 5 min"),
    ):
        lines = told(terminating.answer(facts))
        assert "its node does not report" in lines[0]
        assert lines[1].startswith(word)
        assert "--grace-period=0 --force" in lines[2]


def test_a_node_that_reports_is_not_blamed():
    lease = {"spec": {"renewTime": times.rfc3339_micro(NOW - 5), "leaseDurationSeconds": 40}}
    assert reporting.node_is_silent(Facts(deleted(), NOW, node=node(), lease=lease)) == ""


def test_an_image_that_cannot_be_pulled_and_a_volume_that_is_not_there():
    waits = {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}}
    assert told(waiting.answer(Facts(pod([waits], "Pending"), NOW))) == [
        "Pod default/p is on node n and does not run yet: ImagePullBackOff",
        "c: ImagePullBackOff: Back-off pulling image",
    ]
    creating = {"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}
    kubelet = {"phase": "sync", "problem": 'configmap "m" not found', "failures": 3, "steps": []}
    assert told(waiting.answer(Facts(pod([creating], "Pending"), NOW, kubelet=kubelet)))[1] == (
        'Its node got no further 3 times, the last time for: configmap "m" not found'
    )


def test_without_the_kubelets_word_its_events_have_to_do():
    creating = {"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}}
    events = [{"reason": "FailedCreatePodSandBox", "message": "no network"}, {"reason": "Scheduled", "message": "placed"}]
    assert told(waiting.answer(Facts(pod([creating], "Pending"), NOW, events)))[1:] == ["no network"]


def test_a_container_that_ends_again_and_again():
    last = {"exitCode": 137, "reason": "OOMKilled", "startedAt": ago(12), "finishedAt": ago(10), "message": "bye\n"}
    status = {"name": "c", "restartCount": 4, "ready": False, "lastState": {"terminated": last}}
    status["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    probes = {"liveness": {"succeeded": False, "output": "no answer\n", "at": ago(11)}}
    kubelet = {"phase": "sync", "steps": [], "containers": {"c": {"startsAgainInSeconds": 70.0, "probes": probes}}}
    assert told(crashing.answer(Facts(pod([status]), NOW, kubelet=kubelet, logs={"c": ("one", "two")})))[2:] == [
        "c: its last run ended 10 s ago with exit code 137, which is SIGKILL (OOMKilled) after 2.0 s; started again 4 times.",
        "  It used more memory than it may: its limit is 20Mi.",
        "  Its liveness probe failed: no answer",
        "  Its next run begins in 70 s.",
        "  It left the message: bye",
        "  Its last lines:",
        "    one",
        "    two",
    ]


def test_a_container_that_its_probe_has_had_killed():
    last = {"exitCode": 137, "reason": "Error", "startedAt": ago(12), "finishedAt": ago(10)}
    status = {"name": "c", "restartCount": 1, "ready": False, "lastState": {"terminated": last}, "state": {"running": {}}}
    probes = {"readiness": {"succeeded": False, "output": "", "at": ago(1)}}
    kubelet = {"phase": "sync", "steps": [], "containers": {"c": {"probes": probes}}}
    killed = "Container c failed liveness probe, will be restarted"
    events = [{"reason": "Killing", "message": killed}, {"reason": "Killing", "message": "Stopping container d"}]
    lines = told(crashing.answer(Facts(pod([status]), NOW, events, kubelet=kubelet)))
    assert lines[2].endswith("; started again once.")
    assert lines[3:5] == [f"  {killed}", "  Its readiness probe failed: it said nothing"]


def test_a_probe_that_says_no_and_a_gate_that_is_closed():
    status = {"name": "c", "ready": False, "state": {"running": {"startedAt": ago(50)}}}
    probes = {"readiness": {"succeeded": False, "output": "HTTP 503", "at": times.rfc3339_micro(NOW - 2)}}
    kubelet = {"phase": "sync", "steps": [], "containers": {"c": {"probes": probes}}}
    shown = pod([status])
    shown["spec"]["readinessGates"] = [{"conditionType": "example.com/open"}]
    lines = told(unready.answer(Facts(shown, NOW, node=node(), kubelet=kubelet)))
    assert "HTTP 503" in lines[1]
    assert "example.com/open" in lines[2]


def test_a_pod_that_runs_well_has_nothing_of_this():
    status = {"name": "c", "ready": True, "state": {"running": {"startedAt": ago(50)}}}
    well = pod([status])
    well["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    facts = Facts(well, NOW, node=node())
    assert [each.answer(facts) for each in (terminating, waiting, crashing, unready)] == [None] * 4
