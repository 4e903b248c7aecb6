"""What our scheduler makes of a scene."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bench.scheduler.scenes import Scene
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.core.pods import PODS
from tiphys.api.core.services import SERVICES
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.api.storage.csidrivers import CSIDRIVERS
from tiphys.api.storage.csinodes import CSINODES
from tiphys.api.storage.csistoragecapacities import CSISTORAGECAPACITIES
from tiphys.api.storage.storageclasses import STORAGECLASSES
from tiphys.api.storage.volumeattachments import VOLUMEATTACHMENTS
from tiphys.machinery import times
from tiphys.scheduler import pod_info
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER
from tiphys.scheduler.cycle import Placed
from tiphys.scheduler.devices.trying import Decided
from tiphys.scheduler.framework import Failed
from tiphys.scheduler.plugins.dynamic_resources import DynamicResources
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.profiles import default_profile
from tiphys.scheduler.state import State

NOW = times.parse("2026-07-01T00:00:00Z")
"""Whoever judges a scene does so later than anything happens in it, and before anything that it waits for is late."""


@dataclass(slots=True)
class Judgement:
    gate: str = ""
    """Why the pod is not tried."""
    failures: frozenset[str] = frozenset()
    """Why nothing can be said of it: there may be several nodes that something is wrong with."""
    totals: dict[str, int] = field(default_factory=dict)
    """Of the nodes that can take it."""
    node: str = ""
    message: str = ""
    blamed: list[str] = field(default_factory=list)
    """Plugins whose events wake it."""
    room: dict[str, list[str]] = field(default_factory=dict)
    """Nodes on which room could be made as cheaply as anywhere, and who would have to go."""
    told: dict[str, Any] = field(default_factory=dict)
    """Node by node, for people."""
    gives: Callable[[str], Decided] = lambda _: Decided({})
    """What claims would get on a node."""
    freed: list[str] = field(default_factory=list)
    """Claims, any of which could give its devices back."""
    removed: str = ""
    """A claim that was made for the pod in vain."""

    @property
    def best(self) -> list[str]:
        top = max(self.totals.values(), default=0)
        return sorted(name for name, total in self.totals.items() if total == top)


def state_of(scene: Scene) -> State:
    state = State(lambda cluster: {DEFAULT_SCHEDULER: default_profile(cluster)}, lambda _: 0)
    cluster = state.cluster
    flat = (
        (NAMESPACES, cluster.namespaces),
        (PERSISTENT_VOLUMES, cluster.volumes),
        (STORAGECLASSES, cluster.storage_classes),
        (VOLUMEATTACHMENTS, cluster.attachments),
        (CSINODES, cluster.csi_nodes),
        (CSIDRIVERS, cluster.csi_drivers),
        (DEVICECLASSES, cluster.device_classes),
        (RESOURCESLICES, cluster.resource_slices),
    )
    for kind, into in flat:
        into.update({each["metadata"]["name"]: each for each in scene.of(kind)})
    by_namespace = (
        (SERVICES, cluster.services),
        (REPLICASETS, cluster.replica_sets),
        (PODDISRUPTIONBUDGETS, cluster.budgets),
        (PERSISTENT_VOLUME_CLAIMS, cluster.claims),
        (CSISTORAGECAPACITIES, cluster.csi_capacities),
    )
    for kind, nested in by_namespace:
        for each in scene.of(kind):
            nested.setdefault(each["metadata"]["namespace"], {})[each["metadata"]["name"]] = each
    for each in scene.of(RESOURCECLAIMS):
        cluster.resource_claims.changed(None, each)
    for each in scene.of(NODES):
        state.node_changed(None, each, 0.0)
    for each in scene.of(PODS):
        state.pod_changed(None, each, 0.0)
    return state


def judge(scene: Scene) -> Judgement:
    state, pod = state_of(scene), pod_info.of(scene.pod)
    for gate in state.profiles[DEFAULT_SCHEDULER].gates:
        if words := gate.gate(pod):
            return Judgement(gate=words)
    devices = next(each for each in state.profiles[DEFAULT_SCHEDULER].filters if isinstance(each, DynamicResources))
    try:
        outcome = state.cycles[DEFAULT_SCHEDULER].schedule(pod, NOW)
    except Failed:
        return Judgement(failures=frozenset(_failures(state, pod)))
    told = outcome.decision.explain()["nodes"]
    totals = {name: each["total"] for name, each in told.items() if "total" in each}
    if isinstance(outcome, Placed):
        # A node that room was made on is taken without a look at the others.
        totals = totals or {outcome.node: 0}
        return Judgement(totals=totals, node=outcome.node, told=told, gives=lambda node: devices.decided(pod, node))
    cheapest = [each for each in outcome.candidates if outcome.victims is not None and each.loss == outcome.victims.loss]
    room = {each.node: sorted(victim.key for victim in each.pods if not victim.deleting) for each in cheapest}
    judged = Judgement(message=outcome.message, blamed=sorted(outcome.refused_by), room=room, told=told)
    for each in outcome.freed:
        if each.claim is not None:
            judged.freed = sorted(one["metadata"]["name"] for one in devices.could_free(pod))
        judged.removed = each.removed["metadata"]["name"] if each.removed is not None else ""
    return judged


def _failures(state: State, pod: PodInfo) -> Iterator[str]:
    """Node by node: who asks several at a time does not know which of them it will be told of."""
    for row in range(state.table.count):
        try:
            state.cycles[DEFAULT_SCHEDULER].filtering.one(pod, row)
        except Failed as failure:
            yield str(failure)
