"""Volumes that only one pod may use: claims of access mode ReadWriteOncePod, and disks that cannot be shared on a node."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiphys.scheduler import volumes
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Base, Narrowed, Reason, Refused
from tiphys.scheduler.node_table import Mask, Nodes, NodeTable
from tiphys.scheduler.plugins.volume_binding import concerns_claim
from tiphys.scheduler.pod_info import PodInfo

_DISK = "node(s) had no available disk"
_IN_USE = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"


@dataclass(frozen=True, slots=True)
class _Names:
    """How often it names this claim, which was not made for it alone."""

    namespace: str
    claim: str

    def counts(self, pod: PodInfo) -> int:
        return sum(use.name == self.claim and not use.ephemeral for use in pod.claims) if pod.namespace == self.namespace else 0


class VolumeRestrictions(Base):
    name = "VolumeRestrictions"
    imagines = True
    unblocked_by = Event.POD_DELETED | Event.NODE_ADDED | Event.CLAIM

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def narrow(self, pod: PodInfo) -> Narrowed | None:
        """Of the claims that a pod names. Those that are made for it are somebody else's to miss."""
        for use in pod.claims:
            if not use.ephemeral and self._cluster.claim(pod.namespace, use.name) is None:
                return Narrowed(words=f'persistentvolumeclaim "{use.name}" not found')
        return None

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:  # noqa: ARG002
        return frozenset() if not pod.claims and not pod.disks else None

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        if not pod.claims and not pod.disks:
            return None
        disks = self._taken_disks(pod, nodes)
        in_use = self._claims_in_use(pod, nodes) & ~disks
        every = disks | in_use
        return Refused(every, (Reason(disks, _DISK), Reason(in_use, _IN_USE))) if every.any() else None

    def _claims_in_use(self, pod: PodInfo, nodes: Nodes) -> Mask:
        """Anywhere: such a claim is for one pod of the whole cluster."""
        in_use = nodes.nothing()
        for use in pod.claims:
            claim = self._cluster.claim(pod.namespace, use.name)
            once = claim is not None and not use.ephemeral and "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ())
            if once:
                in_use |= nodes.table.claims[f"{pod.namespace}/{use.name}"] > nodes.fewer(_Names(pod.namespace, use.name))
        return in_use

    def _taken_disks(self, pod: PodInfo, nodes: Nodes) -> Mask:
        taken = nodes.nothing()
        if not pod.disks:
            return taken
        names = [name for each in pod.disks if (name := volumes.disk_name(each)) is not None]
        for position in nodes.naming_disks(names):
            others = nodes.pods(position)
            taken[position] = any(
                volumes.clash(mine, theirs) for other in others for theirs in other.disks for mine in pod.disks
            )
        return taken

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        match change.event:
            case Event.CLAIM:
                return change.old is None and concerns_claim(pod, change)
            case Event.POD_DELETED:
                gone = change.old_pod
                return gone is not None and gone.namespace == pod.namespace and _share(pod, gone)
        return True


def _share(one: PodInfo, other: PodInfo) -> bool:
    names = {use.name for use in one.claims}
    return any(use.name in names for use in other.claims) or any(
        volumes.clash(mine, theirs) for mine in one.disks for theirs in other.disks
    )
