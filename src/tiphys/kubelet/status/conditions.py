"""The kubelet's conditions of a pod (pkg/kubelet/status/generate.go), merged into those that others have written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tiphys.kubelet.pods.restarts import is_sidecar
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj

OURS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")

PASSING = ("PodResizePending", "PodResizeInProgress", "AllContainersRestarting")
"""There while they are true."""

Verdict = tuple[bool, str, str]
"""Status, reason, message."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A condition that is true for a while, or from now on."""

    reason: str = ""
    message: str = ""
    generation: int = 0


def conditions(
    pod: Obj,
    phase: str,
    init: Sequence[Obj],
    mains: Sequence[Obj],
    *,
    sandbox: bool,
    now: float,
    raised: Mapping[str, Raised] = MappingProxyType({}),
) -> list[Obj]:
    containers_ready = _containers_ready(pod, phase, init, mains)
    verdicts: dict[str, Verdict] = {
        "PodReadyToStartContainers": (sandbox, "", ""),
        "Initialized": _initialized(pod, phase, init, mains),
        "Ready": _ready(pod, containers_ready),
        "ContainersReady": containers_ready,
        "PodScheduled": (True, "", ""),
    }
    before = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or ()}
    current = pod["metadata"].get("generation") or 0
    made = [_condition(kind, verdicts[kind], before.get(kind), current, now) for kind in OURS]
    for kind, each in raised.items():
        made.append(_condition(kind, (True, each.reason, each.message), before.get(kind), each.generation or current, now))
    return made + [each for kind, each in before.items() if kind not in verdicts and kind not in raised and kind not in PASSING]


def _condition(kind: str, verdict: Verdict, before: Obj | None, generation: int, now: float) -> Obj:
    value, reason, message = verdict
    status = "True" if value else "False"
    made: Obj = {"type": kind}
    if generation:
        made["observedGeneration"] = generation
    made["status"] = status
    made["lastProbeTime"] = None
    same = before is not None and before.get("status") == status
    made["lastTransitionTime"] = before["lastTransitionTime"] if same and before is not None else rfc3339(now)
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made


def _containers_ready(pod: Obj, phase: str, init: Sequence[Obj], mains: Sequence[Obj]) -> Verdict:
    if phase == "Succeeded":
        return False, "PodCompleted", ""
    if phase == "Failed":
        return False, "PodFailed", ""
    sidecars = {each["name"] for each in pod["spec"].get("initContainers") or () if is_sidecar(each)}
    ordered = _by_spec([*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]], [*init, *mains])
    relevant = [each for each in ordered if each["name"] in sidecars or each in mains]
    unready = [each["name"] for each in relevant if not each["ready"]]
    if unready:
        return False, "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return True, "", ""


def _by_spec(specs: Sequence[Obj], statuses: Sequence[Obj]) -> list[Obj]:
    found: Mapping[str, Obj] = {each["name"]: each for each in statuses}
    return [found[spec["name"]] for spec in specs if spec["name"] in found]


def _initialized(pod: Obj, phase: str, init: Sequence[Obj], mains: Sequence[Obj]) -> Verdict:
    if phase == "Succeeded":
        return True, "PodCompleted", ""
    if any("running" in each["state"] or "terminated" in each["state"] or each["lastState"] for each in mains):
        return True, "", ""
    sidecars = {each["name"] for each in pod["spec"].get("initContainers") or () if is_sidecar(each)}
    if any(
        each["type"] == "Initialized" and each["status"] == "True" for each in (pod.get("status") or {}).get("conditions") or ()
    ):
        # What is initialized once stays so, even when all containers begin again.
        return True, "", ""
    incomplete = [each["name"] for each in init if not (each["started"] if each["name"] in sidecars else each["ready"])]
    if incomplete:
        return False, "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"
    return True, "", ""


def _ready(pod: Obj, containers: Verdict) -> Verdict:
    if not containers[0]:
        return containers
    held = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or ()}
    problems = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        if kind not in held:
            problems.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif held[kind].get("status") != "True":
            found = held[kind].get("status")
            problems.append(f'the status of pod readiness gate "{kind}" is not "True", but {found}')
    if problems:
        return False, "ReadinessGatesNotReady", ", ".join(problems)
    return True, "", ""
