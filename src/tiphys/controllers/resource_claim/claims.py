"""Claims that have ceased to be used: reservations of pods that are gone are taken back; with the last one goes the allocation,
so that the devices are free for others; a claim that was made for a pod goes when the pod has ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiphys.api.core.pods import PODS
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.client.interface import Client
from tiphys.controllers.plan import NOT_FOUND, Delete, Inquire, Plan, Update, set_status
from tiphys.controllers.resource_claim.pods import consumers, needs_claims_no_more
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, get

FINALIZER = "resource.kubernetes.io/delete-protection"


@dataclass(frozen=True, slots=True)
class ClaimWorld:
    claim: Obj
    pods: Mapping[str, Obj]
    """By name: those that it is reserved for, and its owner, as far as the cache knows them."""
    exist: Mapping[str, bool] = field(default_factory=dict)
    """By uid: what the server said of pods that the cache does not know."""


def tidy(world: ClaimWorld) -> Plan:
    claim = world.claim
    unknown = [each for each in consumers(claim) if _is_pod(each) and each["name"] not in world.pods]
    if any(each["uid"] not in world.exist for each in unknown):
        return Plan((Inquire("pods", {"namespace": meta.namespace(claim), "pods": unknown}),))
    remaining = [each for each in consumers(claim) if not _is_pod(each) or _still_counts(each, world)]
    held = FINALIZER in meta.finalizers(claim)
    allocated = get(claim, ("status", "allocation")) is not None
    if len(remaining) < len(consumers(claim)):
        if not remaining and held:
            return Plan((Inquire("give back", {"claim": claim}),))
        return Plan((set_status(RESOURCECLAIMS, claim, {**claim["status"], "reservedFor": remaining}),))
    if remaining:
        return Plan()
    if held and meta.is_deleting(claim):
        if allocated:
            return Plan((set_status(RESOURCECLAIMS, claim, _unallocated(claim)),))
        return Plan((Update(RESOURCECLAIMS, _released(claim), tolerate=NOT_FOUND),))
    owner = meta.controller_of(claim)
    if owner is None or (owner.get("apiVersion"), owner.get("kind")) != ("v1", "Pod") or meta.is_deleting(claim):
        return Plan()
    pod = world.pods.get(owner["name"])
    # Where the cache does not know the pod, it may be new; if it is gone, the garbage collector sees to the claim.
    if pod is None or (meta.uid(pod) == owner["uid"] and not needs_claims_no_more(pod)):
        return Plan()
    return Plan((Delete(RESOURCECLAIMS, claim),))


def _is_pod(consumer: Obj) -> bool:
    return not consumer.get("apiGroup") and consumer.get("resource") == "pods"


def _still_counts(consumer: Obj, world: ClaimWorld) -> bool:
    pod = world.pods.get(consumer["name"])
    if pod is None:
        return world.exist[consumer["uid"]]
    return meta.uid(pod) == consumer["uid"] and not needs_claims_no_more(pod)


def _unallocated(claim: Obj) -> Obj:
    return {name: value for name, value in claim["status"].items() if name not in ("allocation", "reservedFor")}


def _released(claim: Obj) -> Obj:
    kept = [each for each in meta.finalizers(claim) if each != FINALIZER]
    return {**claim, "metadata": {**claim["metadata"], "finalizers": kept}}


async def ask(client: Client, arguments: Mapping[str, Any]) -> dict[str, bool]:
    """Whether the pods are there: one that is being scheduled must not lose its devices because it is new to the cache."""
    found: dict[str, bool] = {}
    for each in arguments["pods"]:
        try:
            pod = await client.get(PODS, each["name"], arguments["namespace"])
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            found[each["uid"]] = False
        else:
            found[each["uid"]] = meta.uid(pod) == each["uid"]
    return found


async def give_back(client: Client, arguments: Mapping[str, Any]) -> None:
    """The allocation goes, and only if nobody allocates anew meanwhile, what protects it."""
    claim: Obj = arguments["claim"]
    free = await client.update(RESOURCECLAIMS, {**claim, "status": _unallocated(claim)}, subresource="status")
    if FINALIZER in meta.finalizers(free) and get(free, ("status", "allocation")) is None:
        await client.update(RESOURCECLAIMS, _released(free))
