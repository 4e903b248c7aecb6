"""A pod with a node: which other nodes there were, and by how much this one was better."""

from typing import Any

from tiphys.kubectl.why.facts import Answer, Facts
from tiphys.kubectl.why.layout import names, seconds, table

Told = dict[str, Any]
_MOST = 10


def answer(facts: Facts) -> Answer | None:
    node = facts.pod["spec"].get("nodeName")
    if not node:
        return None
    decision = (facts.scheduling or {}).get("decision") or {}
    if decision.get("node") != node:
        why = facts.silence or "The scheduler does not remember why: it was placed by somebody else, or long ago."
        return Answer("placed", f"Pod {facts.key} is on node {node}.", (why,), {"node": node, "scheduling": facts.scheduling})
    lines = [*_wait(decision), *_scores(decision["scores"], node), *_refused(decision["refusals"])]
    return Answer("placed", f"Pod {facts.key} is on node {node}.", tuple(lines), {"node": node, "scheduling": facts.scheduling})


def _wait(decision: Told) -> list[str]:
    parts = ", ".join(f"{seconds(spent)} {place}" for place, spent in decision["waitedSeconds"].items())
    woken = f"; what helped: {decision['wokenBy']}" if decision.get("wokenBy") else ""
    return [f"Placed at the {_ordinal(decision['attempts'])} try; it spent {parts or 'no time'} in the queue{woken}."]


def _scores(scores: list[Told], node: str) -> list[str]:
    if len(scores) < 2:
        return ["", "No other node could take it."] if scores else []
    plugins = list(scores[0]["plugins"])
    rows = [["NODE", "TOTAL", *(f"{name} x{scores[0]['plugins'][name]['weight']}" for name in plugins)]]
    for each in scores[:_MOST]:
        mark = f"{each['node']} *" if each["node"] == node else each["node"]
        rows.append([mark, str(each["total"]), *(str(each["plugins"][name]["score"]) for name in plugins)])
    return ["", "Scores of the best nodes (0 to 100 each, times the weight; * is where it went):", *table(rows)]


def _refused(refusals: list[Told]) -> list[str]:
    if not refusals:
        return []
    rows = [(str(each["count"]), each["plugin"], each["reason"], names(each["nodes"], each["count"])) for each in refusals]
    return ["", "Nodes that could not take it:", *table([("NODES", "PLUGIN", "REASON", "WHICH"), *rows])]


def _ordinal(number: int) -> str:
    return {0: "first", 1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
