"""A pod can only run where its volumes can be: bound ones by their node affinity, others where one can be found or made."""

from dataclasses import dataclass

import numpy as np

from tiphys.api.node_selector import NodeTerm, node_terms
from tiphys.machinery.tree import Obj
from tiphys.scheduler import migration, volumes
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Lack, Narrowed, OfNodesOnly, Reason, Refused
from tiphys.scheduler.node_table import Mask, Nodes, Numbers
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.volumes import VolumePlan

_NOT_THERE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
_BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
_NO_SPACE = "node(s) did not have enough free storage"


@dataclass(frozen=True, slots=True)
class _Sorted:
    bound: list[Obj]
    delayed: list[Obj]
    """Those for which a volume is found, or made, once a node is chosen; the smallest first."""
    immediate: list[Obj]


class VolumeBinding(OfNodesOnly):
    name = "VolumeBinding"
    unblocked_by = (
        Event.VOLUME
        | Event.CLAIM
        | Event.STORAGE_CLASS
        | Event.CSI_NODE
        | Event.CSI_DRIVER
        | Event.CSI_CAPACITY
        | Event.NODE_ADDED
        | Event.NODE_LABELS
    )

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def narrow(self, pod: PodInfo) -> Narrowed | None:
        if not pod.claims:
            return None
        words = self._problem(pod)
        if not words and self._sorted(pod).immediate:
            words = "pod has unbound immediate PersistentVolumeClaims"
        return Narrowed(words=words) if words else None

    def _problem(self, pod: PodInfo) -> str:
        for use in pod.claims:
            claim = self._cluster.claim(pod.namespace, use.name)
            if claim is None:
                if use.ephemeral:
                    return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.name}"'
                return f'persistentvolumeclaim "{use.name}" not found'
            if (claim.get("status") or {}).get("phase") == "Lost":
                volume = claim["spec"].get("volumeName", "")
                return f'persistentvolumeclaim "{use.name}" bound to non-existent persistentvolume "{volume}"'
            if claim["metadata"].get("deletionTimestamp"):
                return f'persistentvolumeclaim "{use.name}" is being deleted'
            if use.ephemeral and not _made_for(claim, pod):
                return f"PVC {pod.namespace}/{use.name} was not created for pod {pod.key} (pod is not owner)"
        return ""

    def _sorted(self, pod: PodInfo) -> _Sorted:
        found = _Sorted([], [], [])
        for use in pod.claims:
            claim = self._cluster.claim(pod.namespace, use.name)
            if claim is None:
                continue
            if volumes.is_bound(claim):
                found.bound.append(claim)
            elif self._waits(claim) and not claim["spec"].get("volumeName"):
                found.delayed.append(claim)
            else:
                found.immediate.append(claim)
        found.delayed.sort(key=volumes.requested)
        return found

    def _waits(self, claim: Obj) -> bool:
        storage_class = self._cluster.storage_classes.get(volumes.class_of(claim))
        return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        if not pod.claims:
            return None
        found = self._sorted(pod)
        reasons = self._bound(found.bound, nodes)
        if found.delayed:
            search = _Search(self._cluster, nodes, found.delayed)
            reasons += [Reason(search.conflict, _BIND_CONFLICT, False), Reason(search.no_space, _NO_SPACE, False)]
        every = nodes.nothing()
        for each in reasons:
            every |= each.rows
        return Refused(every, tuple(reasons)) if every.any() else None

    def _bound(self, claims: list[Obj], nodes: Nodes) -> list[Reason]:
        """A node is told of the first claim that keeps it out."""
        conflict, gone = nodes.nothing(), nodes.nothing()
        for claim in claims:
            volume = self._cluster.volumes.get(claim["spec"]["volumeName"])
            if volume is None:
                gone |= ~conflict
                break
            conflict |= ~self._within_reach(volume, nodes)
        return [Reason(conflict, _NODE_CONFLICT, False), Reason(gone, _NOT_THERE, False)]

    def _within_reach(self, volume: Obj, nodes: Nodes) -> Mask:
        """From which nodes it can be reached. Drivers that serve old kinds of volumes have their own words for where."""
        here = _reach(nodes, volumes.nodes_of(volume))
        if not migration.source_in(volume["spec"]):
            return here
        required = migration.required_nodes(volume)
        served = _reach(nodes, None if required is None else node_terms(required))
        for position, name in nodes.named():
            if migration.is_served(volume["spec"], migration.migrated(self._cluster.csi_nodes.get(name))):
                here[position] = served[position]
        return here

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        found, sorted_claims = [], self._sorted(pod)
        for claim in sorted_claims.bound:
            name, volume = claim["spec"]["volumeName"], self._cluster.volumes.get(claim["spec"]["volumeName"])
            if volume is None:
                found.append(Lack(f"cannot have volume {name}: it is gone", f"restore persistentvolume {name}"))
            elif not self._within_reach(volume, nodes)[0]:
                told = f"cannot reach volume {name} of claim {claim['metadata']['name']}"
                found.append(Lack(told, f"room on a node that volume {name} can be reached from"))
        for claim in sorted_claims.delayed:
            search = _Search(self._cluster, nodes, [claim])
            if search.conflict[0] or search.no_space[0]:
                size, name = volumes.requested(claim), claim["metadata"]["name"]
                found.append(Lack(f"has no volume of {size} for claim {name}", f"a volume of {size} that it can reach"))
        return found

    def plan(self, pod: PodInfo, nodes: Nodes) -> VolumePlan | None:
        """For the one node that was chosen."""
        if not pod.claims:
            return None
        delayed = self._sorted(pod).delayed
        return _Search(self._cluster, nodes, delayed).plan() if delayed else None

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if change.event is Event.CLAIM:
            return concerns_claim(pod, change)
        return bool(pod.claims)


