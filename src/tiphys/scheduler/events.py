"""What may happen in the cluster that lets a pod be scheduled that could not be before."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto

from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.pod_info import PodInfo


class Event(Flag):
    NOTHING = 0
    NODE_ADDED = auto()
    NODE_DELETED = auto()
    NODE_LABELS = auto()
    NODE_TAINTS = auto()
    NODE_ALLOCATABLE = auto()
    NODE_CONDITIONS = auto()
    NODE_ANNOTATIONS = auto()
    NODE_FEATURES = auto()
    """What it says that it can do."""
    POD_ADDED = auto()
    """A pod is on a node now."""
    POD_LABELS = auto()
    POD_SCALED_DOWN = auto()
    POD_TOLERATIONS = auto()
    POD_GATES_GONE = auto()
    POD_CLAIMS = auto()
    """Claims for devices were made for it."""
    POD_DELETED = auto()
    VOLUME = auto()
    CLAIM = auto()
    STORAGE_CLASS = auto()
    VOLUME_DETACHED = auto()
    CSI_NODE = auto()
    CSI_DRIVER = auto()
    CSI_CAPACITY = auto()
    RESOURCE_CLAIM = auto()
    RESOURCE_SLICE = auto()
    DEVICE_CLASS = auto()
    TIMEOUT = auto()
    """It has waited for so long that something must have been missed."""


@dataclass(frozen=True, slots=True)
class Change:
    event: Event
    old: Obj | None = None
    new: Obj | None = None
    old_pod: PodInfo | None = None
    new_pod: PodInfo | None = None

    @property
    def words(self) -> str:
        """For people: what happened, and to what."""
        about = self.new or self.old
        name = "" if about is None else about["metadata"]["name"]
        told = (self.event.name or "something").lower().replace("_", " ")
        return f"{told}: {name}" if name else told

    @property
    def node(self) -> Obj:
        """Of an event about a node that is there."""
        assert self.new is not None
        return self.new

    def concerns(self, pod: PodInfo) -> bool:
        """It is the waiting pod itself that has changed."""
        return self.new_pod is not None and self.new_pod.uid == pod.uid

    @property
    def was_on_a_node(self) -> bool:
        """Of a pod that is gone: it took room, or room was kept for it."""
        pod = self.old_pod
        return pod is not None and bool(pod.node or pod.nominated)

    @property
    def is_on_a_node(self) -> bool:
        pod = self.new_pod
        return pod is not None and bool(pod.node or pod.nominated)


def node_changes(old: Obj, new: Obj) -> list[Event]:
    """What of a node changed that scheduling looks at."""
    before, after = old.get("spec") or {}, new.get("spec") or {}
    was, now = old.get("status") or {}, new.get("status") or {}
    found = []
    if before.get("unschedulable") and not after.get("unschedulable"):
        found.append(Event.NODE_TAINTS)
    if was.get("allocatable") != now.get("allocatable") and _amounts(was) != _amounts(now):
        found.append(Event.NODE_ALLOCATABLE)
    if old["metadata"].get("labels") != new["metadata"].get("labels"):
        found.append(Event.NODE_LABELS)
    if (before.get("taints") or []) != (after.get("taints") or []):
        found.append(Event.NODE_TAINTS)
    if _conditions(was) != _conditions(now):
        found.append(Event.NODE_CONDITIONS)
    if was.get("declaredFeatures") != now.get("declaredFeatures"):
        found.append(Event.NODE_FEATURES)
    if old["metadata"].get("annotations") != new["metadata"].get("annotations"):
        found.append(Event.NODE_ANNOTATIONS)
    return found


def _amounts(status: Obj) -> dict[str, quantity.Quantity]:
    return {name: quantity.parse(text) for name, text in (status.get("allocatable") or {}).items()}


def _conditions(status: Obj) -> dict[str, str]:
    return {each.get("type", ""): each.get("status", "") for each in status.get("conditions") or ()}


def pod_changes(old: PodInfo, new: PodInfo) -> list[Event]:
    found = []
    if old.labels != new.labels:
        found.append(Event.POD_LABELS)
    if any(amount > new.requests.get(name, -1) for name, amount in old.requests.items()):
        found.append(Event.POD_SCALED_DOWN)
    if old.gated and not new.gated:
        found.append(Event.POD_GATES_GONE)
    if _claims_made(old) != _claims_made(new):
        found.append(Event.POD_CLAIMS)
    if len(old.tolerations) != len(new.tolerations):
        found.append(Event.POD_TOLERATIONS)
    return found


def _claims_made(pod: PodInfo) -> list[Obj]:
    return (pod.obj.get("status") or {}).get("resourceClaimStatuses") or []


Helps = Callable[[PodInfo, Change], bool]
