"""One try of one pod: what it may never do, and what people are told."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.cycle import Placed, Unplaced

HELP = "no new claims to deallocate, preemption: "


def told(outcome: Placed | Unplaced) -> str:
    assert isinstance(outcome, Unplaced)
    return outcome.message


node_facts = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(("500m", "1", "2")),
        "pods": st.sampled_from(("1", "3")),
        "zone": st.sampled_from(("", "x", "y")),
        "taint": st.booleans(),
        "cordoned": st.booleans(),
    }
)
pod_facts = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(("", "100m", "700m", "1500m")),
        "zone": st.sampled_from(("", "x")),
        "tolerates": st.booleans(),
        "port": st.sampled_from((0, 0, 80)),
        "app": st.sampled_from(("red", "green")),
        "alone": st.booleans(),
        "spread": st.booleans(),
    }
)


def pod_spec(facts: dict[str, Any]) -> Obj:
    spec: Obj = {"tolerations": [{"operator": "Exists", "key": "t"}] if facts["tolerates"] else []}
    selector = {"matchLabels": {"app": facts["app"]}}
    if facts["zone"]:
        spec["nodeSelector"] = {"zone": facts["zone"]}
    if facts["alone"]:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if facts["spread"]:
        constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        spec["topologySpreadConstraints"] = [constraint]
    return spec


def may(pod: dict[str, Any], there: list[dict[str, Any]], node: dict[str, Any]) -> bool:
    """Said again, slowly and for one node."""
    used = sum(amount(each["cpu"]) for each in there)
    fits = not amount(pod["cpu"]) or used + amount(pod["cpu"]) <= amount(node["cpu"])
    free = not pod["port"] or all(each["port"] != pod["port"] for each in there)
    apart = all(each["app"] != pod["app"] for each in there if each["alone"] or pod["alone"])
    wanted = (not pod["zone"] or pod["zone"] == node["zone"]) and (not pod["spread"] or bool(node["zone"]))
    open_to_it = (pod["tolerates"] or not node["taint"]) and not node["cordoned"]
    return fits and free and apart and wanted and open_to_it and len(there) < int(node["pods"])


def amount(text: str) -> int:
    return quantity.parse(text).milli() if text else 0


def evenly(pod: dict[str, Any], placed: dict[str, list[dict[str, Any]]], nodes: list[dict[str, Any]], at: int) -> bool:
    """The spread of its app over the zones that it may be in."""
    if not pod["spread"]:
        return True
    counts: dict[str, int] = {}
    for number, node in enumerate(nodes):
        if node["zone"] and (not pod["zone"] or pod["zone"] == node["zone"]):
            same = sum(each["app"] == pod["app"] for each in placed[f"n{number}"])
            counts[node["zone"]] = counts.get(node["zone"], 0) + same
    return counts[nodes[at]["zone"]] + 1 - min(counts.values()) <= 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(node_facts, min_size=1, max_size=5), st.lists(pod_facts, max_size=14))
def test_no_pod_goes_where_a_filter_refuses_it_and_none_is_refused_that_could_go(
    bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj], on: Callable[..., Obj], nodes: Any, pods: Any
):
    trial = type(bench)()
    for number, facts in enumerate(nodes):
        labels = {"zone": facts["zone"]} if facts["zone"] else {}
        taints = [{"key": "t", "effect": "NoSchedule"}] if facts["taint"] else []
        amounts = {"cpu": facts["cpu"], "pods": facts["pods"]}
        spec = {"unschedulable": facts["cordoned"]}
        trial.nodes(node(f"n{number}", labels=labels, taints=taints, amounts=amounts, spec=spec))
    placed: dict[str, list[dict[str, Any]]] = {f"n{number}": [] for number in range(len(nodes))}
    for number, facts in enumerate(pods):
        made = pod(f"p{number}", cpu=facts["cpu"], labels={"app": facts["app"]}, **pod_spec(facts))
        if facts["port"]:
            made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": facts["port"]}]
        possible = [
            f"n{at}" for at, each in enumerate(nodes) if may(facts, placed[f"n{at}"], each) and evenly(facts, placed, nodes, at)
        ]
        outcome = trial.try_pod(made)
        if isinstance(outcome, Placed):
            assert outcome.node in possible
            assert possible == trial.feasible(made)
            placed[outcome.node].append(facts)
            trial.running(on(made, outcome.node))
        else:
            assert possible == []
            assert outcome.message.startswith(f"0/{len(nodes)} nodes are available:")
            assert outcome.refused_by


# v1.36.4 pkg/scheduler/schedule_one.go:53 (ErrNoNodesAvailable)
def test_without_nodes(bench: Any, pod: Callable[..., Obj]):
    outcome = bench.try_pod(pod("a"))
    assert told(outcome) == "no nodes available to schedule pods"
    assert isinstance(outcome, Unplaced)
    assert outcome.refused_by == frozenset()


# v1.36.4 pkg/scheduler/framework/types.go:937 (FitError)
def test_reasons_are_counted_and_sorted(bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj]):
    tainted = [{"key": "k", "effect": "NoSchedule"}]
    bench.nodes(node("a"), node("b", taints=tainted), node("c", taints=tainted))
    assert told(bench.try_pod(pod("p", cpu="5"))) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). "
        + HELP
        + "0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_a_node_is_told_of_every_resource_that_it_lacks(bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj]):
    bench.nodes(node("a", amounts={"cpu": "1", "memory": "1Gi", "pods": "0"}))
    outcome = bench.try_pod(pod("p", cpu="2", memory="2Gi"))
    assert told(outcome).startswith("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods. ")


# v1.36.4 pkg/scheduler/schedule_one.go (findNodesThatFitPod, PreFilterResult), node_affinity.go:150 (PreFilter)
def test_nodes_that_are_not_named_are_not_looked_at(bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj]):
    bench.nodes(node("a", spec={"unschedulable": True}), node("b"), node("c"))
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert told(bench.try_pod(pod("p", affinity={"nodeAffinity": required}))) == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
        + HELP
        + "0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def selected(*expressions: Obj) -> Obj:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


# v1.36.4 staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go:224
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ({"key": "rank", "operator": "In", "values": ["1", "3"]}, ["one", "three"]),
        ({"key": "rank", "operator": "NotIn", "values": ["1"]}, ["none", "three"]),
        ({"key": "rank", "operator": "Exists"}, ["one", "three"]),
        ({"key": "rank", "operator": "DoesNotExist"}, ["none"]),
        ({"key": "rank", "operator": "Gt", "values": ["1"]}, ["three"]),
        ({"key": "rank", "operator": "Lt", "values": ["3"]}, ["one"]),
        ({"key": "rank", "operator": "Gt", "values": ["many"]}, []),
    ],
)
def test_operators_of_node_affinity(
    bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj], expression: Obj, expected: list[str]
):
    bench.nodes(node("none"), node("one", labels={"rank": "1"}), node("three", labels={"rank": "3"}))
    assert bench.feasible(pod("p", affinity=selected(expression))) == expected


# v1.36.4 pkg/scheduler/framework/plugins/interpodaffinity/filtering.go:400 (the first pod of a group)
def test_the_first_of_a_group_that_wants_to_be_together(
    bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj], on: Callable[..., Obj]
):
    bench.nodes(node("a", labels={"zone": "x"}), node("b", labels={"zone": "x"}), node("c", labels={"zone": "y"}), node("d"))
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "red"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    together = pod("p", labels={"app": "red"}, affinity=affinity)
    assert bench.feasible(together) == ["a", "b", "c"]
    assert isinstance(bench.try_pod(pod("q", labels={"app": "blue"}, affinity=affinity)), Unplaced)
    bench.running(on(together, "a"))
    assert bench.feasible(pod("r", affinity=affinity)) == ["a", "b"]


# v1.36.4 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go:340 (missing label)
def test_spreading_needs_the_label(bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj], on: Callable[..., Obj]):
    bench.nodes(node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c"))
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "red"}},
    }
    spread = {"labels": {"app": "red"}, "topologySpreadConstraints": [constraint]}
    bench.running(on(pod("1", **spread), "a"))
    assert bench.feasible(pod("2", **spread)) == ["b"]
    bench.running(on(pod("2", cpu="4", **spread), "b"), on(pod("3", **spread), "a"))
    assert told(bench.try_pod(pod("4", cpu="1", **spread))).startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label). "
    )


def test_a_decision_can_be_explained(bench: Any, node: Callable[..., Obj], pod: Callable[..., Obj]):
    bench.nodes(node("a", spec={"unschedulable": True}), node("b"), node("c", amounts={"cpu": "8"}))
    explained = bench.try_pod(pod("p", cpu="1", memory="1Gi")).decision.explain()
    assert explained["node"] == "c"
    assert explained["nodes"]["a"]["refusedBy"] == [{"plugin": "NodeUnschedulable", "reason": "node(s) were unschedulable"}]
    # (7/8 + 7/8) / 2 of 100, and even to the last percent: v1.36.4 noderesources/least_allocated.go, balanced_allocation.go
    assert explained["nodes"]["c"]["scores"]["NodeResourcesFit"] == 87
    assert explained["nodes"]["c"]["total"] > explained["nodes"]["b"]["total"]
