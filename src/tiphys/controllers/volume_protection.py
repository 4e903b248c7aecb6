"""Claims that a pod uses, and volumes that a claim is bound to, outlive their deletion until nobody uses them: a finalizer
holds them. The API server gives it to new ones; here old ones get it, and it is taken away.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.core.pods import PODS, facts
from tiphys.client.interface import Client
from tiphys.controllers.controller import Base, Caches, Inquiry, Watch
from tiphys.controllers.ephemeral_volume import claims_used
from tiphys.controllers.plan import Inquire, Plan
from tiphys.controllers.protection import Protection
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get

CLAIMS = Protection(PERSISTENT_VOLUME_CLAIMS, "kubernetes.io/pvc-protection")
VOLUMES = Protection(PERSISTENT_VOLUMES, "kubernetes.io/pv-protection")


@dataclass(frozen=True, slots=True)
class ClaimWorld:
    claim: Obj
    used: bool | None
    """By a pod in the cache, or by one that the server told of; None: no cached pod uses it, and the server was not asked."""


@dataclass(frozen=True, slots=True)
class VolumeWorld:
    volume: Obj


def uses(pod: Obj, claim: Obj) -> bool:
    """A pod without a node uses nothing: no kubelet starts one whose claim is on its way out."""
    if not pod["spec"].get("nodeName"):
        return False
    name = meta.name(claim)
    # One that the kubelet has done with, or that was deleted by force, only waits for its own finalizers.
    over = facts.is_deleting(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0
    for volume in pod["spec"].get("volumes") or ():
        if get(volume, ("persistentVolumeClaim", "claimName")) == name:
            return True
        if volume.get("ephemeral") and not over and f"{meta.name(pod)}-{volume['name']}" == name:
            return meta.is_controlled_by(claim, pod)
    return False


async def is_used(client: Client, arguments: Mapping[str, Any]) -> bool:
    """A pod may be too new for the cache."""
    claim = arguments["claim"]
    return any(uses(pod, claim) for pod in (await client.list(PODS, meta.namespace(claim))).items)


def _claims_of_pod(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    """Of pods that may have ceased to use them."""
    if new is not None and (facts.is_finished(new) or facts.is_deleting(new) or not new["spec"].get("nodeName")):
        yield from claims_used(new)
    if old is not None and (new is None or meta.uid(old) != meta.uid(new)):
        yield from claims_used(old)


class ClaimProtectionController(Base):
    name = "persistentvolumeclaim-protection-controller"
    component = "pvc-protection-controller"
    watches = (Watch(PERSISTENT_VOLUME_CLAIMS, CLAIMS.keys), Watch(PODS, _claims_of_pod, {"claim": claims_used}))
    inquiries: Mapping[str, Inquiry] = {"used": is_used}

    def observe(self, key: str, caches: Caches, now: float) -> ClaimWorld | None:  # noqa: ARG002 - time plays no part
        claim = caches[PERSISTENT_VOLUME_CLAIMS].get(key)
        if claim is None:
            return None
        used = any(uses(pod, claim) for pod in caches[PODS].by("claim", key))
        return ClaimWorld(claim, True if used else caches.answers.get(key))

    @staticmethod
    def reconcile(world: ClaimWorld) -> Plan:
        claim = world.claim
        if world.used is None and meta.is_deleting(claim) and CLAIMS.is_due(claim):
            return Plan((Inquire("used", {"claim": claim}),))
        return CLAIMS.plan(claim, used=bool(world.used))


class VolumeProtectionController(Base):
    name = "persistentvolume-protection-controller"
    component = "pv-protection-controller"
    watches = (Watch(PERSISTENT_VOLUMES, VOLUMES.keys),)

    def observe(self, key: str, caches: Caches, now: float) -> VolumeWorld | None:  # noqa: ARG002 - time plays no part
        volume = caches[PERSISTENT_VOLUMES].get(key)
        return VolumeWorld(volume) if volume is not None else None

    @staticmethod
    def reconcile(world: VolumeWorld) -> Plan:
        return VOLUMES.plan(world.volume, used=get(world.volume, ("status", "phase")) == "Bound")
