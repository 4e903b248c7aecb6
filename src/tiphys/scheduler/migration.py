"""Volumes of the oldest kind, which name a cloud's disk in the object itself: CSI drivers serve them where a node says so.

upstream staging/src/k8s.io/csi-translation-lib/plugins.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tiphys.machinery.tree import Obj

_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_OLD_ZONE, _OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


@dataclass(frozen=True, slots=True)
class _Source:
    plugin: str
    driver: str
    handle: Callable[[Obj, Obj], str]
    """Under which the driver knows it, from the source and the labels of the volume."""
    topology: str = ""
    """The label by which the driver names zones; empty: it does not."""


def _ebs(source: Obj, _: Obj) -> str:
    named: str = source.get("volumeID") or ""
    return named.rsplit("/", 1)[-1] if named.startswith("aws://") else named


def _gce(source: Obj, labels: Obj) -> str:
    told = next((labels[key] for key in (_OLD_ZONE, _ZONE) if labels.get(key)), "")
    zones = told.split("__")
    where = f"regions/{zones[0].rpartition('-')[0]}" if len(zones) > 1 else f"zones/{told or 'UNSPECIFIED'}"
    return f"projects/UNSPECIFIED/{where}/disks/{source.get('pdName', '')}"


_SOURCES = {
    "awsElasticBlockStore": _Source("kubernetes.io/aws-ebs", "ebs.csi.aws.com", _ebs, "topology.ebs.csi.aws.com/zone"),
    "gcePersistentDisk": _Source("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", _gce, "topology.gke.io/zone"),
    "azureDisk": _Source("kubernetes.io/azure-disk", "disk.csi.azure.com", lambda source, _: source.get("diskURI") or ""),
    "cinder": _Source(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        lambda source, _: source.get("volumeID") or "",
        "topology.cinder.csi.openstack.org/zone",
    ),
    "portworxVolume": _Source(
        "kubernetes.io/portworx-volume", "pxd.portworx.com", lambda source, _: source.get("volumeID") or ""
    ),
}
_DRIVERS = {each.plugin: each.driver for each in _SOURCES.values()}


def migrated(csi_node: Obj | None) -> frozenset[str]:
    """Plugins that the drivers of this node say they have taken over."""
    told = ((csi_node or {"metadata": {}})["metadata"].get("annotations") or {}).get(_MIGRATED) or ""
    return frozenset(each for each in told.split(",") if each in _DRIVERS)


def source_in(tree: Obj) -> str:
    """Of a pod's volume or the spec of a persistent one: which of its fields is such a source."""
    return next((key for key in _SOURCES if tree.get(key)), "")


def served_by(tree: Obj, labels: Obj) -> tuple[str, str] | None:
    """The driver and its handle; None for other volumes."""
    key = source_in(tree)
    return (_SOURCES[key].driver, _SOURCES[key].handle(tree[key], labels)) if key else None


def provisioner_now(provisioner: str) -> str:
    """The driver that makes volumes of a class today."""
    return _DRIVERS.get(provisioner, provisioner)


def is_served(tree: Obj, plugins: frozenset[str]) -> bool:
    key = source_in(tree)
    return bool(key) and _SOURCES[key].plugin in plugins


def required_nodes(volume: Obj) -> Obj | None:
    """The node selector of such a volume in the words of its driver, which has labels of its own for zones."""
    spec, labels = volume["spec"], volume["metadata"].get("labels") or {}
    required: Obj | None = (spec.get("nodeAffinity") or {}).get("required")
    key = _SOURCES[source_in(spec)].topology
    if not key:
        return required
    terms: list[Obj] = list((required or {}).get("nodeSelectorTerms") or ())
    named = {each["key"] for term in terms for each in term.get("matchExpressions") or ()}
    zone = next((each for each in (_ZONE, _OLD_ZONE) if each in named), "")
    if zone:
        renamed = {zone: key, _OLD_REGION: _REGION} if zone == _OLD_ZONE else {zone: key}
        terms = [_renamed(each, renamed) for each in terms]
    elif told := labels.get(_ZONE) or labels.get(_OLD_ZONE):
        where = {"key": key, "operator": "In", "values": sorted({each.strip() for each in told.split("__")} - {""})}
        terms = [{**each, "matchExpressions": [*(each.get("matchExpressions") or ()), where]} for each in terms or [{}]]
    return {"nodeSelectorTerms": terms} if terms else required


def _renamed(term: Obj, keys: dict[str, str]) -> Obj:
    listed = [{**each, "key": keys.get(each["key"], each["key"])} for each in term.get("matchExpressions") or ()]
    return {**term, "matchExpressions": listed} if listed else term
