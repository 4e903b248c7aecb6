"""VolumeAttributesClass: settings that a volume can be changed to while it is in use."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.storage.names import validate_parameters, validate_provisioner
from tiphys.machinery.fields import FieldError, forbidden
from tiphys.machinery.tree import Obj


def default(attributes_class: Obj) -> None:
    attributes_class.setdefault("driverName", "")


def validate(attributes_class: Obj) -> Iterator[FieldError]:
    yield from validate_provisioner(attributes_class.get("driverName", ""), "driverName")
    yield from validate_parameters(attributes_class.get("parameters"), "parameters", may_be_empty=False)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    for name in ("driverName", "parameters"):
        if new.get(name) != old.get(name):
            yield forbidden(name, f"updates to {name} are forbidden.")


VOLUMEATTRIBUTESCLASSES = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttributesClass",
    plural="volumeattributesclasses",
    singular="volumeattributesclass",
    short=("vac",),
    namespaced=False,
    schema="io.k8s.api.storage.v1.VolumeAttributesClass",
    default=default,
    validate=validate,
    validate_update=validate_update,
    strategy=Strategy(returns_deleted=True),
    columns=(Column("DriverName", lambda each, _now: each.get("driverName", "")), AGE),
)
