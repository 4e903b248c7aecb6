"""What a container's and a pod's resources mean to the kernel (pkg/kubelet/cm/helpers_linux.go, qos/policy.go)."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.core.pods import facts
from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj

PERIOD = 100_000
LEAST_SHARES = 2
_MOST_SHARES = 262_144
_LEAST_QUOTA = 1000


def quality(pod: Obj) -> str:
    """Its QoS class: what the API wrote once stays, whatever a resize changes."""
    return (pod.get("status") or {}).get("qosClass") or facts.qos_class(pod)


def amount(container: Obj, part: str, name: str) -> Quantity | None:
    told = ((container.get("resources") or {}).get(part) or {}).get(name)
    return None if told is None else quantity.parse(told)


def shares(milli: int) -> int:
    return min(max(milli * 1024 // 1000, LEAST_SHARES), _MOST_SHARES)


def quota(milli: int) -> int:
    """0 is none."""
    return max(milli * PERIOD // 1000, _LEAST_QUOTA) if milli else 0


@dataclass(frozen=True, slots=True)
class Demand:
    """Of one container: thousandths of a CPU and bytes; None is not said, of a limit also not limited."""

    cpu_request: int | None = None
    cpu_limit: int | None = None
    memory_request: int | None = None
    memory_limit: int | None = None


def demand(pod: Obj, container: Obj) -> Demand:
    """What a container does not limit, its pod may."""
    cpu, memory = amount(container, "limits", "cpu"), amount(container, "limits", "memory")
    if cpu is None or not cpu.sign():
        cpu = amount(pod["spec"], "limits", "cpu") or cpu
    if memory is None or not memory.sign():
        memory = amount(pod["spec"], "limits", "memory") or memory
    asked, kept = amount(container, "requests", "cpu"), amount(container, "requests", "memory")
    return Demand(
        None if asked is None else asked.milli(),
        None if cpu is None else cpu.milli(),
        None if kept is None else kept.value(),
        None if memory is None else memory.value(),
    )


def linux_resources(pod: Obj, container: Obj, memory: int) -> Obj:
    """For the runtime. `memory`: bytes of the machine."""
    made = kernel_settings(demand(pod, container))
    made["oom_score_adj"] = oom_score(pod, container, memory)
    pages = huge_pages(container)
    if pages:
        made["hugepage_limits"] = pages
    return made


def kernel_settings(wish: Demand) -> Obj:
    asked = wish.cpu_request if wish.cpu_request is not None else wish.cpu_limit
    made: Obj = {"cpu_period": PERIOD, "cpu_shares": shares(asked or 0)}
    if wish.cpu_limit:
        made["cpu_quota"] = quota(wish.cpu_limit)
    if wish.memory_limit:
        made["memory_limit_in_bytes"] = wish.memory_limit
    return made


def huge_pages(container: Obj) -> list[Obj]:
    """Limits by the size of a page, in the kernel's words."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return [
        {"page_size": _page(name), "limit": quantity.parse(told).value()}
        for name, told in limits.items()
        if name.startswith("hugepages-")
    ]


def _page(name: str) -> str:
    """hugepages-2Mi -> 2MB"""
    size = quantity.parse(name.removeprefix("hugepages-")).value()
    return f"{size >> 30}GB" if size >= 1 << 30 else f"{size >> 20}MB" if size >= 1 << 20 else f"{size >> 10}KB"


def oom_score(pod: Obj, container: Obj, memory: int) -> int:
    """Who dies first when memory runs out: best-effort pods, and those that use much more than they asked for."""
    if pod["spec"].get("priority", 0) >= 2_000_001_000 or quality(pod) == "Guaranteed":
        return -997
    if quality(pod) == "BestEffort":
        return 1000
    extra = _unclaimed(pod)
    score = 1000 - 1000 * (_memory(container) + extra) // max(memory, 1)
    if container.get("restartPolicy") == "Always" and container in (pod["spec"].get("initContainers") or ()):
        # A sidecar is not given up before those whom it serves.
        least = min(_memory(each) for each in pod["spec"]["containers"])
        score = min(score, 1000 - 1000 * (least + extra) // max(memory, 1))
    return 999 if score >= 1000 else max(score, 3)


def _memory(container: Obj) -> int:
    asked = amount(container, "requests", "memory")
    return asked.value() if asked is not None else 0


def _unclaimed(pod: Obj) -> int:
    """Of what the pod as a whole asks for, the part of each container beside its own."""
    asked = amount(pod["spec"], "requests", "memory")
    if asked is None:
        return 0
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    sharing = [*spec["containers"], *sidecars]
    return max(0, asked.value() - sum(_memory(each) for each in sharing)) // len(sharing)


def pod_cgroup(root: str, pod: Obj) -> str:
    """Below `root`: one folder a class of quality, one a pod."""
    return f"{quality_cgroup(root, quality(pod))}/pod{pod['metadata']['uid']}"


def quality_cgroup(root: str, name: str) -> str:
    return root if name == "Guaranteed" else f"{root}/{name.lower()}"


@dataclass(frozen=True, slots=True)
class PodLimits:
    """Of a pod's cgroup. None: no container's sum can say, the kernel's own stays."""

    shares: int
    quota: int | None
    memory: int | None


def pod_limits(pod: Obj) -> PodLimits:
    if quality(pod) == "BestEffort":
        return PodLimits(LEAST_SHARES, None, None)
    asked, most = facts.requests(pod), facts.limits(pod)
    cpu, memory = most.get("cpu"), most.get("memory")
    return PodLimits(
        shares(asked["cpu"].milli() if "cpu" in asked else 0),
        quota(cpu.milli()) if cpu is not None and _all_limit(pod, "cpu") else None,
        memory.value() if memory is not None and _all_limit(pod, "memory") else None,
    )


def _all_limit(pod: Obj, name: str) -> bool:
    def limited(resources_of: Obj) -> bool:
        held = amount(resources_of, "limits", name)
        return held is not None and held.sign() > 0

    spec = pod["spec"]
    return limited(spec) or all(map(limited, (*spec["containers"], *(spec.get("initContainers") or ()))))


def milli_requested(pods: Iterable[Obj]) -> int:
    """Of CPU, by all of them together."""
    found = (facts.requests(each).get("cpu") for each in pods)
    return sum(each.milli() for each in found if each is not None)
