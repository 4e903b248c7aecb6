"""A pod's phase from its containers' statuses (upstream's getPhase, pkg/kubelet/kubelet_pods.go)."""

from collections.abc import Mapping, Sequence

from tiphys.kubelet.pods.restarts import is_sidecar
from tiphys.machinery.tree import Obj


def phase(pod: Obj, init: Sequence[Obj], mains: Sequence[Obj], *, ended: bool) -> str:
    """`ended`: nothing of it runs and nothing will be started any more."""
    spec = pod["spec"]
    sidecars = {each["name"] for each in spec.get("initContainers") or () if is_sidecar(each)}
    pending, failed = _initialization(init, sidecars)
    never = spec.get("restartPolicy") == "Never"
    if failed and (never or ended):
        return "Failed"
    if pending and not ended:
        return "Pending"
    counts = _counts(mains)
    if counts["running"]:
        return "Running"
    if counts["waiting"] and not ended:
        return "Pending"
    if ended:
        return "Succeeded" if counts["succeeded"] and counts["succeeded"] == len(mains) else "Failed"
    if not counts["stopped"]:
        return "Pending"
    if spec.get("restartPolicy", "Always") == "Always":
        return "Running"
    if counts["stopped"] == counts["succeeded"]:
        return "Succeeded"
    return "Failed" if never else "Running"


def _initialization(init: Sequence[Obj], sidecars: set[str]) -> tuple[bool, bool]:
    """Whether it is still under way, and whether it has failed."""
    pending = failed = False
    for status in init:
        state, last = status["state"], status["lastState"]
        if status["name"] in sidecars:
            # Once a sidecar has started it holds nothing up, even while it is being restarted.
            pending = pending or not (status["started"] or "terminated" in state or "terminated" in last)
            continue
        if "terminated" in state:
            failed = failed or state["terminated"]["exitCode"] != 0
        elif "terminated" in last and last["terminated"]["exitCode"] != 0:
            pending = True
            failed = failed or "waiting" not in state
        else:
            pending = True
    return pending, failed


def _counts(mains: Sequence[Obj]) -> Mapping[str, int]:
    counts = {"running": 0, "waiting": 0, "stopped": 0, "succeeded": 0}
    for status in mains:
        state, last = status["state"], status["lastState"]
        if "running" in state:
            counts["running"] += 1
        elif "terminated" in state:
            counts["stopped"] += 1
            counts["succeeded"] += state["terminated"]["exitCode"] == 0
        elif "terminated" in last:
            counts["stopped"] += 1
        else:
            counts["waiting"] += 1
    return counts
