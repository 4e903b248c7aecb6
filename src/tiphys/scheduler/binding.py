"""What the scheduler writes: bindings, why a pod has no node, and evictions for the sake of more important pods."""

from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.core.pods import PODS, facts
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.base.clock import Clock
from tiphys.client.interface import Client
from tiphys.client.recorder import Recorder
from tiphys.machinery import times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, put
from tiphys.scheduler import diagnosis, volumes
from tiphys.scheduler.devices import writing
from tiphys.scheduler.framework import Awaited
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.victims import Victims
from tiphys.scheduler.volumes import VolumePlan


class Writer:
    def __init__(self, client: Client, recorder: Recorder, clock: Clock) -> None:
        self._client = client
        self._recorder = recorder
        self._clock = clock

    async def bind(self, pod: PodInfo, node: str) -> None:
        """ApiError or ConnectionError where it could not be done."""
        binding: Obj = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
        await self._client.create(PODS, binding, pod.namespace, name=pod.name, subresource="binding")
        self.tell_bound(pod, node)

    def tell_bound(self, pod: PodInfo, node: str) -> None:
        told = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self._recorder.tell(pod.obj, pod.scheduler, "Normal", "Scheduled", told)

    def tell_waits(self, pod: PodInfo, awaited: Awaited) -> None:
        self._recorder.tell(pod.obj, pod.scheduler, "Normal", awaited.reason, awaited.words)

    async def bind_volumes(self, plan: VolumePlan, node: str) -> None:
        for volume, claim in plan.bindings:
            await self._client.update(PERSISTENT_VOLUMES, _for_claim(volume, claim))
        for claim in plan.provisions:
            annotations = {**(claim["metadata"].get("annotations") or {}), volumes.SELECTED_NODE: node}
            await self._client.update(PERSISTENT_VOLUME_CLAIMS, put(claim, ("metadata", "annotations"), annotations))

    async def refuse(self, pod: PodInfo, reason: str, message: str, nominated: str | None) -> None:
        """The condition, the event and the nominated node; `nominated` None leaves that as it is."""
        self._recorder.tell(pod.obj, pod.scheduler, "Warning", "FailedScheduling", diagnosis.note(message))
        status: Obj = {}
        condition = _changed_condition(pod.obj, "PodScheduled", "False", reason, message, self._clock.now())
        if condition is not None:
            status["conditions"] = [condition]
        if nominated is not None and nominated != pod.nominated:
            status["nominatedNodeName"] = nominated or None
        if status:
            await self._patch_status(pod, status)

    async def free(self, claim: Obj) -> None:
        """Its devices go back, so that others may be found."""
        status = {key: value for key, value in claim["status"].items() if key not in ("allocation", "reservedFor", "devices")}
        await self._client.update(RESOURCECLAIMS, put(claim, ("status",), status), subresource="status")

    async def remove(self, claim: Obj) -> None:
        await writing.remove(claim, self._client)

    async def preempt(self, victims: Victims, pod: PodInfo, lower: list[PodInfo]) -> None:
        """Evict; and pods of lower priority that wait for the same node have to look elsewhere."""
        for other in lower:
            if other.nominated:
                await self._patch_status(other, {"nominatedNodeName": None})
        for victim in victims.pods:
            if not victim.deleting:
                await self._evict(victim, victims.node, pod)

    async def _evict(self, victim: PodInfo, node: str, pod: PodInfo) -> None:
        why = f"{pod.scheduler}: preempting to accommodate a higher priority pod"
        condition = _changed_condition(victim.obj, "DisruptionTarget", "True", "PreemptionByScheduler", why, self._clock.now())
        if condition is not None:
            await self._patch_status(victim, {"conditions": [condition]})
        try:
            await self._client.delete(PODS, victim.name, victim.namespace, options={"preconditions": {"uid": victim.uid}})
        except ApiError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise
            return
        self._recorder.tell(victim.obj, pod.scheduler, "Normal", "Preempted", f"Preempted by pod {pod.uid} on node {node}")

    async def _patch_status(self, pod: PodInfo, status: Obj) -> None:
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        try:
            await self._client.patch(PODS, pod.name, patch, pod.namespace, patch_type="strategic", subresource="status")
        except ApiError as error:
            # Gone, or another pod of that name by now.
            if error.reason not in ("NotFound", "Conflict"):
                raise


def _for_claim(volume: Obj, claim: Obj) -> Obj:
    """The volume, set aside for the claim; the controller of volumes does the rest."""
    meta = claim["metadata"]
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
    }
    if not volume["spec"].get("claimRef"):
        annotations = {**(volume["metadata"].get("annotations") or {}), volumes.BOUND_BY_CONTROLLER: "yes"}
        volume = put(volume, ("metadata", "annotations"), annotations)
    return put(volume, ("spec", "claimRef"), reference)


def _changed_condition(pod: Obj, kind: str, status: str, reason: str, message: str, now: float) -> Obj | None:
    """None where it says so already."""
    old = facts.condition(pod, kind)
    generation = pod["metadata"].get("generation")
    new: Obj = {"type": kind, "status": status, "reason": reason, "message": message}
    if generation:
        new["observedGeneration"] = generation
    if old is not None and all(old.get(key) == value for key, value in new.items()):
        return None
    kept = old is not None and old.get("status") == status
    new["lastTransitionTime"] = old["lastTransitionTime"] if kept and old else times.rfc3339(now)
    new["lastProbeTime"] = None
    return new
