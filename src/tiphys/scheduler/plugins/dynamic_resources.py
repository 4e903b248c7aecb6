"""Devices for the claims of a pod, and for its resources that devices stand behind: a node must be able to give them, and does
once the pod is to go there.

upstream pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
"""

from collections.abc import Iterator

import numpy as np

from tiphys.client.interface import Client
from tiphys.machinery import duration, meta
from tiphys.machinery.tree import Obj
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.devices import conditions, writing
from tiphys.scheduler.devices.allocating import Allocator
from tiphys.scheduler.devices.claims import NoClaim, allocation_of, users
from tiphys.scheduler.devices.conditions import NotBindable
from tiphys.scheduler.devices.trying import TOO_FEW, Decided, Try
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import (
    Awaited,
    Failed,
    Freed,
    Narrowed,
    NotPrepared,
    OfNodesOnly,
    Reason,
    Refused,
    most_is_best,
)
from tiphys.scheduler.node_table import Nodes, Numbers
from tiphys.scheduler.pod_info import PodInfo

_STEPS_A_SECOND = 50_000
"""Of looking for devices: about as many as can be made."""


class DynamicResources(OfNodesOnly):
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

    def __init__(self, cluster: Cluster, args: Obj | None = None) -> None:
        """`args`: upstream's DynamicResourcesArgs."""
        given = args or {}
        self._cluster = cluster
        self._claims = cluster.resource_claims
        self._binding_seconds = _seconds(given.get("bindingTimeout") or "600s")
        self._most_steps = int(_seconds(given.get("filterTimeout") or "10s") * _STEPS_A_SECOND) or None
        self._try: Try | None = None
        """Of the pod that was tried last."""
        self._decided: dict[str, Decided] = {}
        """What is not written yet, by the uid of the pod."""

    def gate(self, pod: PodInfo) -> str:
        try:
            self._claims.of(pod)
        except NoClaim as problem:
            return str(problem)
        return ""

    def narrow(self, pod: PodInfo) -> Narrowed | None:
        self._try = None
        if not _may_want(pod):
            return None
        try:
            begun = self._begin(pod)
        except NoClaim as problem:
            return Narrowed(words=str(problem))
        if words := begun.problem():
            return Narrowed(words=words)
        self._try = begun
        return None

    def _begin(self, pod: PodInfo) -> Try:
        """Raises NoClaim."""
        claims, cluster = self._claims.of(pod), self._cluster
        cluster.devices.slices.refresh()
        allocator = Allocator(self._claims.ledger, self._most_steps)
        return Try(cluster.devices, pod, claims, cluster.now, self._binding_seconds, allocator)

    def _of(self, pod: PodInfo) -> Try:
        """Some ask about a pod that is not being tried."""
        if self._try is not None and self._try.pod is pod:
            return self._try
        try:
            return self._begin(pod)
        except NoClaim:
            allocator = Allocator(self._claims.ledger, self._most_steps)
            return Try(self._cluster.devices, pod, [], self._cluster.now, self._binding_seconds, allocator)

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        if not _may_want(pod) or (tried := self._of(pod)).is_idle():
            return None
        refused: dict[str, list[int]] = {}
        for position, name in nodes.named():
            node = nodes.table.node(name)
            if node is None or not nodes.feasible[position]:
                continue
            try:
                words = tried.refusal(node)
            except ValueError as problem:
                raise Failed(self.name, str(problem)) from problem
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

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        """Earlier alternatives are better than later ones."""
        if not _may_want(pod):
            return None
        tried = self._of(pod)
        if not any(request.get("firstAvailable") for each in tried.claims for request in _requests(each)):
            return None
        scores: Numbers = np.zeros(nodes.count, np.int64)
        for position, name in nodes.named():
            if name in tried.found and nodes.feasible[position]:
                scores[position] = tried.preference(name)
        return most_is_best(scores, nodes)

    def free(self, pod: PodInfo) -> Freed:
        tried = self._try
        if tried is None or tried.pod is not pod or tried.is_idle():
            return Freed("no new claims to deallocate")
        for each in self.could_free(pod):
            return Freed("deallocation of ResourceClaim completed", each)
        if tried.left_over is not None:
            return Freed("deletion of ResourceClaim completed", removed=tried.left_over)
        return Freed("still not schedulable")

    def could_free(self, pod: PodInfo) -> Iterator[Obj]:
        """Claims whose devices are of no use where the pod could go, and that nobody else has."""
        unavailable = self._of(pod).unavailable.values()
        return (each for each in unavailable if all(user["uid"] == pod.uid for user in users(each)))

    def decided(self, pod: PodInfo, node: str) -> Decided:
        """What would be written, were the pod to go to a node that can take it."""
        return self._of(pod).decided(node, self._cluster.new_uid)

    def reserve(self, pod: PodInfo, node: str) -> str:
        if not _may_want(pod) or (tried := self._of(pod)).is_idle():
            return ""
        if tried.claims and node not in tried.found:
            return TOO_FEW
        decided = self._decided[pod.uid] = self.decided(pod, node)
        for uid, allocation in decided.allocations.items():
            self._claims.promise(uid, allocation)
        return ""

    def unreserve(self, pod: PodInfo, node: str) -> None:  # noqa: ARG002
        decided = self._decided.pop(pod.uid, None)
        if decided is None:
            return
        for uid in decided.allocations:
            self._claims.take_back(uid)

    def _named(self, pod: PodInfo) -> list[Obj]:
        try:
            return self._claims.of(pod)
        except NoClaim:
            return []

    async def before_binding(self, pod: PodInfo, node: str, client: Client) -> None:  # noqa: ARG002
        decided = self._decided.get(pod.uid)
        if decided is None:
            return
        try:
            await writing.write(pod, decided, self._claims, self._cluster.now, client)
        except (ValueError, NoClaim) as problem:
            raise NotPrepared(self.name, str(problem)) from problem

    def awaits(self, pod: PodInfo, node: str) -> Awaited | None:
        if pod.uid not in self._decided or not any(map(conditions.waits, self._all(pod))):
            self._decided.pop(pod.uid, None)
            return None
        told = f"waiting for binding conditions for device on node {node}"
        late = NotPrepared(self.name, "device binding timeout: context deadline exceeded")
        return Awaited("BindingConditionsPending", told, self._binding_seconds, late)

    def is_prepared(self, pod: PodInfo, now: float) -> bool:
        try:
            for each in self._all(pod):
                if not conditions.is_ready(each):
                    if conditions.is_late(each, now, self._binding_seconds):
                        raise NotPrepared(self.name, f"device binding timeout: claim={meta.name(each)}")
                    return False
        except NotBindable as problem:
            raise NotPrepared(self.name, str(problem)) from problem
        self._decided.pop(pod.uid, None)
        return True

    def _all(self, pod: PodInfo) -> list[Obj]:
        made = self._claims.of_extended_resources(pod)
        return [*self._claims.of(pod), *((made,) if made is not None else ())]

    async def take_back(self, pod: PodInfo, node: str, client: Client) -> None:  # noqa: ARG002
        await writing.take_back(pod, self._named(pod), self._claims, client)

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        """Any node, class or slice may bring what is missing."""
        match change.event:
            case Event.POD_CLAIMS:
                return change.concerns(pod) and not self.gate(pod)
            case Event.RESOURCE_CLAIM:
                return self._claim_helps(pod, change)
        return True

    def _claim_helps(self, pod: PodInfo, change: Change) -> bool:
        """Devices that come back help everybody; otherwise only what happens to claims of its own does."""
        claim = change.new or {}
        try:
            own = any(meta.uid(each) == meta.uid(claim) for each in self._claims.of(pod))
        except NoClaim:
            return False
        if change.old is not None and allocation_of(change.old) is not None and allocation_of(claim) is None:
            return True
        return own and (change.old is None or change.old.get("status") != claim.get("status"))


def _may_want(pod: PodInfo) -> bool:
    """Most pods want no devices, and nothing that any could stand behind."""
    return bool(pod.obj["spec"].get("resourceClaims")) or any("/" in name for name in pod.requests)


def _requests(claim: Obj) -> list[Obj]:
    return (claim["spec"].get("devices") or {}).get("requests") or []


def _seconds(text: str) -> float:
    return duration.parse(text) / duration.SECOND
