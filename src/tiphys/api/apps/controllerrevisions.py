"""ControllerRevision: one past state of a StatefulSet or DaemonSet, kept so that it can be rolled back to."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind
from tiphys.machinery.fields import FieldError, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import at_least_zero, immutable


def default(revision: Obj) -> None:
    revision.setdefault("revision", 0)


def validate(revision: Obj) -> Iterator[FieldError]:
    yield from at_least_zero(revision.get("revision"), "revision")


def validate_create(revision: Obj) -> Iterator[FieldError]:
    data = revision.get("data")
    if data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield required("data", "data must be a valid JSON object")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from immutable(new.get("data"), old.get("data"), "data")


def _controller(revision: Obj, _now: float) -> str:
    for owner in revision["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            return (f"{owner['kind']}.{group}" if group else owner["kind"]).lower() + "/" + str(owner["name"])
    return "<none>"


CONTROLLERREVISIONS = Kind(
    group="apps",
    version="v1",
    kind="ControllerRevision",
    plural="controllerrevisions",
    singular="controllerrevision",
    schema="io.k8s.api.apps.v1.ControllerRevision",
    default=default,
    validate=validate,
    validate_create=validate_create,
    validate_update=validate_update,
    columns=(
        Column("Controller", _controller, description="Controller of the object"),
        Column("Revision", lambda revision, _now: revision.get("revision", 0)),
        AGE,
    ),
)
