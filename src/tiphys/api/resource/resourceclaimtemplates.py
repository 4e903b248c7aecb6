"""ResourceClaimTemplate: a claim made anew for each pod that names it."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Kind, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.api.resource import requests
from tiphys.machinery.fields import FieldError, child, forbidden, invalid
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import IMMUTABLE, annotations, labels

TEMPLATE_METADATA = ("labels", "annotations")


def default(template: Obj) -> None:
    spec = template.setdefault("spec", {})
    spec.setdefault("metadata", {})
    requests.default(spec.setdefault("spec", {}).setdefault("devices", {}))


def validate(template: Obj) -> Iterator[FieldError]:
    spec = template["spec"]
    yield from _validate_metadata(spec.get("metadata") or {}, "spec.metadata")
    yield from requests.validate(spec["spec"]["devices"], "spec.spec.devices")


def _validate_metadata(meta: Obj, at: str) -> Iterator[FieldError]:
    yield from annotations(meta.get("annotations"), child(at, "annotations"))
    yield from labels(meta.get("labels"), child(at, "labels"))
    for name, value in meta.items():
        if name not in TEMPLATE_METADATA and value:
            yield forbidden(child(at, name), "cannot be set")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if new["spec"] != old["spec"]:
        yield invalid("spec", told(new["spec"], "ResourceClaimTemplateSpec"), IMMUTABLE)


RESOURCECLAIMTEMPLATES = Kind(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceClaimTemplate",
    plural="resourceclaimtemplates",
    singular="resourceclaimtemplate",
    schema="io.k8s.api.resource.v1.ResourceClaimTemplate",
    default=default,
    validate=validate,
    validate_update=validate_update,
    strategy=Strategy(returns_deleted=True),
    columns=(AGE,),
)
