"""What becomes of a pod of a simulated node. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import times
from tiphys.sim.pods import Place, step

NOW = 1_800_000_000.0
PLACE = Place("100.64.0.1", "100.64.0.2")


def pod(*, annotations=None, deleted=None, grace=30, status=None, **spec):
    metadata = {"name": "p", "namespace": "default", "uid": "u", "annotations": annotations or {}, "generation": 1}
    if deleted is not None:
        metadata |= {"deletionTimestamp": times.rfc3339(deleted + grace), "deletionGracePeriodSeconds": grace}
    containers = [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y:1"}]
    return {"metadata": metadata, "spec": {"restartPolicy": "Always", "containers": containers, **spec}, "status": status or {}}


def told(**given_):
    return {f"sim.tiphys.dev/{key.replace('_', '-')}": str(value) for key, value in given_.items()}


def live(obj, until=NOW + 100_000, limit=200):
    """Every status that the pod has in its life, and when; a status that is written is what the next step sees."""
    now, seen = NOW, []
    for _ in range(limit):
        due = step(obj, PLACE, now)
        if due.status is not None:
            obj = {**obj, "status": due.status}
            seen.append((now - NOW, due.status))
        if due.delete:
            return [*seen, (now - NOW, None)]
        if due.status is not None and due.at is None:
            continue
        if due.at is None or due.at > until:
            return seen
        now = max(now, due.at)
    raise AssertionError("it never comes to rest")


def conditions(status):
    return {each["type"]: each["status"] for each in status["conditions"]}


def test_a_pod_runs_at_once_and_is_ready():
    ((at, status),) = live(pod())
    assert at == 0
    assert status["phase"] == "Running"
    assert set(conditions(status).values()) == {"True"}
    assert (status["podIP"], status["hostIP"]) == ("100.64.0.2", "100.64.0.1")
    assert [(each["name"], each["ready"], each["restartCount"]) for each in status["containerStatuses"]] == [
        ("a", True, 0),
        ("b", True, 0),
    ]


def test_one_that_takes_its_time_to_start():
    (_, first), (at, second) = live(pod(annotations=told(start_seconds=5)))
    assert (first["phase"], conditions(first)["Ready"], first.get("podIP")) == ("Pending", "False", None)
    assert at == 5
    assert second["phase"] == "Running"


@pytest.mark.parametrize(
    ("policy", "code", "phase"), [("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded")]
)
def test_one_that_ends_by_itself(policy, code, phase):
    (_, running), (at, ended) = live(pod(annotations=told(run_seconds=60, exit_code=code), restartPolicy=policy))
    assert running["phase"] == "Running"
    assert (at, ended["phase"]) == (60, phase)
    assert ended["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
    assert conditions(ended)["Ready"] == "False"


def test_one_that_fails_again_and_again_comes_back_later_and_later():
    seen = live(pod(annotations=told(run_seconds=10, exit_code=1), restartPolicy="OnFailure"), until=NOW + 200)
    starts = [at for at, status in seen if "running" in status["containerStatuses"][0]["state"]]
    assert starts == [0, 10, 30, 60, 110, 200]
    assert seen[-1][1]["containerStatuses"][0]["restartCount"] == 5
    assert seen[-1][1]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1


def test_the_deadline_ends_it():
    (_, _), (at, ended) = live(pod(activeDeadlineSeconds=30))
    assert (at, ended["phase"], ended["reason"]) == (30, "Failed", "DeadlineExceeded")


@pytest.mark.parametrize(
    ("stop", "grace", "goes", "phase"), [(0, 30, 0, "Succeeded"), (5, 30, 5, "Succeeded"), (60, 30, 30, "Failed")]
)
def test_a_deleted_pod_gets_its_grace_period(stop, grace, goes, phase):
    running = live(pod())[0][1]
    seen = live(pod(annotations=told(stop_seconds=stop), deleted=NOW, grace=grace, status=running))
    assert [(at, status and status["phase"]) for at, status in seen] == [(goes, phase), (goes, None)]


def test_one_that_never_started_just_goes():
    assert live(pod(deleted=NOW)) == [(0, None)]


def test_host_network_init_containers_and_gates():
    inits = [{"name": "first", "image": "i"}, {"name": "side", "image": "s", "restartPolicy": "Always"}]
    ((_, status),) = live(pod(hostNetwork=True, initContainers=inits, readinessGates=[{"conditionType": "lb"}]))
    assert status["podIP"] == "100.64.0.1"
    assert [list(each["state"]) for each in status["initContainerStatuses"]] == [["terminated"], ["running"]]
    assert (conditions(status)["ContainersReady"], conditions(status)["Ready"]) == ("True", "False")
    opened = {**status, "conditions": [*status["conditions"], {"type": "lb", "status": "True"}]}
    again = pod(hostNetwork=True, initContainers=inits, readinessGates=[{"conditionType": "lb"}], status=opened)
    assert conditions(step(again, PLACE, NOW).status)["Ready"] == "True"


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "start_seconds": st.integers(0, 20),
            "run_seconds": st.integers(1, 100),
            "exit_code": st.integers(0, 2),
            "stop_seconds": st.integers(0, 50),
        },
    ),
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.integers(1, 40),
)
def test_what_is_written_is_not_written_again_and_a_deleted_pod_goes(wishes, policy, grace):
    seen = live(pod(annotations=told(**wishes), restartPolicy=policy), until=NOW + 500)
    last_at, last = seen[-1]
    resting = pod(annotations=told(**wishes), restartPolicy=policy, status=last)
    assert step(resting, PLACE, NOW + last_at).status is None
    later = NOW + last_at
    leaving = {**resting, "metadata": pod(annotations=told(**wishes), deleted=later, grace=grace)["metadata"]}
    now = later
    for _ in range(3):
        due = step(leaving, PLACE, now)
        if due.delete:
            break
        now = due.at
    assert due.delete
    assert now <= later + grace
