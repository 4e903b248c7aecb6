"""Namespace: a part of the cluster with names of its own. It is gone only when all that it held is gone: its spec says so."""

from collections.abc import Iterator

from tiphys.api import unset_times
from tiphys.api.kind import AGE, Column, Kind, Part, Strategy
from tiphys.machinery.fields import FieldError, index, invalid
from tiphys.machinery.meta import STANDARD_FINALIZERS
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import dns1123_label, qualified_name

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"
ACTIVE = "Active"
TERMINATING = "Terminating"


def default(namespace: Obj) -> None:
    _label_with_name(namespace)
    namespace.setdefault("spec", {})
    status = namespace.setdefault("status", {})
    unset_times.show(status.get("conditions"), unset_times.CONDITION)
    if not status.get("phase"):
        status["phase"] = ACTIVE


def _label_with_name(namespace: Obj) -> None:
    meta = namespace.get("metadata") or {}
    if name := meta.get("name"):
        meta["labels"] = (meta.get("labels") or {}) | {NAME_LABEL: name}


def prepare_create(namespace: Obj) -> None:
    _label_with_name(namespace)
    spec = namespace.setdefault("spec", {})
    namespace["status"] = {"phase": ACTIVE}
    finalizers = spec.get("finalizers") or []
    if FINALIZER not in finalizers:
        spec["finalizers"] = [*finalizers, FINALIZER]


def prepare_update(new: Obj, old: Obj) -> None:
    """The finalizers change through /finalize only."""
    _label_with_name(new)
    _keep(new, old, "finalizers")


def _keep(new: Obj, old: Obj, part: str) -> None:
    spec = dict(new.get("spec") or {})
    kept = (old.get("spec") or {}).get(part)
    if kept is None:
        spec.pop(part, None)
    else:
        spec[part] = kept
    new["spec"] = spec


def prepare_finalize(new: Obj, old: Obj) -> None:
    """/finalize changes the spec, never the status."""
    _label_with_name(new)
    new["status"] = old.get("status", {})


def validate(namespace: Obj) -> Iterator[FieldError]:
    for name in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from _validate_finalizer(name, "spec.finalizers")


def validate_status(new: Obj, _: Obj) -> Iterator[FieldError]:
    phase = (new.get("status") or {}).get("phase", "")
    if not new.get("metadata", {}).get("deletionTimestamp"):
        if phase != ACTIVE:
            yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
    elif phase != TERMINATING:
        yield invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")


def validate_finalize(new: Obj, _: Obj) -> Iterator[FieldError]:
    for position, name in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        yield from _validate_finalizer(name, index("spec.finalizers", position))


def _validate_finalizer(name: str, at: str) -> Iterator[FieldError]:
    for problem in qualified_name(name):
        yield invalid(at, name, problem)
    if "/" not in name and name not in STANDARD_FINALIZERS:
        yield invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified")


NAMESPACES = Kind(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    singular="namespace",
    schema="io.k8s.api.core.v1.Namespace",
    namespaced=False,
    short=("ns",),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_status=validate_status,
    name=dns1123_label,
    strategy=Strategy(status=True, spec_finalizers=True, returns_deleted=True),
    selectable=("status.phase",),
    columns=(Column("Status", "status.phase", description="The status of the namespace"), AGE),
    parts={"finalize": Part(prepare_finalize, validate_finalize)},
)
