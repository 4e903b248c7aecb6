"""`tiphys why`: from what is known of a pod to what people read."""

from typing import Any

from tiphys.kubectl.why.answers import answers
from tiphys.kubectl.why.facts import Facts
from tiphys.machinery.tree import Obj

REFUSAL = {"plugin": "NodeResourcesFit", "reason": "Insufficient memory", "count": 7, "nodes": ["a", "b", "c", "d", "e", "f"]}
DECISION: dict[str, Any] = {
    "at": 1.0,
    "node": "",
    "message": "0/7 nodes are available: 7 Insufficient memory.",
    "attempts": 1,
    "waitedSeconds": {"active": 0.5},
    "refusals": [REFUSAL],
    "scores": [],
}
PENDING: dict[str, Any] = {
    "pod": "default/p",
    "state": "pending",
    "queue": {
        "place": "unschedulable",
        "attempts": 1,
        "waitedSeconds": {"active": 0.5, "unschedulable": 200.0},
        "refusedBy": ["NodeResourcesFit"],
    },
    "decision": DECISION,
    "now": {
        "fits": 0,
        "problems": [],
        "misses": [
            {
                "node": "a",
                "refusedBy": [{"plugin": "NodeResourcesFit", "lacks": ["lacks 300Mi memory"]}],
                "distance": 0.1,
                "remedies": ["free 300Mi memory on a"],
            }
        ],
        "remedies": ["free 300Mi memory on a"],
    },
}


def pod(node: str = "", **status: Any) -> Obj:
    spec = {"nodeName": node} if node else {}
    phase = "Succeeded" if node else "Pending"
    return {"metadata": {"name": "p", "namespace": "default"}, "spec": spec, "status": {"phase": phase, **status}}


def text(facts: Facts) -> list[str]:
    return "\n\n".join(each.text() for each in answers(facts)).splitlines()


def test_a_pod_that_no_node_can_take():
    assert text(Facts(pod(), 0.0, scheduling=PENDING)) == [
        "Pod default/p has no node yet: 0/7 nodes are available: 7 Insufficient memory.",
        "",
        "In the scheduler's queue: unschedulable, tried 1 time; it spent 0.5 s active, 3 min unschedulable.",
        "It is tried again when something changes that NodeResourcesFit waits for.",
        "",
        "Nodes by the first plugin that refused them:",
        "  NODES   PLUGIN             REASON                WHICH",
        "  7       NodeResourcesFit   Insufficient memory   a, b, c, d, e and 2 more",
        "",
        "The nearest misses, as things stand now:",
        "  a   lacks 300Mi memory",
        "",
        "One of these would let it run:",
        "  - free 300Mi memory on a",
    ]


def test_without_the_schedulers_word_the_condition_has_to_do():
    condition = {"type": "PodScheduled", "status": "False", "message": "no nodes available to schedule pods"}
    assert text(Facts(pod(conditions=[condition]), 0.0, silence="It is silent.")) == [
        "Pod default/p has no node yet: no nodes available to schedule pods",
        "",
        "It is silent.",
    ]


def test_a_pod_with_a_node():
    scores = [
        {"node": "b", "total": 152, "plugins": {"Fit": {"score": 76, "weight": 1}, "Spread": {"score": 38, "weight": 2}}},
        {"node": "a", "total": 9, "plugins": {"Fit": {"score": 9, "weight": 1}, "Spread": {"score": 0, "weight": 2}}},
    ]
    told = {"decision": {**DECISION, "node": "b", "attempts": 2, "wokenBy": "node added: b", "scores": scores}}
    assert text(Facts(pod("b"), 0.0, scheduling=told)) == [
        "Pod default/p is on node b.",
        "Placed at the second try; it spent 0.5 s active in the queue; what helped: node added: b.",
        "",
        "Scores of the best nodes (0 to 100 each, times the weight; * is where it went):",
        "  NODE   TOTAL   Fit x1   Spread x2",
        "  b *    152     76       38",
        "  a      9       9        0",
        "",
        "Nodes that could not take it:",
        "  NODES   PLUGIN             REASON                WHICH",
        "  7       NodeResourcesFit   Insufficient memory   a, b, c, d, e and 2 more",
    ]


def test_a_node_that_somebody_else_chose():
    assert "does not remember" in text(Facts(pod("z"), 0.0, scheduling={"decision": {**DECISION, "node": "b"}}))[1]


def test_the_same_for_programs():
    (told,) = [each.to_tree() for each in answers(Facts(pod(), 0.0, scheduling=PENDING))]
    assert (told["kind"], told["scheduling"]) == ("pending", PENDING)
