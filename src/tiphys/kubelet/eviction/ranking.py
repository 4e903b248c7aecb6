"""Which pod goes first, and what it is told (pkg/kubelet/eviction/helpers.go)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.api.core.pods import facts
from tiphys.kubelet.eviction.signals import Observation, Threshold, shown
from tiphys.machinery import quantity
from tiphys.machinery.quantity import ZERO
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    memory: int = 0
    disk: int = 0
    """Of its writable layer and its logs."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one pod: bytes, and numbers of processes and files."""

    memory: int = 0
    pids: int = 0
    disk: int = 0
    inodes: int = 0
    containers: Mapping[str, ContainerUsage] = field(default_factory=dict)
    volumes: Mapping[str, int] = field(default_factory=dict)
    """Bytes in each emptyDir."""


Candidate = tuple[Obj, Usage | None]
_Key = Callable[[Obj, Usage], tuple[int, ...]]


def ranked(resource: str, pods: Iterable[Candidate]) -> list[Candidate]:
    """Those whose use nobody knows first; then those above what they asked for, then by priority, then by how far above."""
    key = {"memory": _memory, "pids": _processes, "inodes": _files}.get(resource, _disk)
    return sorted(pods, key=lambda each: (each[1] is not None, key(each[0], each[1]) if each[1] is not None else ()))


def _memory(pod: Obj, usage: Usage) -> tuple[int, ...]:
    over = usage.memory - _asked(pod, "memory")
    return over <= 0, _priority(pod), -over


def _disk(pod: Obj, usage: Usage) -> tuple[int, ...]:
    over = usage.disk - _asked(pod, "ephemeral-storage")
    return over <= 0, _priority(pod), -over


def _files(pod: Obj, usage: Usage) -> tuple[int, ...]:
    return usage.inodes <= 0, _priority(pod), -usage.inodes


def _processes(pod: Obj, usage: Usage) -> tuple[int, ...]:
    return _priority(pod), -usage.pids


def _asked(pod: Obj, name: str) -> int:
    return facts.requests(pod).get(name, ZERO).value()


def _priority(pod: Obj) -> int:
    return int(pod["spec"].get("priority") or 0)


def low_on(resource: str, pod: Obj, usage: Usage | None, threshold: Threshold, seen: Observation) -> str:
    """For the pod's status and event."""
    told = f"The node was low on resource: {resource}. "
    limit = shown(threshold.limit(seen.capacity), resource)
    told += f"Threshold quantity: {limit}, available: {shown(seen.available, resource)}. "
    for container in (*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())):
        used = usage.containers.get(container["name"]) if usage is not None else None
        if used is None or resource not in ("memory", "ephemeral-storage"):
            continue
        asked = quantity.parse(((container.get("resources") or {}).get("requests") or {}).get(resource, "0"))
        amount = used.memory if resource == "memory" else used.disk
        if amount > asked.value():
            told += (
                f"Container {container['name']} was using {shown(amount, resource)}, request is {asked}, "
                f"has larger consumption of {resource}. "
            )
    return told


def over_own_limit(pod: Obj, usage: Usage) -> str:
    """What it has used up of the disk beyond what it may, whatever the node has left; empty if nothing."""
    for volume in pod["spec"].get("volumes") or ():
        limit = (volume.get("emptyDir") or {}).get("sizeLimit")
        if limit and 0 < quantity.parse(limit).value() < usage.volumes.get(volume["name"], 0):
            return f'Usage of EmptyDir volume "{volume["name"]}" exceeds the limit "{limit}". '
    of_pod = facts.limits(pod).get("ephemeral-storage")
    if of_pod is not None and usage.disk > of_pod.value():
        return f"Pod ephemeral local storage usage exceeds the total limit of containers {of_pod}. "
    for container in pod["spec"]["containers"]:
        limit = ((container.get("resources") or {}).get("limits") or {}).get("ephemeral-storage")
        used = usage.containers.get(container["name"], ContainerUsage()).disk
        if limit and 0 < quantity.parse(limit).value() < used:
            return f'Container {container["name"]} exceeded its local ephemeral storage limit "{limit}". '
    return ""


def limits_disk(pod: Obj) -> bool:
    """Whether it has to be measured even while the node has enough."""
    volumes = pod["spec"].get("volumes") or ()
    return any((each.get("emptyDir") or {}).get("sizeLimit") for each in volumes) or "ephemeral-storage" in facts.limits(pod)
