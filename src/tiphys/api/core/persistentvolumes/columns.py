"""The table of PersistentVolumes, and what that of claims shares with it."""

from typing import Any

from tiphys.api.core.cells import UNSET
from tiphys.api.kind import AGE, Column
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj, get

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def access_modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _SHORT_MODES.items() if mode in (modes or ()))


def storage_class(obj: Obj) -> str:
    """The annotation is older than the field, and goes before it."""
    annotated = (get(obj, ("metadata", "annotations"), {})).get(CLASS_ANNOTATION)
    return str(annotated if annotated is not None else get(obj, ("spec", "storageClassName"), ""))


def size(text: str | None) -> str:
    return quantity.canonical(text) if text else "0"


def phase(obj: Obj, _: float) -> str:
    if get(obj, ("metadata", "deletionTimestamp")):
        return "Terminating"
    return str(get(obj, ("status", "phase"), ""))


def storage_class_cell(obj: Obj, _: float) -> str:
    return storage_class(obj)


def or_unset(part: str) -> Any:
    def cell(obj: Obj, _: float) -> str:
        value = get(obj, ("spec", part))
        return UNSET if value is None else value

    return cell


def _capacity(volume: Obj, _: float) -> str:
    return size(get(volume, ("spec", "capacity", "storage")))


def _access_modes(volume: Obj, _: float) -> str:
    return access_modes(get(volume, ("spec", "accessModes")))


def _claim(volume: Obj, _: float) -> str:
    claim = get(volume, ("spec", "claimRef"))
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else ""


def _reason(volume: Obj, _: float) -> str:
    return str(get(volume, ("status", "reason"), ""))


COLUMNS = (
    Column("Capacity", _capacity),
    Column("Access Modes", _access_modes),
    Column("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
    Column("Status", phase),
    Column("Claim", _claim),
    Column("StorageClass", storage_class_cell, description="StorageClass of the pv"),
    Column("VolumeAttributesClass", or_unset("volumeAttributesClassName"), description="VolumeAttributesClass of the pv"),
    Column("Reason", _reason),
    AGE,
    Column("VolumeMode", or_unset("volumeMode"), wide=True),
)
