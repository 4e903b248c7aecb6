"""Containers that end and are started again: how the last run ended, what it said, and when the next one begins."""

from typing import Any

from tiphys.kubectl.why import reporting
from tiphys.kubectl.why.facts import Answer, Facts
from tiphys.kubectl.why.layout import seconds, times_over
from tiphys.machinery import times
from tiphys.machinery.tree import Obj

_SIGNALS = {134: "SIGABRT", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}


def answer(facts: Facts) -> Answer | None:
    if facts.pod["metadata"].get("deletionTimestamp"):
        return None
    failing = [each for each in reporting.statuses(facts.pod) if fails(each)]
    if not failing:
        return None
    lines: list[str] = []
    for each in failing:
        lines += ["", *_container(facts, each)]
    names = ", ".join(each["name"] for each in failing)
    headline = (
        f"Pod {facts.key}: container{'s' if len(failing) > 1 else ''} {names} keep{'' if len(failing) > 1 else 's'} ending."
    )
    data = {each["name"]: {**each, "log": list(facts.logs.get(each["name"], ()))} for each in failing}
    return Answer("crashing", headline, tuple(lines), {"containers": data})


def fails(status: Obj) -> bool:
    """It waits for its next run, or has failed for good, or runs again after it had failed and is not ready."""
    state = status.get("state") or {}
    if (state.get("waiting") or {}).get("reason") == "CrashLoopBackOff":
        return True
    if state.get("terminated"):
        return bool(state["terminated"].get("exitCode"))
    last = (status.get("lastState") or {}).get("terminated")
    return bool(last and last.get("exitCode") and not status.get("ready"))


def _last_run(status: Obj) -> Obj:
    for state in (status.get("state") or {}, status.get("lastState") or {}):
        if state.get("terminated"):
            found: Obj = state["terminated"]
            return found
    return {}


def _container(facts: Facts, status: Obj) -> list[str]:
    name, ended = status["name"], _last_run(status)
    lines = [f"{name}: {_end(facts, ended)}; started again {times_over(status.get('restartCount', 0))}."]
    if ended.get("reason") == "OOMKilled":
        lines.append(f"  It used more memory than it may: its limit is {_limit(facts.pod, name)}.")
    if killed := reporting.killed_by_a_probe(facts, name):
        lines.append(f"  {killed}")
    told = reporting.of_container(facts, name)
    lines += [f"  Its {kind} probe failed: {reporting.probe_words(each)}" for kind, each in _failed(told)]
    again = told.get("startsAgainInSeconds")
    if again:
        lines.append(f"  Its next run begins in {seconds(again)}.")
    if ended.get("message"):
        lines.append(f"  It left the message: {ended['message'].strip()}")
    if log := facts.logs.get(name):
        lines += ["  Its last lines:", *(f"    {each}" for each in log)]
    return lines


def _failed(told: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, each) for kind, each in (told.get("probes") or {}).items() if not each["succeeded"]]


def _end(facts: Facts, ended: Obj) -> str:
    if not ended:
        return "how its last run ended is not known"
    code = ended.get("exitCode", 0)
    signal = f", which is {_SIGNALS[code]}" if code in _SIGNALS else ""
    when = reporting.since(facts, ended.get("finishedAt"))
    text = f"its last run ended {when} ago with exit code {code}{signal} ({ended.get('reason')})"
    if ended.get("startedAt") and ended.get("finishedAt"):
        text += f" after {seconds(max(0.0, times.parse(ended['finishedAt']) - times.parse(ended['startedAt'])))}"
    return text


def _limit(pod: Obj, name: str) -> str:
    listed = [*(pod["spec"].get("initContainers") or ()), *pod["spec"].get("containers", ())]
    spec: Obj = next((each for each in listed if each["name"] == name), {})
    limit: str = ((spec.get("resources") or {}).get("limits") or {}).get("memory", "that of its pod, or of the node")
    return limit
