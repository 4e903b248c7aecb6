"""Device taint eviction: a pod goes when a device that was allocated to it gets a NoExecute taint which its claim does not
tolerate, at once or when the claim's patience ends."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tiphys.api.core.pods import PODS, facts
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.controllers.controller import Base, Caches, Watch
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Delete, Emit, Note, Patch, Plan
from tiphys.controllers.resource_claim.pods import claims_used, is_reserved
from tiphys.controllers.taints import tolerates
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, get

MESSAGE = "Device Taint manager: deleting due to NoExecute taint"
_REASON = "DeviceTaintManagerEviction"
_NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class World:
    pod: Obj
    due: float | None
    """When it must go; None: it may stay."""
    was_due: bool
    """It has been told of by an earlier turn."""
    now: float


def _devices(claim: Obj) -> list[Obj]:
    found: list[Obj] = get(claim, ("status", "allocation", "devices", "results")) or []
    return found


def _pools_used(claim: Obj) -> Iterable[str]:
    return {f"{each['driver']}/{each['pool']}" for each in _devices(claim)}


def _pool(slice_: Obj) -> str:
    return f"{slice_['spec']['driver']}/{slice_['spec']['pool']['name']}"


def _of_pool(slice_: Obj) -> Iterable[str]:
    return (_pool(slice_),)


def _keys_of_pod(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    pod = new if new is not None else old
    return (meta.key(pod),) if pod is not None and any(claims_used(pod)) else ()


def _keys_of_claim(_old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """One that is gone is no reason for a pod to go."""
    return [meta.key(pod) for pod in caches[PODS].by("resource claim", meta.key(new))] if new is not None else ()


def _keys_of_slice(old: Obj | None, new: Obj | None, caches: Caches) -> Iterator[str]:
    """Another slice, or another generation of them, may hide a device that was tainted."""
    slice_ = new if new is not None else old
    assert slice_ is not None
    for claim in caches[RESOURCECLAIMS].by("pool", _pool(slice_)):
        yield from _keys_of_claim(None, claim, caches)


class DeviceTaintEviction(Base):
    name = "device-taint-eviction-controller"
    component = "device-taint-eviction-controller"
    watches = (
        Watch(PODS, _keys_of_pod, {"resource claim": claims_used}),
        Watch(RESOURCECLAIMS, _keys_of_claim, {"pool": _pools_used}),
        Watch(RESOURCESLICES, _keys_of_slice, {"pool": _of_pool}),
    )

    def __init__(self) -> None:
        self._due: set[str] = set()
        """Uids of pods whose end is in sight."""

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        pod = caches[PODS].get(key)
        if pod is None or not pod["spec"].get("nodeName") or facts.is_deleting(pod) or facts.is_finished(pod):
            if pod is not None:
                self._due.discard(meta.uid(pod))
            return None
        claims = (claim for name in claims_used(pod) if (claim := caches[RESOURCECLAIMS].get(name)) is not None)
        ends = [end for claim in claims if is_reserved(claim, pod) for end in _ends(claim, caches)]
        return World(pod, min(ends, default=None), meta.uid(pod) in self._due, now)

    def reconcile(self, world: World) -> Plan:
        pod, due = world.pod, world.due
        if due is None:
            self._due.discard(meta.uid(pod))
            return Plan((Emit(Note(pod, _REASON, "Cancelling deletion")),)) if world.was_due else NOTHING
        if due > world.now:
            self._due.add(meta.uid(pod))
            return Plan(again_in=due - world.now)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByDeviceTaintManager",
            "message": MESSAGE,
            "observedGeneration": meta.generation(pod),
            "lastTransitionTime": times.rfc3339(world.now),
        }
        patch = {"metadata": {"uid": meta.uid(pod)}, "status": {"conditions": [condition]}}
        return Plan(
            (
                Emit(Note(pod, _REASON, "Marking for deletion")),
                Patch(PODS, pod, patch, "strategic", "status", tolerate=NOT_FOUND),
                Delete(PODS, pod),
            )
        )


def _ends(claim: Obj, caches: Caches) -> Iterator[float]:
    """When the pods of a claim must go, by each taint of its devices that it does not tolerate for ever."""
    for allocated in _devices(claim):
        for taint in _taints(allocated, caches):
            end = end_of(taint, allocated.get("tolerations") or ())
            if end is not None:
                yield end


def _taints(allocated: Obj, caches: Caches) -> list[Obj]:
    """Of the device, by the newest generation of its pool."""
    slices = caches[RESOURCESLICES].by("pool", f"{allocated['driver']}/{allocated['pool']}")
    newest = max((_generation(each) for each in slices), default=0)
    for each in slices:
        if _generation(each) == newest:
            for device in each["spec"].get("devices") or ():
                if device["name"] == allocated["device"]:
                    return [taint for taint in device.get("taints") or () if taint["effect"] == _NO_EXECUTE]
    return []


def _generation(slice_: Obj) -> int:
    found: int = slice_["spec"]["pool"].get("generation", 0)
    return found


def end_of(taint: Obj, tolerations: Iterable[Obj]) -> float | None:
    """None: it is tolerated for ever. Of several patiences the shortest counts."""
    covering = [each for each in tolerations if each.get("effect") == _NO_EXECUTE and tolerates(each, taint)]
    if any(each.get("tolerationSeconds") is None for each in covering):
        return None
    patience: int = min((each["tolerationSeconds"] for each in covering), default=0)
    return times.parse(taint["timeAdded"]) + max(0, patience)
