"""Why a pod is nowhere, or where it is: the words people get. The sentences are ours; upstream has none beyond its events."""

from collections.abc import Callable
from typing import Any

import pytest

from tiphys.machinery.tree import Obj
from tiphys.scheduler import explaining, pod_info
from tiphys.scheduler.amounts import spelled
from tiphys.scheduler.cycle import Placed

Maker = Callable[..., Obj]
ZONE = "topology.kubernetes.io/zone"


def tried(bench: Any, pod: Obj) -> dict[str, Any]:
    """What is told of a pod after one try."""
    queue, state = bench.state.queue, bench.state
    queue.add(pod_info.of(pod), 10.0)
    queued = queue.pop(12.0)
    outcome = bench.cycle.schedule(queued.pod, 12.0)
    state.decisions.keep(outcome.decision.after(queued.attempts, queued.waited, queued.woken_by))
    if isinstance(outcome, Placed):
        state.pods.assume(queued.pod, outcome.node)
    else:
        queue.refuse(queued, outcome.refused_by, 12.0)
    told = explaining.explain(state, queued.pod.key, 20.0)
    assert told is not None
    return told


def lacks(told: dict[str, Any]) -> dict[str, list[str]]:
    return {miss["node"]: [word for by in miss["refusedBy"] for word in by["lacks"]] for miss in told["now"]["misses"]}


def test_the_nearest_miss_comes_first_and_says_by_how_much(bench: Any, node: Maker, pod: Maker, on: Maker):
    bench.nodes(*(node(f"node-{each}") for each in range(4)))
    amounts = {"node-0": "8Gi", "node-1": "6Gi", "node-2": "7Gi", "node-3": "5420Mi"}
    bench.running(*(on(pod(f"on-{name}", memory=memory), name) for name, memory in amounts.items()))
    told = tried(bench, pod("p", memory="3Gi"))
    assert list(lacks(told).items()) == [
        ("node-3", ["lacks 300Mi memory"]),
        ("node-1", ["lacks 1Gi memory"]),
        ("node-2", ["lacks 2Gi memory"]),
        ("node-0", ["lacks 3Gi memory"]),
    ]
    assert told["now"]["remedies"][0] == "free 300Mi memory on node-3"
    assert told["decision"]["refusals"] == [
        {"plugin": "NodeResourcesFit", "reason": "Insufficient memory", "count": 4, "nodes": [f"node-{at}" for at in range(4)]}
    ]
    assert (told["state"], told["queue"]["place"], told["queue"]["attempts"]) == ("pending", "unschedulable", 1)
    assert told["queue"]["waitedSeconds"] == {"active": 2.0, "unschedulable": 8.0}


def test_what_helps_is_everything_that_a_node_lacks(bench: Any, node: Maker, pod: Maker):
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    bench.nodes(node("a", taints=[taint], labels={"disk": "hdd"}))
    told = tried(bench, pod("p", nodeSelector={"disk": "ssd"}))
    assert lacks(told) == {"a": ["has the taint dedicated=gpu:NoSchedule", "has no label disk=ssd (it has disk=hdd)"]}
    assert told["now"]["remedies"] == [
        "add a toleration of dedicated=gpu:NoSchedule to the pod, or: kubectl taint node a dedicated:NoSchedule-; and "
        "kubectl label node a disk=ssd --overwrite"
    ]


def anti(**labels: str) -> Obj:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def near(**labels: str) -> Obj:
    return {"podAffinity": anti(**labels)["podAntiAffinity"]}


SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"affinity": anti(app="web")}, ["has pod default/there, which the anti-affinity keeps away from, in " + ZONE + "=z"]),
        ({"affinity": near(app="db")}, ["has no pod that the affinity asks for in " + ZONE + "=z"]),
        ({"nodeName": "b"}, ["is not b, which the pod names"]),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]},
            ["has port 80/TCP taken by pod default/there"],
        ),
        (
            {"labels": {"app": "web"}, "topologySpreadConstraints": [SPREAD]},
            [f"is in {ZONE}=z with 1 such pods; the fewest are 0 (in y), maxSkew 1"],
        ),
        ({"labels": {"app": "mail"}}, ["has pod default/there, whose anti-affinity keeps this one away, in " + ZONE + "=z"]),
        ({"cpu": "5"}, ["lacks 1 cpu (it has 4 in all)"]),
    ],
)
def test_each_plugin_says_what_is_missing(
    bench: Any, node: Maker, pod: Maker, on: Maker, spec: dict[str, Any], expected: list[str]
):
    bench.nodes(node("a", labels={ZONE: "z"}), node("elsewhere", labels={ZONE: "y"}, spec={"unschedulable": True}))
    port = [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]
    bench.running(on(pod("there", labels={"app": "web"}, containers=port, affinity=anti(app="mail")), "a"))
    assert lacks(tried(bench, pod("p", **spec)))["a"] == expected


def test_what_is_wrong_with_the_pod_itself(bench: Any, node: Maker, pod: Maker):
    bench.nodes(node("a"))
    told = tried(bench, pod("p", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}]))
    assert told["now"]["problems"] == ['persistentvolumeclaim "mine" not found']


def test_a_gated_pod(bench: Any, node: Maker, pod: Maker):
    bench.nodes(node("a"))
    gated = pod("p", schedulingGates=[{"name": "x.io/y"}])
    bench.state.queue.add(pod_info.of(gated), 1.0)
    told = explaining.explain(bench.state, "default/p", 4.0)
    assert told is not None
    assert (told["state"], told["queue"]["gate"]) == ("gated", "waiting for scheduling gates: [x.io/y]")
    assert "now" not in told


def test_scores_of_the_best_nodes_and_the_chosen_one(bench: Any, node: Maker, pod: Maker):
    bench.nodes(*(node(f"n{at}", amounts={"cpu": str(at + 1)}) for at in range(30)))
    told = tried(bench, pod("p", cpu="500m", memory="1Gi"))
    assert told["state"] == "placed"
    scores = told["decision"]["scores"]
    assert len(scores) == explaining.MOST_NODES
    assert scores[0]["node"] == told["decision"]["node"]
    totals = [each["total"] for each in scores]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] == sum(part["score"] * part["weight"] for part in scores[0]["plugins"].values())


def test_what_woke_it_is_remembered(bench: Any, node: Maker, pod: Maker):
    bench.nodes(node("a", amounts={"cpu": "1"}))
    tried(bench, pod("p", cpu="2"))
    bench.state.node_changed(None, node("b"), 30.0)
    told = explaining.explain(bench.state, "default/p", 31.0)
    assert told is not None
    assert told["queue"]["wokenBy"] == "node added: b"
    assert told["now"]["fits"] == 1


def test_nobody_knows_of_it(bench: Any):
    assert explaining.explain(bench.state, "default/p", 0.0) is None


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 300 * 2**20, "300Mi"),
        ("memory", 3 * 2**30, "3Gi"),
        ("memory", 2**20 - 1, "1024Ki"),
        ("memory", 100, "100"),
        ("example.com/gpu", 2, "2"),
    ],
)
def test_amounts(resource: str, amount: int, text: str):
    assert spelled(resource, amount) == text
