"""A pod that runs and is not ready: which probe says so, and in which words; which gate is closed."""

from tiphys.api.core.pods import facts as pods
from tiphys.kubectl.why import reporting
from tiphys.kubectl.why.crashing import fails
from tiphys.kubectl.why.facts import Answer, Facts
from tiphys.kubectl.why.layout import seconds
from tiphys.machinery import times
from tiphys.machinery.tree import Obj


def answer(facts: Facts) -> Answer | None:
    pod = facts.pod
    if pods.phase(pod) != "Running" or pods.is_ready(pod) or pods.is_deleting(pod):
        return None
    lines = [line for each in reporting.statuses(pod) if _is_concerned(each) for line in _container(facts, each)]
    for gate in pod["spec"].get("readinessGates") or ():
        found = pods.condition(pod, gate["conditionType"])
        if found is None or found.get("status") != "True":
            lines.append(f"Its readiness gate {gate['conditionType']} is not True; somebody else has to set that condition.")
    if silent := reporting.node_is_silent(facts):
        lines.append(silent)
    if not lines:
        return None
    return Answer("unready", f"Pod {facts.key} runs and is not ready.", tuple(lines), {"kubelet": facts.kubelet})


def _is_concerned(status: Obj) -> bool:
    return "running" in (status.get("state") or {}) and not status.get("ready") and not fails(status)


def _container(facts: Facts, status: Obj) -> list[str]:
    name = status["name"]
    probes = reporting.of_container(facts, name).get("probes") or {}
    failed = [(kind, each) for kind, each in probes.items() if not each["succeeded"]]
    if not failed:
        been = reporting.since(facts, status["state"]["running"].get("startedAt"))
        return [f"{name} has run for {been} and its probes have not succeeded yet."]
    return [
        f"The {kind} probe of {name} failed {_ago(facts, each['at'])} ago: {reporting.probe_words(each)}"
        for kind, each in failed
    ]


def _ago(facts: Facts, stamp: str) -> str:
    return seconds(max(0.0, facts.now - times.parse_micro(stamp)))
