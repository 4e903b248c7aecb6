"""A pod without a node: who refuses it where, how far off the nearest nodes are, and what would let it run."""

from typing import Any

from tiphys.api.core.pods import facts as pods
from tiphys.kubectl.why.facts import Answer, Facts
from tiphys.kubectl.why.layout import names, seconds, table

Told = dict[str, Any]


def answer(facts: Facts) -> Answer | None:
    if facts.pod["spec"].get("nodeName") or pods.is_finished(facts.pod):
        return None
    told = facts.scheduling or {}
    headline = f"Pod {facts.key} has no node yet: {_reason(facts, told)}"
    lines = [
        *_queue(told.get("queue") or {}),
        *_refusals((told.get("decision") or {}).get("refusals") or []),
        *_now(told.get("now") or {}),
    ]
    if facts.silence:
        lines += ["", facts.silence]
    return Answer("pending", headline, tuple(lines), {"scheduling": facts.scheduling})


def _reason(facts: Facts, told: Told) -> str:
    gate: str = (told.get("queue") or {}).get("gate", "")
    if gate:
        return gate
    message: str = (told.get("decision") or {}).get("message", "")
    condition = pods.condition(facts.pod, "PodScheduled")
    return message or (condition or {}).get("message", "") or "the scheduler has not said anything about it"


def _queue(queue: Told) -> list[str]:
    if not queue:
        return []
    waited = queue["waitedSeconds"]
    parts = ", ".join(f"{seconds(spent)} {place}" for place, spent in waited.items())
    tries = f"tried {queue['attempts']} time{'s' if queue['attempts'] != 1 else ''}"
    lines = ["", f"In the scheduler's queue: {queue['place']}, {tries}; it spent {parts}."]
    if queue.get("wokenBy"):
        lines.append(f"It is to be tried again because of: {queue['wokenBy']}.")
    elif queue["place"] == "unschedulable" and queue["refusedBy"]:
        lines.append(f"It is tried again when something changes that {', '.join(queue['refusedBy'])} waits for.")
    if "againInSeconds" in queue:
        lines.append(f"The next try is in {seconds(queue['againInSeconds'])}.")
    return lines


def _refusals(refusals: list[Told]) -> list[str]:
    if not refusals:
        return []
    rows = [(str(each["count"]), each["plugin"], each["reason"], names(each["nodes"], each["count"])) for each in refusals]
    return ["", "Nodes by the first plugin that refused them:", *table([("NODES", "PLUGIN", "REASON", "WHICH"), *rows])]


def _now(now: Told) -> list[str]:
    if not now:
        return []
    lines = [""]
    if now["problems"]:
        lines += [f"Whatever the node: {each}" for each in now["problems"]]
    elif now["fits"]:
        lines.append(f"As things stand now, {now['fits']} node{'s' if now['fits'] != 1 else ''} could take it.")
    if now["misses"]:
        lines.append("The nearest misses, as things stand now:")
        lines += table((each["node"], _lacks(each)) for each in now["misses"])
    if now["remedies"] and not now["problems"] and not now["fits"]:
        lines += ["", "One of these would let it run:", *(f"  - {each}" for each in now["remedies"])]
    return lines


def _lacks(miss: Told) -> str:
    told = [word for by in miss["refusedBy"] for word in (by["lacks"] or [f"is refused by {by['plugin']}"])]
    return "; ".join(told)
