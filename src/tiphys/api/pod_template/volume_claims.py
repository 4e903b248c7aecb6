"""Claims that are made for a pod and go with it (generic ephemeral volumes)."""

from collections.abc import Iterator

from tiphys.api.resources import GREATER_THAN_ZERO
from tiphys.machinery import quantity, validators
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_supported, required
from tiphys.machinery.selectors import validate_label_selector
from tiphys.machinery.tree import Obj

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
# The rest of ObjectMeta, in its order.
_NOT_OF_TEMPLATE = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def validate_claim_template(template: Obj, at: str) -> Iterator[FieldError]:
    metadata = template.get("metadata") or {}
    if metadata.get("annotations"):
        yield from validators.annotations(metadata["annotations"], f"{at}.metadata.annotations")
    if metadata.get("labels"):
        yield from validators.labels(metadata["labels"], f"{at}.metadata.labels")
    for name in _NOT_OF_TEMPLATE:
        if metadata.get(name):
            shown = name if name != "uid" else "uID"
            yield forbidden(f"{at}.metadata.{shown}", "cannot be set")
    yield from validate_claim_spec(template.get("spec") or {}, f"{at}.spec")


def validate_claim_spec(spec: Obj, at: str) -> Iterator[FieldError]:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{at}.accessModes", "at least 1 access mode is required")
    if spec.get("selector") is not None:
        yield from validate_label_selector(spec["selector"], f"{at}.selector")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{at}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        yield forbidden(f"{at}.accessModes", "may not use ReadWriteOncePod with other access modes")
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required(f"{at}.resources[storage]")
    elif quantity.parse(size).sign() <= 0:
        yield invalid(f"{at}.resources[storage]", size, GREATER_THAN_ZERO)
    yield from _validate_class(spec.get("storageClassName"), f"{at}.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        yield not_supported(f"{at}.volumeMode", mode, _VOLUME_MODES)
    yield from _validate_sources(spec, at)
    yield from _validate_class(spec.get("volumeAttributesClassName"), f"{at}.volumeAttributesClassName")


def _validate_class(name: str | None, at: str) -> Iterator[FieldError]:
    if name:
        for problem in validators.dns1123_subdomain(name):
            yield invalid(at, name, problem)


def _validate_sources(spec: Obj, at: str) -> Iterator[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, each in (("dataSource", source), ("dataSourceRef", reference)):
        if each is not None:
            yield from _validate_source(each, f"{at}.{name}", namespaced=name == "dataSourceRef")
    if source is None or reference is None:
        return
    # What upstream shows as the value is its own path type, whose fields are private.
    if reference.get("namespace"):
        yield invalid(at, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid(at, {}, "must match dataSourceRef")


def _validate_source(source: Obj, at: str, namespaced: bool) -> Iterator[FieldError]:
    for name in ("name", "kind"):
        if not source.get(name):
            yield required(f"{at}.{name}")
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        yield invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    for problem in validators.dns1123_subdomain(group) if group else ():
        yield invalid(f"{at}.apiGroup", group, problem)
    namespace = source.get("namespace")
    if namespaced and namespace:
        for problem in validators.dns1123_label(namespace):
            yield invalid(f"{at}.namespace", namespace, problem)
