"""By arithmetic over all nodes at once, or with every node tried by itself: the answers are the same."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.machinery.tree import Obj
from tiphys.scheduler import pod_info
from tiphys.scheduler.config.settings import ProfileSettings
from tiphys.scheduler.cycle import Placed
from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import Base, Refused
from tiphys.scheduler.node_table import Nodes
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.testing import Bench, bound, make_node, make_pod

NODES = ("a", "b", "c", "d")
TAINT = {"key": "hard", "value": "1", "effect": "NoSchedule"}
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "red"}}}
AWAY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}


class Silent(Base):
    """It refuses nobody, but nothing is known of what it looks at."""

    name = "Silent"
    unblocked_by = Event.NODE_ADDED

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        return None


nodes = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(("2", "4")),
        "memory": st.sampled_from(("2Gi", "8Gi")),
        "pods": st.sampled_from(("2", "4", "110")),
        "gpu": st.sampled_from(("", "1", "2")),
        "tainted": st.sampled_from((False, False, False, True)),
    }
)
pods = st.fixed_dictionaries(
    {
        "node": st.sampled_from(NODES),
        "cpu": st.sampled_from(("", "500m", "1", "2")),
        "memory": st.sampled_from(("", "500Mi", "1Gi")),
        "gpu": st.sampled_from(("", "", "1")),
        "app": st.sampled_from(("", "red", "green")),
        "away": st.sampled_from((False, False, False, False, True)),
        "port": st.sampled_from((0, 0, 0, 80)),
        "priority": st.integers(-1, 3),
        "started": st.booleans(),
    }
)
clusters = st.fixed_dictionaries(
    {
        "nodes": st.lists(nodes, min_size=1, max_size=len(NODES)),
        "there": st.lists(pods, max_size=14),
        "nominated": st.lists(pods, max_size=2),
        "allowed": st.none() | st.integers(0, 2),
        "least": st.sampled_from((1, 2, 100)),
    }
)
comers = st.lists(st.tuples(pods, st.integers(1, 5)), min_size=1, max_size=4)


def node_of(number: int, told: dict[str, Any]) -> Obj:
    amounts = {name: told[name] for name in ("cpu", "memory", "pods")}
    if told["gpu"]:
        amounts["example.com/gpu"] = told["gpu"]
    return make_node(NODES[number], amounts=amounts, taints=(TAINT,) if told["tainted"] else ())


def pod_of(name: str, number: int, told: dict[str, Any], priority: int) -> Obj:
    labels = {"app": told["app"]} if told["app"] else {}
    more: Obj = {"affinity": AWAY} if told["away"] else {}
    made = make_pod(name, cpu=told["cpu"], memory=told["memory"], labels=labels, priority=priority, **more)
    container = made["spec"]["containers"][0]
    if told["gpu"]:
        container["resources"]["requests"]["example.com/gpu"] = told["gpu"]
    if told["port"]:
        container["ports"] = [{"hostPort": told["port"]}]
    if told["started"]:
        # No two at the same time: of pods that are alike it does not matter who goes.
        made["status"] = {"startTime": f"2026-01-01T00:00:{59 - number:02}Z"}
    return made


def built(told: dict[str, Any], bench: Bench) -> Bench:
    bench.nodes(*(node_of(number, each) for number, each in enumerate(told["nodes"])))
    for number, each in enumerate(told["there"]):
        # All that have not started are newest, and one of a node and a priority is enough of them.
        first = not any(
            (other["node"], other["priority"], other["started"]) == (each["node"], each["priority"], False)
            for other in told["there"][:number]
        )
        if each["started"] or first:
            bench.running(bound(pod_of(f"there-{number}", number, each, each["priority"]), each["node"]))
    for number, each in enumerate(told["nominated"]):
        waiting = pod_of(f"waiting-{number}", number, each, each["priority"])
        bench.running({**waiting, "status": {"nominatedNodeName": each["node"]}})
    if told["allowed"] is not None:
        status = {"disruptionsAllowed": told["allowed"]}
        budget = {"spec": {"selector": {"matchLabels": {"app": "green"}}}, "status": status}
        bench.state.cluster.budgets["default"] = {"budget": budget}
    return bench


def told_of(bench: Bench, pod: Obj) -> Any:
    """What is decided, and carried out at once."""
    outcome = bench.try_pod(pod)
    state = bench.state
    if isinstance(outcome, Placed):
        state.pods.assume(pod_info.of(pod), outcome.node)
        return outcome.node
    said = [(each.node, [victim.name for victim in each.pods], each.violations) for each in outcome.candidates]
    if outcome.victims is not None:
        for victim in outcome.victims.pods:
            state.pods.remove(victim.uid)
        state.pods.assume(pod_info.of(pod), outcome.victims.node)
    return outcome.message, said, outcome.victims and outcome.victims.node


@settings(max_examples=300, deadline=None)
@given(clusters, comers)
def test_the_same_victims_and_words_as_node_by_node(cluster: dict[str, Any], waiting: list[Any]):
    effort = {"DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": cluster["least"]}}
    chosen = ProfileSettings(arguments=effort)
    at_once, one_by_one = (built(cluster, Bench(*more, settings=chosen)) for more in ((), (Silent(),)))
    for number, (told, priority) in enumerate(waiting):
        pod = pod_of(f"comer-{number}", 30 + number, told, priority)
        assert one_by_one.cycle.filtering.sums(pod_info.of(pod)) is None
        assert told_of(at_once, pod) == told_of(one_by_one, pod)


@pytest.mark.parametrize(
    ("more", "sums"),
    [
        ({}, {"pods", "cpu"}),
        ({"affinity": AWAY}, None),
        ({"labels": {"app": "red"}}, None),
        ({"labels": {"app": "green"}}, {"pods", "cpu"}),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, None),
        ({"resourceClaims": [{"name": "r", "resourceClaimName": "c"}]}, None),
        ({"topologySpreadConstraints": [{**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}, None),
    ],
)
def test_sums_are_enough_where_nothing_else_about_other_pods_matters(more: Any, sums: set[str] | None):
    bench = Bench().nodes(make_node("a"))
    bench.running(bound(make_pod("rival", affinity=AWAY), "a"))
    found = bench.cycle.filtering.sums(pod_info.of(make_pod("more", cpu="1", **more)))
    assert found == sums


def test_a_pod_that_is_to_come_may_keep_others_away():
    bench = Bench().nodes(make_node("a"))
    rival = make_pod("rival", affinity=AWAY, priority=9)
    bench.running({**rival, "status": {"nominatedNodeName": "a"}})
    sums = bench.cycle.filtering.sums
    assert sums(pod_info.of(make_pod("red", cpu="1", labels={"app": "red"}))) is None
    assert sums(pod_info.of(make_pod("green", cpu="1", labels={"app": "green"}))) == {"pods", "cpu"}
    assert sums(pod_info.of(make_pod("first", cpu="1", labels={"app": "red"}, priority=10))) == {"pods", "cpu"}


def test_a_pod_that_has_come_where_it_was_to_come_counts_once():
    bench = Bench().nodes(make_node("a"))
    come = make_pod("come", cpu="3", priority=9)
    bench.running({**come, "status": {"nominatedNodeName": "a"}}, bound(make_pod("low", cpu="1"), "a"))
    bench.state.pods.assume(pod_info.of(come), "a")
    assert told_of(bench, make_pod("more", cpu="1", priority=5))[1] == [("a", ["low"], 0)]
