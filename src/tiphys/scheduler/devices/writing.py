"""What is written of claims before a pod is bound, and what of it is taken back if the pod is not bound after all.

upstream pkg/scheduler/framework/plugins/dynamicresources: bindClaim, Unreserve, extendeddynamicresources.go.
"""

from tiphys.api.core.pods import PODS
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.client.interface import Client
from tiphys.machinery import meta, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, put
from tiphys.scheduler.devices.claims import Claims, allocation_of, is_reserved_for, users
from tiphys.scheduler.devices.trying import Decided, temporary_uid
from tiphys.scheduler.pod_info import PodInfo

FINALIZER = "resource.kubernetes.io/delete-protection"
_ATTEMPTS = 5


async def write(pod: PodInfo, decided: Decided, claims: Claims, now: float, client: Client) -> None:
    """Raises ValueError where somebody else was faster."""
    for claim in claims.of(pod):
        allocation = decided.allocations.get(meta.uid(claim))
        if allocation is not None or not is_reserved_for(claim, pod):
            claims.wrote(await _reserved(pod, claim, allocation, now, client))
    if decided.extended is not None:
        made = await _made(decided.extended, client)
        claims.wrote(made)
        allocation = decided.allocations[temporary_uid(pod)]
        claims.promise(meta.uid(made), allocation)
        claims.take_back(temporary_uid(pod))
        claims.wrote(await _reserved(pod, made, allocation, now, client))
        await _tell_pod(pod, made, decided, client)


async def _made(claim: Obj, client: Client) -> Obj:
    metadata = {key: value for key, value in claim["metadata"].items() if key not in ("name", "uid")}
    new = {"apiVersion": RESOURCECLAIMS.api_version, "kind": RESOURCECLAIMS.kind, "metadata": metadata, "spec": claim["spec"]}
    try:
        return await client.create(RESOURCECLAIMS, new, metadata["namespace"])
    except ApiError as error:
        raise ValueError(f"create claim for extended resources {metadata['namespace']}/: {error}") from error


async def _reserved(pod: PodInfo, claim: Obj, allocation: Obj | None, now: float, client: Client) -> Obj:
    """The claim with its allocation, and that the pod uses it."""
    name, namespace = meta.name(claim), meta.namespace(claim)
    for attempt in range(_ATTEMPTS):
        if attempt:
            claim = await client.get(RESOURCECLAIMS, name, namespace)
        if meta.is_deleting(claim):
            raise ValueError(f"claim {namespace}/{name} got deleted in the meantime")
        if allocation is not None and allocation_of(claim) is not None:
            raise ValueError(f"claim {namespace}/{name} got allocated elsewhere in the meantime")
        if allocation is None and allocation_of(claim) is None:
            raise ValueError(f"claim {namespace}/{name} got deallocated elsewhere in the meantime")
        step = f"add finalizer to claim {namespace}/{name}"
        try:
            if allocation is not None and FINALIZER not in meta.finalizers(claim):
                claim = await client.update(
                    RESOURCECLAIMS, put(claim, ("metadata", "finalizers"), [*meta.finalizers(claim), FINALIZER])
                )
            what = "allocation and reservation" if allocation is not None else "reservation"
            step = f"add {what} to claim {namespace}/{name}"
            status = _status(pod, claim, allocation, now)
            return await client.update(RESOURCECLAIMS, put(claim, ("status",), status), subresource="status")
        except ApiError as error:
            if error.reason != "Conflict" or attempt == _ATTEMPTS - 1:
                raise ValueError(f"{step}: {error}") from error
    raise AssertionError


def _status(pod: PodInfo, claim: Obj, allocation: Obj | None, now: float) -> Obj:
    user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    others = [each for each in users(claim) if each["uid"] != pod.uid]
    status = {**(claim.get("status") or {}), "reservedFor": [*others, user]}
    if allocation is not None:
        # One that is there already cannot be changed, not even dated.
        status["allocation"] = {**allocation, "allocationTimestamp": times.rfc3339(now)}
    return status


async def _tell_pod(pod: PodInfo, claim: Obj, decided: Decided, client: Client) -> None:
    told = {"requestMappings": list(decided.mappings), "resourceClaimName": meta.name(claim)}
    patch = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": told}}
    try:
        await client.patch(PODS, pod.name, patch, pod.namespace, patch_type="strategic", subresource="status")
    except ApiError as error:
        raise ValueError(f"update pod {pod.key} ExtendedResourceClaimStatus: {error}") from error


async def take_back(pod: PodInfo, named: list[Obj], claims: Claims, client: Client) -> None:
    """`named`: claims of the pod, whose devices stay where they are, but not for this pod."""
    for claim in named:
        if allocation_of(claim) is not None and is_reserved_for(claim, pod):
            gone = [{"$patch": "delete", "uid": pod.uid}]
            patch = {"metadata": {"uid": meta.uid(claim)}, "status": {"reservedFor": gone}}
            name, namespace = meta.name(claim), meta.namespace(claim)
            claims.wrote(
                await client.patch(RESOURCECLAIMS, name, patch, namespace, patch_type="strategic", subresource="status")
            )
    made = claims.of_extended_resources(pod)
    if made is not None:
        await remove(made, client)
        claims.removed(made)


async def remove(claim: Obj, client: Client) -> None:
    """One that the scheduler made."""
    name, namespace = meta.name(claim), meta.namespace(claim)
    try:
        for attempt in range(_ATTEMPTS):
            try:
                kept = [each for each in meta.finalizers(claim) if each != FINALIZER]
                await client.update(RESOURCECLAIMS, put(claim, ("metadata", "finalizers"), kept))
                break
            except ApiError as error:
                if error.reason != "Conflict" or attempt == _ATTEMPTS - 1:
                    raise
                claim = await client.get(RESOURCECLAIMS, name, namespace)
        await client.delete(RESOURCECLAIMS, name, namespace)
    except ApiError as error:
        if error.reason != "NotFound":
            raise
