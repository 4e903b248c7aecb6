"""PersistentVolume: storage that outlives the pods that use it."""

from collections.abc import Iterator

from tiphys.api.core.persistentvolumes.columns import CLASS_ANNOTATION, COLUMNS
from tiphys.api.core.persistentvolumes.sources import default_source
from tiphys.api.core.persistentvolumes.validation import validate, validate_status, validate_update
from tiphys.api.core.rounding import round_up
from tiphys.api.kind import Kind, Strategy
from tiphys.api.pod_template.warnings import NODE_LABELS
from tiphys.machinery.fields import child, index
from tiphys.machinery.tree import Obj, get

__all__ = ["PERSISTENT_VOLUMES"]

PENDING = "Pending"

_SINCE = "lastPhaseTransitionTime"

_OLD_ANNOTATIONS = {
    CLASS_ANNOTATION: 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_OLD_SOURCES = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_RECYCLE_TOLD = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."


def default(volume: Obj) -> None:
    spec, status = volume.setdefault("spec", {}), volume.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = PENDING
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    round_up(spec.get("capacity"))
    default_source(spec)


def prepare_create(volume: Obj) -> None:
    """A phase begins with the object: what creates it has set the time already."""
    volume["status"] = {"phase": PENDING}
    if created := (volume.get("metadata") or {}).get("creationTimestamp"):
        volume["status"][_SINCE] = created


def prepare_status(new: Obj, old: Obj) -> None:
    now, was = new.setdefault("status", {}), old.get("status") or {}
    since = now.get(_SINCE)
    if now.get("phase") == was.get("phase"):
        if since is None and was.get(_SINCE) is not None:
            now[_SINCE] = was[_SINCE]
    elif (since is None or since == was.get(_SINCE)) and (written := _time_of_write(new)):
        now[_SINCE] = written


def _time_of_write(obj: Obj) -> str:
    """Whoever changes a field is recorded with the time before the write comes here."""
    managers: list[Obj] = get(obj, ("metadata", "managedFields"), [])
    return max((each.get("time", "") for each in managers), default="")


def warnings(new: Obj, _: Obj | None) -> Iterator[str]:
    annotations: Obj = get(new, ("metadata", "annotations"), {})
    for name, told in _OLD_ANNOTATIONS.items():
        if name in annotations:
            yield f"metadata.annotations[{name}]: {told}"
    spec = new.get("spec") or {}
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield f"spec.persistentVolumeReclaimPolicy: {_RECYCLE_TOLD}"
    for position, term in enumerate(get(spec, ("nodeAffinity", "required", "nodeSelectorTerms"), ())):
        at = child(index("spec.nodeAffinity.required.nodeSelectorTerms", position), "matchExpressions")
        for place, expression in enumerate(term.get("matchExpressions") or ()):
            name = expression.get("key", "")
            if name in NODE_LABELS:
                yield f"{child(index(at, place), 'key')}: {name} is {NODE_LABELS[name]}"
    for kind, (shown, told) in _OLD_SOURCES.items():
        if spec.get(kind) is not None:
            yield f"spec.{shown}: {told}"


PERSISTENT_VOLUMES = Kind(
    group="",
    version="v1",
    kind="PersistentVolume",
    plural="persistentvolumes",
    singular="persistentvolume",
    schema="io.k8s.api.core.v1.PersistentVolume",
    namespaced=False,
    short=("pv",),
    default=default,
    prepare_create=prepare_create,
    prepare_status=prepare_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, returns_deleted=True),
    columns=COLUMNS,
)