def concerns_claim(pod: PodInfo, change: Change) -> bool:
    claim = change.new or change.old
    if claim is None or claim["metadata"].get("namespace") != pod.namespace:
        return False
    return any(use.name == claim["metadata"]["name"] for use in pod.claims)


def _made_for(claim: Obj, pod: PodInfo) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(each.get("controller") and each.get("uid") == pod.uid for each in owners)


def _reach(nodes: Nodes, terms: tuple[NodeTerm, ...] | None) -> Mask:
    table = nodes.table
    if terms is None:
        return ~nodes.nothing()
    mask = nodes.nothing()
    for term in terms:
        mask = mask | table.labels.term(term, table.rows)[nodes.rows]
    return mask


class _Search:
    """For claims without a volume: on which nodes one can be found or made. All nodes at once, claim by claim."""

    def __init__(self, cluster: Cluster, nodes: Nodes, claims: list[Obj]) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self.conflict = nodes.nothing()
        self.no_space = nodes.nothing()
        self._choices: list[tuple[Obj, list[Obj], Numbers]] = []
        """(claim, volumes that suit it, which of them each node would take: -1 none)."""
        self._taken: dict[str, Mask] = {}
        decided = [(claim, cluster.node_for(claim)) for claim in claims]
        for claim, chosen in decided:
            if chosen is not None:
                self._only(claim, chosen)
        for claim, chosen in decided:
            if chosen is None:
                suitable = sorted(cluster.volumes_for(claim), key=volumes.capacity)
                self._choices.append((claim, suitable, self._match(suitable)))
        for claim, _, found in self._choices:
            # The first claim for which nothing can be made has the word.
            to_make = (found < 0) & ~self.conflict & ~self.no_space
            if to_make.any():
                self._provision(claim, to_make)

    def _only(self, claim: Obj, chosen: str) -> None:
        """A volume is to be made there, or nowhere."""
        nodes = self._nodes
        at = nodes.position(nodes.table.rows.get(chosen, -1))
        others = ~nodes.nothing()
        if at is not None:
            others[at] = False
        self.conflict |= others
        self._choices.append((claim, [], np.full(nodes.count, -1, np.int64)))

    def _match(self, suitable: list[Obj]) -> Numbers:
        found = np.full(self._nodes.count, -1, np.int64)
        # A volume that was set aside for the claim goes before all others.
        order = sorted(range(len(suitable)), key=lambda at: not suitable[at]["spec"].get("claimRef"))
        for at in order:
            volume = suitable[at]
            name = volume["metadata"]["name"]
            taken = self._taken.setdefault(name, self._nodes.nothing())
            mine = _reach(self._nodes, volumes.nodes_of(volume)) & (found < 0) & ~taken
            found[mine] = at
            taken |= mine
        return found

    def _provision(self, claim: Obj, rows: Mask) -> None:
        storage_class = self._cluster.storage_classes.get(volumes.class_of(claim))
        provisioner = (storage_class or {}).get("provisioner") or ""
        if storage_class is None or provisioner in ("", volumes.NO_PROVISIONER):
            self.conflict |= rows
            return
        allowed = _reach(self._nodes, volumes.topologies_of(storage_class))
        self.conflict |= rows & ~allowed
        driver = self._cluster.csi_drivers.get(provisioner)
        if driver is None or not (driver.get("spec") or {}).get("storageCapacity"):
            return
        enough = self._nodes.nothing()
        for each in self._cluster.capacities_for(storage_class["metadata"]["name"], volumes.requested(claim)):
            enough |= _reach(self._nodes, (volumes.term_of(each["nodeTopology"]),))
        self.no_space |= rows & allowed & ~enough

    def plan(self) -> VolumePlan:
        bindings, provisions = [], []
        for claim, suitable, found in self._choices:
            at = int(found[0])
            if at >= 0:
                bindings.append((suitable[at], claim))
            else:
                provisions.append(claim)
        return VolumePlan(tuple(bindings), tuple(provisions))
