"""How many volumes of a CSI driver can be attached to a node, as its CSINode says."""

from collections.abc import Iterable, Iterator, Sequence

from tiphys.machinery.tree import Obj
from tiphys.scheduler import volumes
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Base, Lack, Refused, refused
from tiphys.scheduler.migration import provisioner_now, served_by
from tiphys.scheduler.node_table import Nodes, NodeTable
from tiphys.scheduler.plugins.volume_binding import concerns_claim
from tiphys.scheduler.pod_info import PodInfo

_Attached = dict[str, set[str]]
"""By driver: what of it is attached."""


class NodeVolumeLimits(Base):
    name = "NodeVolumeLimits"
    imagines = True
    unblocked_by = Event.CSI_NODE | Event.POD_DELETED | Event.CLAIM | Event.VOLUME | Event.NODE_ADDED | Event.VOLUME_DETACHED

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:  # noqa: ARG002
        return frozenset() if not pod.claims and not pod.disks else None

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        wanted = self._volumes(pod) if pod.claims or pod.disks else {}
        if not wanted:
            return None
        over, uses = nodes.nothing(), nodes.most_volume_uses.tolist()
        attached = nodes.once((self.name, "attached"), self._attached)
        limits = nodes.once((self.name, "limits"), lambda: self._all_limits(wanted))
        for position, name in nodes.named() if limits else ():
            mine = limits.get(name)
            if mine is None or not nodes.feasible[position]:
                continue
            lingering = attached.get(name, {})
            # So many there are at the most: most nodes need no closer look.
            if all(
                uses[position] + len(lingering.get(driver, ())) + len(wanted[driver]) <= most for driver, most in mine.items()
            ):
                continue
            counts = self._counts(nodes.pods(position), lingering, wanted, mine)
            over[position] = any(new > 0 and has + new > mine[driver] for driver, has, new in counts)
        return refused(over, "node(s) exceed max volume count")

    def _all_limits(self, wanted: _Attached) -> dict[str, dict[str, int]]:
        """By node, where there are any."""
        found = ((name, _limits(each, wanted)) for name, each in self._cluster.csi_nodes.items())
        return {name: limits for name, limits in found if limits}

    def _attached(self) -> dict[str, _Attached]:
        """By node."""
        found: dict[str, _Attached] = {}
        for node, driver, volume in self._cluster.attached():
            if volume["spec"].get("csi"):
                handle = volume["spec"]["csi"].get("volumeHandle", "")
                found.setdefault(node, {}).setdefault(driver, set()).add(handle)
        return found

    def _counts(
        self, pods: Iterable[PodInfo], lingering: _Attached, wanted: _Attached, limits: dict[str, int]
    ) -> Iterator[tuple[str, int, int]]:
        """By driver: how many are attached, and how many more there would be. One that is attached, but to no pod there, is
        both, as upstream has it."""
        used: _Attached = {}
        for other in pods:
            for driver, handles in self._volumes(other).items():
                used.setdefault(driver, set()).update(handles)
        for driver in limits:
            by_pods = used.get(driver, set())
            yield driver, len(by_pods | lingering.get(driver, set())), len(wanted[driver] - by_pods)

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        name, wanted = nodes.table.names[nodes.row()], self._volumes(pod)
        limits, found = _limits(self._cluster.csi_nodes.get(name), wanted), []
        for driver, has, new in self._counts(nodes.pods(0), self._attached().get(name, {}), wanted, limits):
            limit = limits[driver]
            if new and has + new > limit:
                told = f"has {has} of at most {limit} volumes of {driver} attached"
                remedy = f"remove pods with volumes of {driver} from {name}"
                found.append(Lack(told, remedy, (has + new - limit) / (limit + 1)))
        return found

    def _volumes(self, pod: PodInfo) -> _Attached:
        found: _Attached = {}
        for each in pod.disks:
            served = served_by(each, {})
            if served is not None:
                found.setdefault(served[0], set()).add(served[1])
        for use in pod.claims:
            claim = self._cluster.claim(pod.namespace, use.name)
            told = self._of_claim(claim, f"{pod.namespace}/{use.name}") if claim is not None else None
            if told is not None:
                found.setdefault(told[0], set()).add(told[1])
        return found

    def _of_claim(self, claim: Obj, key: str) -> tuple[str, str] | None:
        volume = self._cluster.volumes.get(claim["spec"].get("volumeName") or "")
        if volume is not None:
            csi = volume["spec"].get("csi")
            if csi:
                return csi["driver"], csi.get("volumeHandle", "")
            return served_by(volume["spec"], volume["metadata"].get("labels") or {})
        storage_class = self._cluster.storage_classes.get(volumes.class_of(claim))
        driver = provisioner_now((storage_class or {}).get("provisioner") or "")
        # It will be made by then; until it has a handle, its claim stands for it.
        return (driver, key) if driver else None

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        match change.event:
            case Event.CLAIM:
                return concerns_claim(pod, change)
            case Event.POD_DELETED:
                gone = change.old_pod
                return gone is not None and bool(gone.claims or gone.disks)
        return bool(pod.claims or pod.disks)


def _limits(csi_node: Obj | None, wanted: _Attached) -> dict[str, int]:
    drivers = ((csi_node or {}).get("spec") or {}).get("drivers") or ()
    return {
        each["name"]: each["allocatable"]["count"]
        for each in drivers
        if each["name"] in wanted and (each.get("allocatable") or {}).get("count") is not None
    }
