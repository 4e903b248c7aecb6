"""Volumes that say by labels in which zone or region they are."""

from tiphys.api.node_selector import LabelCondition, NodeTerm
from tiphys.scheduler import volumes
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Narrowed, OfNodesOnly, Refused, refused
from tiphys.scheduler.node_table import Nodes
from tiphys.scheduler.plugins.volume_binding import concerns_claim
from tiphys.scheduler.pod_info import PodInfo

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_OLD = {"failure-domain.beta.kubernetes.io/zone": _ZONE, "failure-domain.beta.kubernetes.io/region": _REGION}
_KEYS = (*_OLD, _ZONE, _REGION)
_SEPARATOR = "__"


class VolumeZone(OfNodesOnly):
    name = "VolumeZone"
    unblocked_by = Event.STORAGE_CLASS | Event.NODE_ADDED | Event.NODE_LABELS | Event.CLAIM | Event.VOLUME

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def narrow(self, pod: PodInfo) -> Narrowed | None:
        for use in pod.claims:
            words = "" if use.ephemeral else self._problem(pod.namespace, use.name)
            if words:
                return Narrowed(words=words)
        return None

    def _problem(self, namespace: str, name: str) -> str:
        """Why nothing can be said of the zone of this claim; empty: it can."""
        claim = self._cluster.claim(namespace, name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        volume = claim["spec"].get("volumeName")
        if volume:
            return "" if volume in self._cluster.volumes else f'persistentvolume "{volume}" not found'
        title = volumes.class_of(claim)
        if not title:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self._cluster.storage_classes.get(title)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{title}" not found'
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        return "" if waits else "PersistentVolume had no name"

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        wanted = self._wanted(pod)
        if not wanted:
            return None
        labels, rows = nodes.table.labels, nodes.table.rows
        anywhere = nodes.nothing()
        for key in _KEYS:
            anywhere |= nodes.topology(key) > 0
        elsewhere = nodes.nothing()
        for key, values in wanted:
            here = labels.term(NodeTerm((LabelCondition(key, "in", values),)), rows)[nodes.rows]
            if key in _OLD:
                newer = labels.term(NodeTerm((LabelCondition(_OLD[key], "in", values),)), rows)[nodes.rows]
                here = here | (newer & (nodes.topology(key) == 0))
            elsewhere |= ~here
        # A node that says nothing of zones is in all of them.
        return refused(elsewhere & anywhere, "node(s) had no available volume zone", preemption_helps=False)

    def _wanted(self, pod: PodInfo) -> list[tuple[str, tuple[str, ...]]]:
        found = []
        for use in pod.claims:
            claim = None if use.ephemeral else self._cluster.claim(pod.namespace, use.name)
            volume = self._cluster.volumes.get(claim["spec"].get("volumeName") or "") if claim is not None else None
            labels = (volume["metadata"].get("labels") or {}) if volume is not None else {}
            found += [(key, tuple(labels[key].split(_SEPARATOR))) for key in _KEYS if key in labels]
        return found

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if change.event is Event.CLAIM:
            return concerns_claim(pod, change)
        return bool(pod.claims)
