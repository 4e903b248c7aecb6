"""The whole status of a pod."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tiphys.api.core.pods import facts
from tiphys.kubelet.cri.observed import ObservedPod
from tiphys.kubelet.status.conditions import Raised, conditions
from tiphys.kubelet.status.containers import Known, container_statuses
from tiphys.kubelet.status.phase import phase
from tiphys.kubelet.status.resources import pod_resources
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj

_ENDED = ("Succeeded", "Failed")
DISRUPTION_TARGET = "DisruptionTarget"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why the node has refused or ended a pod: it has failed, whatever its containers say."""

    reason: str
    message: str
    refused: bool = False
    """It was never begun."""
    disruption: str = ""
    """The node ended it for its own sake: message of the condition DisruptionTarget."""


@dataclass(frozen=True, slots=True)
class Given:
    """Beside the pod and what the runtime says."""

    known: Known = field(default_factory=Known)
    host_addresses: tuple[str, ...] = ()
    ended: bool = False
    """Nothing of it runs, nothing will be started."""
    verdict: Verdict | None = None
    raised: Mapping[str, Raised] = field(default_factory=dict)
    """More conditions, by type."""


def pod_status(pod: Obj, observed: ObservedPod, given: Given, now: float) -> Obj:
    spec, before = pod["spec"], pod.get("status") or {}
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    told = [each for name in lists for each in before.get(name) or ()]
    known = replace(given.known, previous={each["name"]: each for each in told})
    init = container_statuses(pod, spec.get("initContainers") or (), observed, known, init=True)
    mains = container_statuses(pod, spec["containers"], observed, known, init=False)
    verdict = given.verdict
    current = "Failed" if verdict is not None else phase(pod, init, mains, ended=given.ended)
    if before.get("phase") in _ENDED:
        # What has ended stays ended.
        current = before["phase"]
    status: Obj = {"phase": current, "qosClass": before.get("qosClass") or facts.qos_class(pod)}
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    sandbox = observed.sandbox is not None
    raised = dict(given.raised)
    if given.known.anew:
        raised["AllContainersRestarting"] = Raised("RestartAllContainersStarted", "container exited with restart policy rule")
    if verdict is not None and verdict.disruption:
        raised[DISRUPTION_TARGET] = Raised("TerminationByKubelet", verdict.disruption)
    status["conditions"] = conditions(pod, current, init, mains, sandbox=sandbox, now=now, raised=raised)
    words = {"reason": verdict.reason, "message": verdict.message} if verdict is not None else before
    status.update({name: words[name] for name in ("reason", "message") if words.get(name)})
    status["startTime"] = before.get("startTime") or rfc3339(now)
    if verdict is not None and verdict.refused:
        return status
    _addresses(status, pod, observed, given)
    status |= pod_resources(pod, given.known.in_force.pod)
    if init:
        status["initContainerStatuses"] = init
    status["containerStatuses"] = mains
    if spec.get("ephemeralContainers"):
        added = spec["ephemeralContainers"]
        status["ephemeralContainerStatuses"] = container_statuses(pod, added, observed, known, init=False)
    return status


def until_ended(pod: Obj, status: Obj) -> Obj:
    """What may be told of a status while something of the pod may still run: an end is the end of everything, of sidecars and
    of what has been told to stop, too, since whoever hears of it takes what the pod had."""
    before = pod.get("status") or {}
    if status["phase"] not in _ENDED or before.get("phase") in _ENDED:
        return status
    kept = {name: each for name, each in status.items() if name not in ("reason", "message")}
    kept["conditions"] = [each for each in status["conditions"] if each["type"] != DISRUPTION_TARGET]
    return {**kept, **{name: before[name] for name in ("phase", "reason", "message") if before.get(name)}}


def _addresses(status: Obj, pod: Obj, observed: ObservedPod, given: Given) -> None:
    if given.host_addresses:
        status["hostIP"] = given.host_addresses[0]
        status["hostIPs"] = [{"ip": each} for each in given.host_addresses]
    addresses: tuple[str, ...] = ()
    if observed.sandbox is not None:
        addresses = given.host_addresses if pod["spec"].get("hostNetwork") else observed.sandbox.addresses
    before = (pod.get("status") or {}).get("podIPs") or []
    told = [{"ip": each} for each in addresses] or (before if given.ended or status["phase"] in _ENDED else [])
    if told:
        status["podIP"] = told[0]["ip"]
        status["podIPs"] = told
