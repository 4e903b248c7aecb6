"""DeviceClass: a name for devices that fit a purpose, and how to set them up."""

from collections.abc import Iterator

from tiphys.api import resources
from tiphys.api.kind import AGE, SPEC, Kind, Strategy
from tiphys.api.resource.names import validate_each
from tiphys.api.resource.requests import MOST_CONFIGS, validate_config, validate_selectors
from tiphys.machinery.fields import FieldError, invalid
from tiphys.machinery.tree import Obj


def default(device_class: Obj) -> None:
    device_class.setdefault("spec", {})


def validate(device_class: Obj) -> Iterator[FieldError]:
    spec = device_class["spec"]
    yield from validate_selectors(spec.get("selectors"), "spec.selectors")
    yield from validate_each(spec.get("config"), MOST_CONFIGS, validate_config, "spec.config")
    name = spec.get("extendedResourceName")
    if name is not None and not resources.is_extended(name):
        yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


DEVICECLASSES = Kind(
    group="resource.k8s.io",
    version="v1",
    kind="DeviceClass",
    plural="deviceclasses",
    singular="deviceclass",
    namespaced=False,
    schema="io.k8s.api.resource.v1.DeviceClass",
    default=default,
    validate=validate,
    strategy=Strategy(generation_of=SPEC, returns_deleted=True),
    columns=(AGE,),
)
