"""What the scheduler follows of the API server, and where each object goes."""

from collections.abc import Callable, Mapping
from typing import Any

from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.core.pods import PODS
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.api.core.services import SERVICES
from tiphys.api.kind import Kind
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.api.storage.csidrivers import CSIDRIVERS
from tiphys.api.storage.csinodes import CSINODES
from tiphys.api.storage.csistoragecapacities import CSISTORAGECAPACITIES
from tiphys.api.storage.storageclasses import STORAGECLASSES
from tiphys.api.storage.volumeattachments import VOLUMEATTACHMENTS
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.client.informer import Handler, Informer
from tiphys.client.interface import Client
from tiphys.machinery.tree import Obj
from tiphys.scheduler.events import Event
from tiphys.scheduler.state import State

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


class Watching:
    """`happened(work, what, old, new)` does the work, and says so if it fails; the loop is woken by it."""

    def __init__(
        self,
        client: Client,
        state: State,
        clock: Clock,
        chance: Callable[[], float],
        log: Logger,
        happened: Callable[[Callable[[], None], str, Obj | None, Obj | None], None],
    ) -> None:
        self._client = client
        self._state = state
        self._clock = clock
        self._chance = chance
        self._log = log
        self._happened = happened

    def informers(self) -> list[Informer]:
        """Nodes and what pods refer to come before the pods."""
        cluster = self._state.cluster
        spread: list[tuple[Kind, dict[str, dict[str, Obj]]]] = [
            (SERVICES, cluster.services),
            (REPLICATION_CONTROLLERS, cluster.replication_controllers),
            (REPLICASETS, cluster.replica_sets),
            (STATEFULSETS, cluster.stateful_sets),
            (PODDISRUPTIONBUDGETS, cluster.budgets),
        ]
        found = [self._informer(kind, _keeper(into)) for kind, into in spread]
        found += self._storage()
        found.append(self._informer(NAMESPACES, _flat_keeper(cluster.namespaces)))
        found.append(self._informer(NODES, self._node))
        found.append(self._informer(PODS, self._pod, UNFINISHED))
        return found

    def _storage(self) -> list[Informer]:
        cluster = self._state.cluster
        keepers: list[tuple[Kind, Event, Handler]] = [
            (PERSISTENT_VOLUMES, Event.VOLUME, _flat_keeper(cluster.volumes)),
            (PERSISTENT_VOLUME_CLAIMS, Event.CLAIM, _keeper(cluster.claims)),
            (STORAGECLASSES, Event.STORAGE_CLASS, _flat_keeper(cluster.storage_classes)),
            (VOLUMEATTACHMENTS, Event.VOLUME_DETACHED, _flat_keeper(cluster.attachments)),
            (CSINODES, Event.CSI_NODE, _flat_keeper(cluster.csi_nodes)),
            (CSIDRIVERS, Event.CSI_DRIVER, _flat_keeper(cluster.csi_drivers)),
            (CSISTORAGECAPACITIES, Event.CSI_CAPACITY, _keeper(cluster.csi_capacities)),
            (DEVICECLASSES, Event.DEVICE_CLASS, _flat_keeper(cluster.device_classes)),
            (RESOURCESLICES, Event.RESOURCE_SLICE, _flat_keeper(cluster.resource_slices)),
            (RESOURCECLAIMS, Event.RESOURCE_CLAIM, cluster.resource_claims.changed),
        ]
        return [self._informer(kind, self._storage_handler(event, keep)) for kind, event, keep in keepers]

    def _storage_handler(self, event: Event, keep: Handler) -> Handler:
        def handle(old: Obj | None, new: Obj | None) -> None:
            def work() -> None:
                keep(old, new)
                self._state.storage_changed(event, old, new, self._clock.monotonic())

            self._happened(work, "storage", old, new)

        return handle

    def _informer(self, kind: Kind, handler: Handler, fields: str = "") -> Informer:
        informer = Informer(self._client, kind, self._clock, self._chance, self._log, fields=fields)
        informer.add_handler(handler)
        return informer

    def _node(self, old: Obj | None, new: Obj | None) -> None:
        now = self._clock.monotonic()
        self._happened(lambda: self._state.node_changed(old, new, now), "node", old, new)

    def _pod(self, old: Obj | None, new: Obj | None) -> None:
        now = self._clock.monotonic()
        self._happened(lambda: self._state.pod_changed(old, new, now), "pod", old, new)


def _keeper(into: dict[str, dict[str, Obj]]) -> Handler:
    def keep(old: Obj | None, new: Obj | None) -> None:
        meta: Mapping[str, Any] = (new or old or {})["metadata"]
        if new is not None:
            into.setdefault(meta["namespace"], {})[meta["name"]] = new
        else:
            into.get(meta["namespace"], {}).pop(meta["name"], None)

    return keep


def _flat_keeper(into: dict[str, Obj]) -> Handler:
    def keep(old: Obj | None, new: Obj | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        if new is not None:
            into[name] = new
        else:
            into.pop(name, None)

    return keep
