"""Whether a PersistentVolume is legal, and how it may change."""

import posixpath
from collections.abc import Iterator

from tiphys.api import resources
from tiphys.api.core.persistentvolumes.sources import SOURCES, validate_source
from tiphys.api.core.structs import spelled
from tiphys.api.pod_template import amounts, internal
from tiphys.api.pod_template.scheduling import validate_node_selector
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, key, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE, dns1123_subdomain

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")

_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
# These mount with options; the annotation would go unheard with any other.
_WITH_MOUNT_OPTIONS = frozenset(
    (
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    )
)


def validate(volume: Obj) -> Iterator[FieldError]:
    metadata = volume.get("metadata") or {}
    spec = volume.get("spec") or {}
    yield from validate_spec(spec, metadata.get("name", ""), "spec")
    if _MOUNT_OPTIONS in (metadata.get("annotations") or {}) and not any(spec.get(kind) for kind in _WITH_MOUNT_OPTIONS):
        yield forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", "may not specify mount options for this volume type")


def validate_spec(spec: Obj, name: str, at: str) -> Iterator[FieldError]:
    yield from _validate_access_modes(spec.get("accessModes") or [], child(at, "accessModes"))
    yield from _validate_capacity(spec.get("capacity") or {}, child(at, "capacity"))
    policy = spec.get("persistentVolumeReclaimPolicy") or ""
    if policy and policy not in _RECLAIM_POLICIES:
        yield not_supported(child(at, "persistentVolumeReclaimPolicy"), policy, _RECLAIM_POLICIES)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is None:
            yield required(child(at, "nodeAffinity", "required"), "must specify required node constraints")
        else:
            yield from validate_node_selector(affinity["required"], child(at, "nodeAffinity", "required"))
    yield from validate_source(spec, name, at)
    if policy == "Recycle" and posixpath.normpath(get(spec, ("hostPath", "path"), ".")) == "/":
        told = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden(child(at, "persistentVolumeReclaimPolicy"), told)
    yield from _validate_class(spec.get("storageClassName"), child(at, "storageClassName"))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield not_supported(child(at, "volumeMode"), mode, VOLUME_MODES)
    attributes = spec.get("volumeAttributesClassName")
    if attributes is None:
        return
    if not attributes:
        yield required(child(at, "volumeAttributesClassName"), "an empty string is disallowed")
    yield from _validate_class(attributes, child(at, "volumeAttributesClassName"))
    if spec.get("csi") is None:
        yield required(child(at, "csi"), "has to be specified when using volumeAttributesClassName")


def _validate_class(name: str | None, at: str) -> Iterator[FieldError]:
    if name:
        for problem in dns1123_subdomain(name):
            yield invalid(at, name, problem)


def _validate_access_modes(modes: list[str], at: str) -> Iterator[FieldError]:
    if not modes:
        yield required(at)
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported(at, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        yield forbidden(at, "may not use ReadWriteOncePod with other access modes")


def _validate_capacity(capacity: dict[str, str], at: str) -> Iterator[FieldError]:
    if not capacity:
        yield required(at)
    if "storage" not in capacity or len(capacity) > 1:
        yield not_supported(at, spelled(dict(sorted(capacity.items())) or None), ("storage",))
    for name, value in amounts.parsed(capacity).items():
        yield from resources.validate_basic(value, key(at, name))
        yield from resources.validate_positive(value, key(at, name))


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    now, was = new.get("spec") or {}, old.get("spec") or {}
    # Upstream tells of it with every update a second time.
    yield from validate_spec(now, (new.get("metadata") or {}).get("name", ""), "spec")
    before, after = _source(was), _source(now)
    csi = after.get("csi")
    if csi is not None and before.get("csi") is not None and "controllerExpandSecretRef" not in before["csi"]:
        # It may be added, once.
        after["csi"] = {part: value for part, value in csi.items() if part != "controllerExpandSecretRef"}
    if after != before:
        shown = internal.differ(before, after, "PersistentVolumeSource")
        told = f"spec.persistentvolumesource is immutable after creation\n{shown}"
        yield forbidden("spec.persistentvolumesource", told)
    if now.get("volumeMode") != was.get("volumeMode"):
        yield invalid("volumeMode", now.get("volumeMode"), IMMUTABLE)
    yield from _validate_affinity_change(now.get("nodeAffinity"), was.get("nodeAffinity"))
    attributes = "volumeAttributesClassName"
    if was.get(attributes) is not None and now.get(attributes) is None:
        yield forbidden(child("spec", attributes), "update from non-nil value to nil is forbidden")


def _source(spec: Obj) -> Obj:
    return {kind: spec[kind] for kind in SOURCES if spec.get(kind) is not None}


_GENERALLY_AVAILABLE = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}


def _validate_affinity_change(now: Obj | None, was: Obj | None) -> Iterator[FieldError]:
    """Fixed once set, but for beta labels that become today's."""
    if was is None or now == was:
        return
    if now is None or not _only_renamed(was, now):
        told = f"{IMMUTABLE}, except for updating from beta label to GA"
        yield invalid("nodeAffinity", internal.told(now, "*VolumeNodeAffinity"), told)


def _only_renamed(was: Obj, now: Obj) -> bool:
    before = get(was, ("required", "nodeSelectorTerms"), [])
    after = get(now, ("required", "nodeSelectorTerms"), [])
    return len(before) == len(after) and all(map(_is_renamed_term, before, after))


def _is_renamed_term(before: Obj, after: Obj) -> bool:
    ours, theirs = before.get("matchExpressions") or [], after.get("matchExpressions") or []
    if (before.get("matchFields") or []) != (after.get("matchFields") or []) or len(ours) != len(theirs):
        return False
    for one, other in zip(ours, theirs, strict=True):
        renamed = (
            one | {"key": other.get("key", "")} if _GENERALLY_AVAILABLE.get(one.get("key", "")) == other.get("key") else one
        )
        if renamed != other:
            return False
    return True


def validate_status(new: Obj, _: Obj) -> Iterator[FieldError]:
    if not (new.get("metadata") or {}).get("resourceVersion"):
        yield required("resourceVersion")
