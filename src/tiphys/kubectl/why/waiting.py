"""A pod that has a node and does not run there yet: what its node is doing, and what that fails at."""

from typing import Any

from tiphys.kubectl.why import reporting
from tiphys.kubectl.why.facts import Answer, Facts
from tiphys.kubectl.why.layout import seconds, times_over
from tiphys.machinery.tree import Obj

_CRASHING = "CrashLoopBackOff"
_TOLD_BY_EVENTS = (
    "FailedMount",
    "FailedAttachVolume",
    "FailedToMakePodDataDirectories",
    "FailedCreatePodContainer",
    "FailedCreatePodSandBox",
    "FailedPostStartHook",
)


def answer(facts: Facts) -> Answer | None:
    pod = facts.pod
    if not pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return None
    listed = list(reporting.statuses(pod))
    waiting = [each for each in listed if _waits(each)]
    untouched = not listed and (pod.get("status") or {}).get("phase", "Pending") == "Pending"
    if not waiting and not untouched:
        return None
    told, lines = _told(facts, waiting)
    data = {"containers": {each["name"]: each["state"]["waiting"] for each in waiting}, "kubelet": facts.kubelet}
    headline = f"Pod {facts.key} is on node {pod['spec']['nodeName']} and does not run yet: {told}"
    return Answer("waiting", headline, tuple(lines), data)


def _waits(status: Obj) -> bool:
    return "waiting" in (status.get("state") or {}) and status["state"]["waiting"].get("reason") != _CRASHING


def _told(facts: Facts, waiting: list[Obj]) -> tuple[str, list[str]]:
    lines = []
    for each in waiting:
        why = each["state"]["waiting"]
        if why.get("message"):
            lines.append(f"{each['name']}: {why.get('reason')}: {why['message']}")
    lines += [_doing(each) for each in reporting.under_way(facts) if not each["what"].startswith("status")]
    kubelet = facts.kubelet or {}
    if problem := kubelet.get("problem"):
        lines.append(f"Its node got no further {times_over(kubelet['failures'])}, the last time for: {problem}")
    elif not lines and (told := reporting.warning(facts, *_TOLD_BY_EVENTS)):
        lines.append(told)
    if not list(reporting.statuses(facts.pod)) and not facts.kubelet:
        lines.append(reporting.node_is_silent(facts) or "Its node has said nothing about it.")
    reasons = dict.fromkeys(each["state"]["waiting"].get("reason") or "waiting" for each in waiting)
    step = _init(facts)
    return ", ".join(reasons) + step if reasons else (step.removeprefix("; ") or "nothing of it is there yet"), lines


def _init(facts: Facts) -> str:
    """How far its init containers are."""
    listed = (facts.pod.get("status") or {}).get("initContainerStatuses") or ()
    for number, each in enumerate(listed, 1):
        running = (each.get("state") or {}).get("running")
        if running is not None and not each.get("ready"):
            been = reporting.since(facts, running.get("startedAt"))
            return f"; init container {each['name']} ({number} of {len(listed)}) has run for {been}"
    return ""


def _doing(step: dict[str, Any]) -> str:
    where = f" of {step['container']}" if step.get("container") else ""
    return f"Its node is at: {step['what']}{where}, for {seconds(step['underWayForSeconds'])}."
