"""Devices for the claims of a pod: a node must be able to give them, and does once the pod is to go there.

upstream pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tiphys.api.node_selector import node_terms
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.client.interface import Client
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, put
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.devices import Allocator, DeviceId, OnThisNode, allocated_in, pools_on
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Base, Failed, Freed, Narrowed, Reason, Refused, most_is_best
from tiphys.scheduler.node_table import Nodes, NodeTable, Numbers
from tiphys.scheduler.plugins.node_affinity import term_matches
from tiphys.scheduler.pod_info import PodInfo

_FINALIZER = "resource.kubernetes.io/delete-protection"
_NOT_HERE = "resourceclaim not available on the node"
_TOO_FEW = "cannot allocate all claims"
_ATTEMPTS = 5


class _NoClaim(Exception):
    """Why a claim of a pod cannot be found."""


class DynamicResources(Base):
    name = "DynamicResources"
    unblocked_by = (
        Event.RESOURCE_CLAIM
        | Event.DEVICE_CLASS
        | Event.RESOURCE_SLICE
        | Event.POD_CLAIMS
        | Event.NODE_ADDED
        | Event.NODE_LABELS
        | Event.NODE_ALLOCATABLE
    )

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pending: dict[str, Obj] = {}
        """Allocations that are decided and not written yet, by the uid of the claim."""
        self._tried = ""
        """The pod that is being tried; what follows is about it."""
        self._found: dict[str, dict[str, Obj]] = {}
        """By node: allocations for the claims that have none, by uid."""
        self._unavailable: dict[str, Obj] = {}
        """Claims whose devices cannot be reached from some node."""

    def gate(self, pod: PodInfo) -> str:
        try:
            self._claims(pod)
        except _NoClaim as problem:
            return str(problem)
        return ""

    def _claims(self, pod: PodInfo) -> list[Obj]:
        """Raises _NoClaim."""
        listed = pod.obj["spec"].get("resourceClaims")
        return list(self._each_claim(pod, listed)) if listed else []

    def _each_claim(self, pod: PodInfo, listed: list[Obj]) -> Iterator[Obj]:
        statuses = {each["name"]: each for each in (pod.obj.get("status") or {}).get("resourceClaimStatuses") or ()}
        for each in listed:
            made = not each.get("resourceClaimName")
            if made and each["name"] not in statuses:
                raise _NoClaim(f'pod "{pod.key}": ResourceClaim not created yet')
            name = statuses[each["name"]].get("resourceClaimName") if made else each["resourceClaimName"]
            if not name:
                continue  # it was found that none is needed
            claim = self._cluster.resource_claims.get(pod.namespace, {}).get(name)
            if claim is None:
                raise _NoClaim(f'could not find ResourceClaim "{pod.namespace}/{name}"')
            if claim["metadata"].get("deletionTimestamp"):
                raise _NoClaim(f'resourceclaim "{name}" is being deleted')
            if made and (meta.controller_of(claim) or {}).get("uid") != pod.uid:
                told = f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key} (Pod is not owner)"
                raise _NoClaim(told)
            yield claim

    def narrow(self, pod: PodInfo) -> Narrowed | None:
        self._tried, self._found, self._unavailable = "", {}, {}
        try:
            claims = self._claims(pod)
        except _NoClaim as problem:
            return Narrowed(words=str(problem))
        for claim in claims:
            words = self._problem(claim)
            if words:
                return Narrowed(words=words)
        self._tried = pod.uid
        return None

    def _problem(self, claim: Obj) -> str:
        if _allocation(claim) is not None:
            self._pending.pop(claim["metadata"]["uid"], None)
            return ""
        if claim["metadata"]["uid"] in self._pending:
            name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
            return f"resource claim {name} is in the process of being allocated"
        for request in (claim["spec"].get("devices") or {}).get("requests") or ():
            wanted = [(request["name"], request["exactly"])] if request.get("exactly") else []
            wanted += [(f"{request['name']}/{each['name']}", each) for each in request.get("firstAvailable") or ()]
            for name, each in wanted:
                if each["deviceClassName"] not in self._cluster.device_classes:
                    return f"request {name}: device class {each['deviceClassName']} does not exist"
        return ""

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:  # noqa: ARG002
        return frozenset() if not pod.obj["spec"].get("resourceClaims") else None

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        claims = self._claims(pod)
        if not claims:
            return None
        open_ones = [each for each in claims if _allocation(each) is None]
        taken = self._taken() if open_ones else frozenset()
        refused: dict[str, list[int]] = {}
        for position, name in nodes.named():
            node = nodes.table.node(name)
            if node is None or not nodes.feasible[position]:
                continue
            words = self._refusal(claims, open_ones, node, taken)
            if words:
                refused.setdefault(words, []).append(position)
        if not refused:
            return None
        every, reasons = nodes.nothing(), []
        for words, positions in refused.items():
            rows = nodes.nothing()
            rows[positions] = True
            every |= rows
            reasons.append(Reason(rows, words, False))
        return Refused(every, tuple(reasons))

    def _refusal(self, claims: list[Obj], open_ones: list[Obj], node: Obj, taken: frozenset[DeviceId]) -> str:
        name = node["metadata"]["name"]
        allocations: dict[str, Obj] = {}
        if open_ones:
            pools = pools_on(node, self._cluster.resource_slices.values())
            try:
                found = Allocator(pools, taken, self._cluster.device_classes).allocate(open_ones, name)
            except OnThisNode as problem:
                return str(problem)
            except ValueError as problem:
                raise Failed(self.name, str(problem)) from problem
            if found is None:
                return _TOO_FEW
            uids = (each["metadata"]["uid"] for each in open_ones)
            allocations = dict(zip(uids, found, strict=True))
        unavailable = [each for each in claims if not _reaches(each, node)]
        if unavailable:
            self._unavailable.update({each["metadata"]["uid"]: each for each in unavailable})
            return _NOT_HERE
        self._found[name] = allocations
        return ""

    def _taken(self) -> frozenset[DeviceId]:
        allocations = list(self._pending.values())
        for named in self._cluster.resource_claims.values():
            allocations += [found for each in named.values() if (found := _allocation(each)) is not None]
        return frozenset(device for each in allocations for device in allocated_in(each))

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        """Earlier alternatives are better than later ones."""
        claims = self._claims(pod)
        if not any(request.get("firstAvailable") for each in claims for request in _requests(each)):
            return None
        scores: Numbers = np.zeros(nodes.count, np.int64)
        for position, name in nodes.named():
            found = self._found.get(name)
            if found is not None and nodes.feasible[position]:
                scores[position] = sum(map(_preference, claims, (_allocation(each) or _of(found, each) for each in claims)))
        return most_is_best(scores, nodes)

    def free(self, pod: PodInfo) -> Freed:
        try:
            claims = self._claims(pod)
        except _NoClaim:
            claims = []
        if not claims or self._tried != pod.uid:
            return Freed("no new claims to deallocate")
        for each in self._unavailable.values():
            users = (each.get("status") or {}).get("reservedFor") or []
            if all(user["uid"] == pod.uid for user in users):
                return Freed("deallocation of ResourceClaim completed", each)
        return Freed("still not schedulable")

    def reserve(self, pod: PodInfo, node: str) -> str:
        if not pod.obj["spec"].get("resourceClaims"):
            return ""
        if self._tried != pod.uid or node not in self._found:
            return _TOO_FEW
        self._pending.update(self._found[node])
        return ""

    def unreserve(self, pod: PodInfo, node: str) -> None:  # noqa: ARG002
        try:
            claims = self._claims(pod)
        except _NoClaim:
            return
        for each in claims:
            self._pending.pop(each["metadata"]["uid"], None)

    async def before_binding(self, pod: PodInfo, node: str, client: Client) -> None:  # noqa: ARG002
        for claim in self._claims(pod):
            await self._write(pod, claim, client)

    async def _write(self, pod: PodInfo, claim: Obj, client: Client) -> None:
        """The allocation, and that the pod uses it."""
        about = claim["metadata"]
        allocation = self._pending.get(about["uid"])
        user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
        for attempt in range(_ATTEMPTS):
            try:
                if allocation is not None and _FINALIZER not in (claim["metadata"].get("finalizers") or ()):
                    finalizers = [*(claim["metadata"].get("finalizers") or ()), _FINALIZER]
                    claim = await client.update(RESOURCECLAIMS, put(claim, ("metadata", "finalizers"), finalizers))
                status: Obj = claim.get("status") or {}
                users = [each for each in status.get("reservedFor") or () if each["uid"] != pod.uid]
                status = {**status, "reservedFor": [*users, user]}
                if allocation is not None:
                    status["allocation"] = allocation
                await client.update(RESOURCECLAIMS, put(claim, ("status",), status), subresource="status")
                return
            except ApiError as error:
                if error.reason != "Conflict" or attempt == _ATTEMPTS - 1:
                    raise
                claim = await client.get(RESOURCECLAIMS, about["name"], about["namespace"])
                if allocation is not None and _allocation(claim) is not None:
                    raise ValueError(f"claim {about['name']} got allocated elsewhere in the meantime") from None

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if not pod.obj["spec"].get("resourceClaims"):
            return False
        if change.event is Event.POD_CLAIMS:
            return change.concerns(pod)
        return change.event is not Event.RESOURCE_CLAIM or self._claim_helps(pod, change)

    def _claim_helps(self, pod: PodInfo, change: Change) -> bool:
        """Devices that come back help everybody; otherwise only what happens to claims of its own does."""
        claim = change.new or {}
        if change.old is not None and _allocation(change.old) is not None and _allocation(claim) is None:
            return True
        try:
            own = any(each["metadata"]["uid"] == claim["metadata"]["uid"] for each in self._claims(pod))
        except _NoClaim:
            return False
        return own and (change.old is None or change.old.get("status") != claim.get("status"))


def _allocation(claim: Obj) -> Obj | None:
    return (claim.get("status") or {}).get("allocation")


def _of(found: dict[str, Obj], claim: Obj) -> Obj:
    return found.get(claim["metadata"]["uid"], {})


def _requests(claim: Obj) -> list[Obj]:
    return (claim["spec"].get("devices") or {}).get("requests") or []


def _preference(claim: Obj, allocation: Obj) -> int:
    """Of the alternatives that were taken: the first of a list counts 8, the last 1."""
    taken = {each["request"] for each in (allocation.get("devices") or {}).get("results") or ()}
    return sum(
        8 - at
        for request in _requests(claim)
        for at, each in enumerate(request.get("firstAvailable") or ())
        if f"{request['name']}/{each['name']}" in taken
    )


def _reaches(claim: Obj, node: Obj) -> bool:
    selector = (_allocation(claim) or {}).get("nodeSelector")
    if selector is None:
        return True
    name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
    return any(term_matches(each, name, labels) for each in node_terms(selector))
