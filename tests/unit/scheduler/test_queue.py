"""The queue: what is tried next, what waits for what, and that nothing is lost."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.scheduler import pod_info
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.profiles import default_profile
from tiphys.scheduler.queue import LONGEST_UNSCHEDULABLE, Queue


def queue() -> Queue:
    return Queue({DEFAULT_SCHEDULER: default_profile(Cluster())})


def info(name: str, priority: int = 0, gated: bool = False, cpu: str = "1", **spec: Any) -> PodInfo:
    requests = {"cpu": cpu}
    spec = {
        "schedulerName": DEFAULT_SCHEDULER,
        "priority": priority,
        "containers": [{"name": "c", "resources": {"requests": requests}}],
        **spec,
    }
    if gated:
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    return pod_info.of({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec})


def node(cpu: str) -> dict[str, Any]:
    return {"metadata": {"name": "n"}, "spec": {}, "status": {"allocatable": {"cpu": cpu, "pods": "10"}}}


# v1.36.4 pkg/scheduler/framework/plugins/queuesort/priority_sort.go:47
def test_priority_goes_before_age():
    waiting = queue()
    for at, (name, priority) in enumerate((("old", 0), ("young", 0), ("important", 5))):
        waiting.add(info(name, priority), float(at))
    popped = [waiting.pop(10.0) for _ in range(3)]
    assert [each.pod.name for each in popped if each] == ["important", "old", "young"]
    assert waiting.pop(10.0) is None


# v1.36.4 pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go:51
def test_a_gated_pod_is_not_tried_until_its_gates_are_gone():
    waiting = queue()
    gated = info("a", gated=True)
    waiting.add(gated, 0.0)
    assert waiting.pop(1000.0) is None
    assert waiting.counts()["gated"] == 1
    waiting.flush(10_000.0)
    assert waiting.pop(10_000.0) is None
    waiting.update(gated, info("a"), [Event.POD_GATES_GONE], 10_001.0)
    popped = waiting.pop(10_001.0)
    assert popped is not None
    assert popped.pod.name == "a"


def refused_for_room(cpu: str = "1") -> Queue:
    waiting = queue()
    waiting.add(info("a", cpu=cpu), 0.0)
    popped = waiting.pop(0.0)
    assert popped is not None
    waiting.refuse(popped, ["NodeResourcesFit"], 0.0)
    assert waiting.pop(100.0) is None
    return waiting


# v1.36.4 pkg/scheduler/framework/plugins/noderesources/fit.go:424 (isSchedulableAfterNodeChange)
def test_only_an_event_that_could_help_moves_a_pod():
    waiting = refused_for_room(cpu="2")
    assert waiting.happened(Change(Event.NODE_LABELS, node("1"), node("8")), 50.0) == 0
    assert waiting.happened(Change(Event.NODE_ADDED, None, node("1")), 50.0) == 0
    assert waiting.happened(Change(Event.NODE_ALLOCATABLE, node("4"), node("3")), 50.0) == 0
    assert waiting.happened(Change(Event.NODE_ADDED, None, node("2")), 50.0) == 1
    assert waiting.pop(50.0) is not None


# v1.36.4 pkg/scheduler/framework/plugins/noderesources/fit.go:343 (isSchedulableAfterPodEvent)
def test_room_is_made_by_pods_that_were_on_a_node():
    waiting = refused_for_room()
    assert waiting.happened(Change(Event.POD_DELETED, None, None, info("other")), 50.0) == 0
    assert waiting.happened(Change(Event.POD_DELETED, None, None, info("other", nodeName="n")), 50.0) == 1


# v1.36.4 pkg/scheduler/backend/queue/backoff_queue.go:146
def test_backing_off_doubles_up_to_ten_seconds():
    waiting = queue()
    waiting.add(info("a"), 0.0)
    now, waits = 0.0, []
    for _ in range(6):
        popped = waiting.pop(now)
        assert popped is not None
        waiting.refuse(popped, (), now)
        due = waiting.next_at()
        assert due is not None
        assert waiting.pop(due - 0.001) is None
        waits.append(due - now)
        now = due
    assert waits == [1, 2, 4, 8, 10, 10]


# v1.36.4 pkg/features/kube_features.go (SchedulerPopFromBackoffQ)
def test_refused_pods_are_tried_early_when_there_is_nothing_better():
    waiting = refused_for_room()
    waiting.happened(Change(Event.NODE_ADDED, None, node("2")), 0.1)
    assert waiting.counts()["backoff"] == 1
    assert waiting.pop(0.1) is not None


# v1.36.4 pkg/scheduler/backend/queue/scheduling_queue.go (flushUnschedulablePodsLeftover)
def test_nobody_waits_for_ever():
    waiting = refused_for_room()
    assert waiting.flush(LONGEST_UNSCHEDULABLE - 1) == 0
    assert waiting.flush(LONGEST_UNSCHEDULABLE + 1) == 1
    assert waiting.pop(LONGEST_UNSCHEDULABLE + 1) is not None


steps = st.lists(
    st.tuples(
        st.sampled_from(("add", "add gated", "pop", "remove", "event", "update", "wait", "fail", "refuse")), st.integers(0, 4)
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(steps)
def test_no_pod_is_forgotten_and_none_is_there_twice(happened: list[tuple[str, int]]):
    waiting, now = queue(), 0.0
    inside: set[str] = set()
    for step, number in happened:
        name = str(number)
        now += 0.5
        if step in ("add", "add gated") and name not in inside:
            waiting.add(info(name, number, step == "add gated"), now)
            inside.add(name)
        elif step == "remove":
            waiting.remove(name)
            inside.discard(name)
        elif step == "update" and name in inside:
            waiting.update(info(name, number), info(name, 9 - number), [Event.POD_GATES_GONE], now)
        elif step == "event":
            waiting.happened(Change(Event.NODE_ADDED, None, node("9")), now)
        elif step == "wait":
            now += 60 * number
            waiting.flush(now)
        elif step in ("pop", "fail", "refuse"):
            popped = waiting.pop(now)
            if popped is not None and step == "pop":
                inside.discard(popped.pod.uid)
            elif popped is not None:
                waiting.refuse(popped, ["NodeResourcesFit"] if step == "refuse" else (), now)
        assert len(waiting) == len(inside)
        assert all(name in waiting for name in inside)
        assert sum(waiting.counts().values()) == len(inside)
    # Whatever happened: once their gates are gone and a node comes, all of them come out, once.
    for name in inside:
        queued = waiting.get(name)
        assert queued is not None
        waiting.update(queued.pod, info(name), [Event.POD_GATES_GONE], now)
    now += LONGEST_UNSCHEDULABLE + 100
    waiting.flush(now)
    out = []
    while (popped := waiting.pop(now)) is not None:
        out.append(popped.pod.uid)
    assert sorted(out) == sorted(inside)
