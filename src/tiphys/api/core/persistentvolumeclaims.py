"""PersistentVolumeClaim: somebody's wish for storage, and the volume that fulfils it."""

from collections.abc import Iterator
from typing import Any

from tiphys.api import resources, unset_times
from tiphys.api.core.persistentvolumes.columns import (
    CLASS_ANNOTATION,
    access_modes,
    or_unset,
    phase,
    size,
    storage_class_cell,
)
from tiphys.api.core.rounding import round_up
from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.pod_template import amounts, internal
from tiphys.api.pod_template.volume_claims import validate_claim_spec
from tiphys.machinery import quantity
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, key, not_supported, required
from tiphys.machinery.quantity import ZERO, Quantity
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE, qualified_name

PENDING = "Pending"

_SNAPSHOTS = "snapshot.storage.k8s.io"
_REQUESTED = ("spec", "resources", "requests", "storage")
_CAPACITY = ("status", "capacity", "storage")
_ATTRIBUTES = "volumeAttributesClassName"
_RESIZE_STATES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)


def default(claim: Obj) -> None:
    spec, status = claim.setdefault("spec", {}), claim.setdefault("status", {})
    unset_times.show(status.get("conditions"), unset_times.PROBED)
    if not status.get("phase"):
        status["phase"] = PENDING
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    wanted = spec.setdefault("resources", {})
    for part in (wanted.get("limits"), wanted.get("requests"), status.get("capacity"), status.get("allocatedResources")):
        round_up(part)


def prepare_create(claim: Obj) -> None:
    claim["status"] = {"phase": PENDING}
    _settle_sources(claim["spec"], {})


def prepare_update(new: Obj, old: Obj) -> None:
    _settle_sources(new["spec"], old.get("spec") or {})


