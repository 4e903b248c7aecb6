"""A pod that is to go and does not: what is being waited for, and for how long."""

from typing import Any

from tiphys.kubectl.why import reporting
from tiphys.kubectl.why.facts import Answer, Facts
from tiphys.kubectl.why.layout import seconds, times_over

_BY_FORCE = "kubectl delete pod {name} --namespace {space} --grace-period=0 --force"


def answer(facts: Facts) -> Answer | None:
    meta = facts.pod["metadata"]
    if not meta.get("deletionTimestamp"):
        return None
    held, lines = _held(facts)
    grace = meta.get("deletionGracePeriodSeconds", 0)
    headline = f"Pod {facts.key} is being deleted (grace period {grace} s): {held}"
    finalizers = meta.get("finalizers") or []
    data = {"because": held, "finalizers": finalizers, "kubelet": facts.kubelet}
    return Answer("terminating", headline, tuple(lines), data)


def _held(facts: Facts) -> tuple[str, list[str]]:
    meta, kubelet = facts.pod["metadata"], facts.kubelet or {}
    finalizers = meta.get("finalizers") or []
    told = f"Finalizers hold it: {', '.join(finalizers)}. Whoever set them takes them away when their work is done."
    if silent := reporting.node_is_silent(facts):
        force = _BY_FORCE.format(name=meta["name"], space=meta["namespace"])
        return "its node does not report", [silent, f"If the node will not come back: {force}"]
    if doing := reporting.under_way(facts):
        return _what(doing[0]), [_sentence(each) for each in doing] + _left(kubelet) + ([told] if finalizers else [])
    if problem := kubelet.get("problem"):
        step = {"terminated": "its volumes cannot be taken away", "ended": "its node cannot tell the API so"}
        held = step.get(kubelet.get("phase", ""), "its containers cannot be ended")
        return held, [f"{problem} (tried {times_over(kubelet['failures'])})"]
    if finalizers and kubelet.get("phase") in ("ended", "gone", None):
        return "finalizers hold it", [told]
    if not facts.pod["spec"].get("nodeName"):
        return "it has no node, so nobody needs to end it; it goes in a moment", []
    return "its node is about to end it", _left(kubelet) + ([told] if finalizers else [])


def _left(kubelet: dict[str, Any]) -> list[str]:
    left = kubelet.get("graceLeftSeconds")
    return [f"Of its grace period {seconds(left)} are left."] if left is not None else []


def _what(step: dict[str, Any]) -> str:
    where = f" of container {step['container']}" if step.get("container") else ""
    names = {
        "preStop hook": f"the preStop hook{where} is still running",
        "SIGTERM, and its end": f"the process{where} has not ended yet",
        "end of the sandbox and its network": "its sandbox is being taken down",
        "volumes unmounted and removed": "its volumes are being unmounted",
    }
    return names.get(step["what"], f"{step['what']}{where}")


def _sentence(step: dict[str, Any]) -> str:
    been, left = seconds(step["underWayForSeconds"]), step.get("leftSeconds")
    name = step.get("container", "")
    if step["what"] == "preStop hook":
        return f"The preStop hook of {name} has run for {been}; it may for {seconds(left or 0.0)} more, then SIGTERM is sent."
    if step["what"] == "SIGTERM, and its end":
        return f"{name} was sent its stop signal {been} ago and goes on; it is killed in {seconds(left or 0.0)}."
    return f"{step['what'].capitalize()}: for {been}."
