"""What a pod as a whole has been given: `resources` and `allocatedResources` of its status.

Until it runs that is the sum of what its containers ask for; from then on what its cgroup holds it to, which is a limit only
where all of its containers have one.
"""

from collections.abc import Mapping

from tiphys.api.core.pods import facts
from tiphys.kubelet.pods.resources import LEAST_SHARES, pod_limits
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj


def pod_resources(pod: Obj, in_force: Obj | None) -> Obj:
    """`in_force`: of the pod as a whole, where something else than its spec says holds."""
    status: Obj = {"resources": _held(pod if in_force is None else {**pod, "spec": {**pod["spec"], "resources": in_force}})}
    if allocated := _told(facts.requests(pod)):
        status["allocatedResources"] = allocated
    return status


def _held(pod: Obj) -> Obj:
    requests, limits = facts.requests(pod), facts.limits(pod)
    if (pod.get("status") or {}).get("phase") == "Running":
        requests, limits = _by_cgroup(pod, requests, limits)
    parts = {"limits": _told(limits), "requests": _told(requests)}
    return {name: amounts for name, amounts in parts.items() if amounts}


def _by_cgroup(
    pod: Obj, requests: dict[str, Quantity], limits: dict[str, Quantity]
) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    own = pod["spec"].get("resources") or {}
    most = pod_limits(pod)
    limited = {"cpu": most.quota is not None, "memory": most.memory is not None}
    # Fewer shares than the kernel can tell apart say nothing.
    asked = {"cpu": requests["cpu"].milli() > LEAST_SHARES if "cpu" in requests else False, "memory": "memory" in requests}

    def kept(found: dict[str, Quantity], part: str, of_cgroup: Mapping[str, bool]) -> dict[str, Quantity]:
        return {name: each for name, each in found.items() if of_cgroup.get(name) or name in (own.get(part) or {})}

    return kept(requests, "requests", asked), kept(limits, "limits", limited)


def _told(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(each) for name, each in sorted(amounts.items())}
