"""What may be read off a pod: whether it runs, what it asks for. For controllers, scheduler, quota, kubelet."""

from collections.abc import Iterator
from typing import Literal

from tiphys.api.pod_template import amounts, totals
from tiphys.api.pod_template.amounts import Amounts
from tiphys.api.pod_template.annotations import DELETION_COST, MIRROR, parse_deletion_cost
from tiphys.api.pod_template.options import containers as containers
from tiphys.api.pod_template.totals import is_restartable as is_restartable
from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj

QosClass = Literal["BestEffort", "Burstable", "Guaranteed"]

_QOS_RESOURCES = ("cpu", "memory")
_FINISHED = frozenset(("Succeeded", "Failed"))


def phase(pod: Obj) -> str:
    return (pod.get("status") or {}).get("phase") or ""


def is_finished(pod: Obj) -> bool:
    return phase(pod) in _FINISHED


def is_deleting(pod: Obj) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_active(pod: Obj) -> bool:
    """Neither finished nor on its way out: counts as a replica."""
    return not is_finished(pod) and not is_deleting(pod)


def is_mirror(pod: Obj) -> bool:
    return MIRROR in (pod["metadata"].get("annotations") or ())


def conditions(pod: Obj) -> Iterator[Obj]:
    yield from (pod.get("status") or {}).get("conditions") or ()


def condition(pod: Obj, kind: str) -> Obj | None:
    return next((each for each in conditions(pod) if each.get("type") == kind), None)


def has_condition(pod: Obj, kind: str) -> bool:
    found = condition(pod, kind)
    return found is not None and found.get("status") == "True"


def is_ready(pod: Obj) -> bool:
    return has_condition(pod, "Ready")


def deletion_cost(pod: Obj) -> int:
    """Zero where the annotation is absent or unsound."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST)
    return (parse_deletion_cost(text) or 0) if text is not None else 0


def requests(pod: Obj, overhead: bool = True) -> dict[str, Quantity]:
    """By its spec: pod-level requests before those of the containers, plus the overhead."""
    spec = pod["spec"]
    total = totals.of_containers(spec, "requests")
    _use_pod_level(spec, "requests", total)
    if overhead and spec.get("overhead"):
        amounts.add(total, amounts.parsed(spec["overhead"]))
    return total


def effective_requests(pod: Obj, overhead: bool = True) -> dict[str, Quantity]:
    """What must be kept free for it while a resize may be under way: the most of wanted, allotted and in force.

    A resize that its node cannot make does not count. This is what the scheduler and the quota reckon with.
    """
    status = pod.get("status") or {}
    reported = _reported(status)
    if not reported and status.get("resources") is None:
        return requests(pod, overhead)
    infeasible = _cannot_be_resized(pod)

    def ask(container: Obj) -> dict[str, Quantity]:
        wanted = amounts.parsed(totals.asked(container, "requests"))
        there = reported.get(container["name"])
        return _most(wanted, there, infeasible) if there else wanted

    spec = pod["spec"]
    total = totals.of_containers(spec, "requests", ask)
    of_pod = amounts.parsed(totals.asked(spec, "requests"))
    if status.get("resources") is not None:
        effective = _most(of_pod, status, infeasible)
        of_pod = {name: effective.get(name, quantity.ZERO) for name in of_pod}
    total.update({name: amount for name, amount in of_pod.items() if amounts.is_pod_level(name)})
    if overhead and spec.get("overhead"):
        amounts.add(total, amounts.parsed(spec["overhead"]))
    return total


def effective_limits(pod: Obj) -> dict[str, Quantity]:
    """The same for limits, as the quota reckons: the most of wanted and in force."""
    reported = _reported(pod.get("status") or {})
    if not reported:
        return limits(pod)
    infeasible = _cannot_be_resized(pod)

    def ask(container: Obj) -> dict[str, Quantity]:
        wanted = amounts.parsed(totals.asked(container, "limits"))
        there = reported.get(container["name"])
        if there is None:
            return wanted
        most = {} if infeasible else wanted
        amounts.raise_to(most, amounts.parsed(totals.asked(there, "limits")))
        return most

    spec = pod["spec"]
    total = totals.of_containers(spec, "limits", ask)
    _use_pod_level(spec, "limits", total)
    _add_overhead(spec, total)
    return total


def _reported(status: Obj) -> dict[str, Obj]:
    """The containers whose resources the kubelet has told, by name."""
    return {
        each["name"]: each
        for group in ("containerStatuses", "initContainerStatuses")
        for each in status.get(group) or ()
        if each.get("resources") is not None
    }


def _cannot_be_resized(pod: Obj) -> bool:
    pending = condition(pod, "PodResizePending")
    return pending is not None and pending.get("reason") == "Infeasible"


def _most(wanted: dict[str, Quantity], reported: Obj, infeasible: bool) -> dict[str, Quantity]:
    most = {} if infeasible else dict(wanted)
    amounts.raise_to(most, amounts.parsed(totals.asked(reported, "requests")))
    amounts.raise_to(most, amounts.parsed(reported.get("allocatedResources")))
    return most


def limits(pod: Obj, overhead: bool = True) -> dict[str, Quantity]:
    """Overhead is added only to what is limited at all."""
    spec = pod["spec"]
    total = totals.of_containers(spec, "limits")
    _use_pod_level(spec, "limits", total)
    if overhead:
        _add_overhead(spec, total)
    return total


def _add_overhead(spec: Obj, total: dict[str, Quantity]) -> None:
    """To limits."""
    for name, amount in amounts.parsed(spec.get("overhead")).items():
        if name in total and total[name].sign():
            total[name] = total[name].add(amount)


def _use_pod_level(spec: Obj, what: totals.What, total: dict[str, Quantity]) -> None:
    of_pod = amounts.parsed(totals.asked(spec, what))
    total.update({name: amount for name, amount in of_pod.items() if amounts.is_pod_level(name)})


def qos_class(pod: Obj) -> QosClass:
    """Reckoned from the spec. `status.qosClass`, once written, never changes."""
    spec = pod["spec"]
    pod_level = spec.get("resources")
    if pod_level is not None:
        parts = [pod_level]
    else:
        every = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        parts = [container.get("resources") or {} for container in every]
        if not any(parts):
            return "BestEffort"
    asked: dict[str, Quantity] = {}
    limited: dict[str, Quantity] = {}
    guaranteed = True
    for resources in parts:
        amounts.add(asked, _qos_amounts(resources.get("requests")))
        own = _qos_amounts(resources.get("limits"))
        amounts.add(limited, own)
        # A pod-level block without any limits is found out below, by its length.
        if len(own) < len(_QOS_RESOURCES) and (pod_level is None or resources.get("limits")):
            guaranteed = False
    if not asked and not limited:
        return "BestEffort"
    if guaranteed and len(asked) == len(limited) and all(limited.get(name) == amount for name, amount in asked.items()):
        return "Guaranteed"
    return "Burstable"


def _qos_amounts(listed: Amounts | None) -> dict[str, Quantity]:
    if not listed:
        return {}
    found = {name: quantity.parse(listed[name]) for name in _QOS_RESOURCES if name in listed}
    return {name: amount for name, amount in found.items() if amount.sign() > 0}
