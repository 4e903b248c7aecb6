"""Who has to go so that a more important pod can come."""

from collections.abc import Callable
from typing import Any

from tiphys.machinery.tree import Obj
from tiphys.scheduler.cycle import Unplaced
from tiphys.scheduler.victims import Victims

Maker = Callable[..., Obj]


def victims(outcome: Any) -> Victims:
    assert isinstance(outcome, Unplaced)
    assert outcome.victims is not None
    return outcome.victims


def names(found: Victims) -> list[str]:
    return [each.name for each in found.pods]


# v1.36.4 pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode)
def test_as_few_as_possible_and_the_least_important(bench: Any, node: Maker, pod: Maker, on: Maker):
    bench.nodes(node("a"))
    for number in range(4):
        bench.running(on(pod(f"p{number}", cpu="1", priority=number), "a"))
    found = victims(bench.try_pod(pod("more", cpu="2", priority=10)))
    assert found.node == "a"
    assert names(found) == ["p1", "p0"]
    assert bench.state.table.pod_count[0] == 4


# v1.36.4 pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption)
def test_the_node_with_the_least_loss(bench: Any, node: Maker, pod: Maker, on: Maker):
    bench.nodes(node("a"), node("b"), node("c"))
    bench.running(on(pod("high", cpu="4", priority=5), "a"), on(pod("low", cpu="4", priority=1), "b"))
    bench.running(*(on(pod(f"two{number}", cpu="2", priority=1), "c") for number in range(2)))
    assert names(victims(bench.try_pod(pod("more", cpu="3", priority=10)))) == ["low"]


# v1.36.4 pkg/scheduler/framework/preemption/preemption.go (minNumPDBViolatingScoreFunc)
def test_disruption_budgets_are_spared_if_there_is_another_way(bench: Any, node: Maker, pod: Maker, on: Maker):
    bench.nodes(node("a"), node("b"))
    bench.running(on(pod("guarded", cpu="4", priority=1, labels={"app": "x"}), "a"), on(pod("free", cpu="4", priority=5), "b"))
    budget = {"spec": {"selector": {"matchLabels": {"app": "x"}}}, "status": {"disruptionsAllowed": 0}}
    bench.state.cluster.budgets["default"] = {"budget": budget}
    assert names(victims(bench.try_pod(pod("more", cpu="4", priority=10)))) == ["free"]


# v1.36.4 pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (PodEligibleToPreemptOthers)
def test_never_means_never(bench: Any, node: Maker, pod: Maker, on: Maker):
    bench.nodes(node("a")).running(on(pod("p", cpu="4"), "a"))
    outcome = bench.try_pod(pod("more", cpu="4", priority=10, preemptionPolicy="Never"))
    assert isinstance(outcome, Unplaced)
    assert outcome.victims is None
    assert outcome.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_equals_do_not_evict_each_other(bench: Any, node: Maker, pod: Maker, on: Maker):
    bench.nodes(node("a")).running(on(pod("p", cpu="4", priority=10), "a"))
    outcome = bench.try_pod(pod("more", cpu="4", priority=10))
    assert isinstance(outcome, Unplaced)
    assert outcome.victims is None
    assert outcome.message.endswith("0/1 nodes are available: 1 No preemption victims found for incoming pod.")


# v1.36.4 pkg/scheduler/framework/runtime/framework.go (RunFilterPluginsWithNominatedPods)
def test_room_that_is_being_made_is_kept_from_less_important_pods(bench: Any, node: Maker, pod: Maker):
    bench.nodes(node("a"))
    waiting = {**pod("waiting", cpu="3", priority=10), "status": {"nominatedNodeName": "a"}}
    bench.running(waiting)
    assert isinstance(bench.try_pod(pod("low", cpu="2", priority=1)), Unplaced)
    assert bench.feasible(pod("small", cpu="1", priority=1)) == ["a"]
    assert bench.feasible(pod("high", cpu="2", priority=20)) == ["a"]
    assert bench.feasible(waiting) == []  # it goes to its nominated node without any scoring
    assert bench.try_pod(waiting).node == "a"


# v1.36.4 pkg/scheduler/backend/queue/nominator.go (UpdateNominatedPod)
def test_a_nomination_that_is_on_its_way_is_not_lost_to_other_changes(bench: Any, node: Maker, pod: Maker):
    bench.nodes(node("a"))
    state, waiting = bench.state, pod("waiting", cpu="3", priority=10)
    bench.running(waiting)
    queued = state.queue.get("uid-waiting")
    assert queued is not None
    state.nominations.put(queued.pod, "a")
    state.pod_changed(waiting, {**waiting, "status": {"phase": "Pending"}}, 0.0)
    assert state.nominations.node_of("uid-waiting") == "a"
    nominated = {**waiting, "status": {"nominatedNodeName": "a"}}
    state.pod_changed(waiting, nominated, 0.0)
    state.pod_changed(nominated, waiting, 0.0)
    assert state.nominations.node_of("uid-waiting") == ""


def test_anti_affinity_is_a_reason_to_evict(bench: Any, node: Maker, pod: Maker, on: Maker):
    bench.nodes(node("a"))
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    bench.running(on(pod("rival", labels={"app": "x"}, affinity=away), "a"), on(pod("bystander"), "a"))
    found = victims(bench.try_pod(pod("more", labels={"app": "x"}, affinity=away, priority=10)))
    assert names(found) == ["rival"]