def _settle_sources(spec: Obj, old: Obj) -> None:
    """dataSource came first and takes claims and snapshots only; both fields end up with the same contents."""
    if get(spec, ("dataSourceRef", "namespace")) and "dataSourceRef" not in old:
        # Sources in other namespaces are behind a feature gate that is off.
        del spec["dataSourceRef"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        if _is_claim_or_snapshot(source) or "dataSource" in old or "dataSourceRef" in old:
            spec["dataSourceRef"] = dict(source)
        else:
            del spec["dataSource"]
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {part: value for part, value in reference.items() if part != "namespace"}


def _is_claim_or_snapshot(source: Obj) -> bool:
    what = (source.get("apiGroup") or "", source.get("kind"))
    return what in (("", "PersistentVolumeClaim"), (_SNAPSHOTS, "VolumeSnapshot"))


def validate(claim: Obj) -> Iterator[FieldError]:
    yield from validate_claim_spec(claim.get("spec") or {}, "spec")


def _amount(claim: Obj, at: tuple[str, ...]) -> Quantity:
    text = get(claim, at)
    return quantity.parse(text) if text else ZERO


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate_fixed(new, old)
    asked = _amount(new, _REQUESTED)
    if asked < _amount(old, _REQUESTED) and asked <= _amount(new, _CAPACITY):
        # An expansion that failed may be taken back as far as what there is.
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    now, was = new.get("spec") or {}, old.get("spec") or {}
    if now.get("volumeMode") != was.get("volumeMode"):
        yield invalid("volumeMode", now.get("volumeMode"), IMMUTABLE)
    given = get(old, ("status", "currentVolumeAttributesClassName")) is not None
    if given and not now.get(_ATTRIBUTES) and now.get(_ATTRIBUTES) != was.get(_ATTRIBUTES):
        what = "nil" if now.get(_ATTRIBUTES) is None else "empty string"
        told = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        yield forbidden(child("spec", _ATTRIBUTES), told)


def _validate_fixed(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Everything stays, but for what binding fills in and what a bound claim may ask for besides."""
    now, was = dict(new.get("spec") or {}), dict(old.get("spec") or {})
    if not was.get("volumeName"):
        was["volumeName"] = now.get("volumeName", "")
    annotated, annotates = _class_annotation(old), _class_annotation(new)
    named, names = was.get("storageClassName"), now.get("storageClassName")
    if annotated is not None and named is None and names == annotated and annotates in (None, annotated):
        # The annotation becomes the field.
        now.pop("storageClassName")
    else:
        if (annotated or "") != (annotates or ""):
            yield invalid(f"metadata.annotations.{CLASS_ANNOTATION}", annotates or "", IMMUTABLE)
        if named is None and names is not None and annotated in (None, names):
            now.pop("storageClassName")
    if get(new, ("status", "phase")) == "Bound":
        _forgive_when_bound(now, was)
    # An empty selector is not the same as none.
    other_selector = (was.get("selector") is None) != (now.get("selector") is None)
    if other_selector or not internal.same(was, now, "PersistentVolumeClaimSpec"):
        told = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        yield forbidden("spec", f"{told}\n{internal.differ(was, now, 'PersistentVolumeClaimSpec')}")


def _forgive_when_bound(now: Obj, was: Obj) -> None:
    requests = get(now, ("resources", "requests"))
    if requests is not None:
        before = get(was, ("resources", "requests", "storage"), "0")
        now["resources"] = now["resources"] | {"requests": requests | {"storage": before}}
    if was.get(_ATTRIBUTES) is None:
        now.pop(_ATTRIBUTES, None)
    else:
        now[_ATTRIBUTES] = was[_ATTRIBUTES]


def _class_annotation(claim: Obj) -> str | None:
    annotation: str | None = get(claim, ("metadata", "annotations"), {}).get(CLASS_ANNOTATION)
    return annotation


def validate_status(new: Obj, _: Obj) -> Iterator[FieldError]:
    if not (new.get("metadata") or {}).get("resourceVersion"):
        yield required("resourceVersion")
    if not get(new, ("spec", "accessModes")):
        yield required("Spec.accessModes")
    status = new.get("status") or {}
    for name, value in amounts.parsed(status.get("capacity")).items():
        yield from resources.validate_basic(value, key("status.capacity", name))
    at = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        yield from _validate_resource_key(name, at)
        if state not in _RESIZE_STATES:
            yield not_supported(at, name, sorted(_RESIZE_STATES))
    at = "status.allocatedResources"
    for name, value in amounts.parsed(status.get("allocatedResources")).items():
        problems = list(_validate_resource_key(name, at)) or list(resources.validate_basic(value, key(at, name)))
        yield from problems or resources.validate_quantity("storage", value, key(at, name))


def _validate_resource_key(name: str, at: str) -> Iterator[FieldError]:
    problems = qualified_name(name)
    for problem in problems:
        yield invalid(at, name, problem)
    if not problems and resources.is_native(name) and name != "storage":
        yield not_supported(at, name, ("storage",))


def warnings(new: Obj, _: Obj | None) -> Iterator[str]:
    if _class_annotation(new) is not None:
        yield f'metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use "storageClassName" attribute instead'
    for part in ("requests", "limits"):
        value = _amount(new, ("spec", "resources", part, "storage"))
        if value.milli() % 1000:
            at = f"spec.resources.{part}[storage]"
            yield f'{at}: fractional byte value "{value}" is invalid, must be an integer'


def _capacity(claim: Obj, _: float) -> str:
    return size(get(claim, _CAPACITY)) if get(claim, ("spec", "volumeName")) else ""


def _access_modes(claim: Obj, _: float) -> str:
    return access_modes(get(claim, ("status", "accessModes"))) if get(claim, ("spec", "volumeName")) else ""


def _volume(claim: Obj, _: float) -> Any:
    return get(claim, ("spec", "volumeName"), "")


PERSISTENT_VOLUME_CLAIMS = Kind(
    group="",
    version="v1",
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    singular="persistentvolumeclaim",
    schema="io.k8s.api.core.v1.PersistentVolumeClaim",
    short=("pvc",),
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, returns_deleted=True),
    columns=(
        Column("Status", phase),
        Column("Volume", _volume),
        Column("Capacity", _capacity),
        Column("Access Modes", _access_modes),
        Column("StorageClass", storage_class_cell, description="StorageClass of the pvc"),
        Column("VolumeAttributesClass", or_unset(_ATTRIBUTES), description="VolumeAttributesClass of the pvc"),
        AGE,
        Column("VolumeMode", or_unset("volumeMode"), wide=True),
    ),
)
