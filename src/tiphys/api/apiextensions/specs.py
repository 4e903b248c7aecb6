"""The spec of a CustomResourceDefinition: names, versions, conversion.

What all versions share is reported at the place where v1beta1 had it (`spec.validation`, `spec.subresources`, ...): upstream
validates its internal form, which knows those places, and clients see the paths.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tiphys.api.admissionregistration.client_config import validate_client_config
from tiphys.api.apiextensions.columns import validate_column, validate_subresources
from tiphys.api.apiextensions.schemas import validate_validation
from tiphys.api.apiextensions.selectable import validate_selectable_fields
from tiphys.machinery.fields import FieldError, Verbatim, child, forbidden, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1035_label, dns1123_subdomain

_SHARED = (
    ("subresources", "subresources"),
    ("schema", "validation"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)
_MIXED_CASE = "may have mixed case, but should otherwise match: "
_WARNING_MAX = 256


def validate_spec(spec: Obj) -> Iterator[FieldError]:
    versions: list[Obj] = list(spec.get("versions") or ())
    shared = {name for name, _ in _SHARED if versions and all(_same(each, versions[0], name) for each in versions)}
    yield from _validate_group(spec.get("group", ""))
    yield from _validate_enum(spec.get("scope", ""), "spec.scope", ("Cluster", "Namespaced"))
    for position, version in enumerate(versions):
        if get(version, ("schema", "openAPIV3Schema")) is None:
            yield required(child(index("spec.versions", position), "schema", "openAPIV3Schema"))
    for position, version in enumerate(versions):
        yield from _validate_version(version, index("spec.versions", position), shared)
    yield from _validate_versions(versions, shared)
    yield from _validate_required_names(spec.get("names") or {})
    yield from validate_names(spec.get("names") or {}, "spec.names")
    if versions:
        yield from _validate_parts(versions[0], "spec", shared, status=_has_status(versions))
    yield from _validate_conversion(spec.get("conversion"))


def _same(one: Obj, other: Obj, name: str) -> bool:
    return bool((one.get(name) or None) == (other.get(name) or None))


def _has_status(versions: Sequence[Obj]) -> bool:
    return any(get(version, ("subresources", "status")) is not None for version in versions)


def _validate_group(group: str) -> Iterator[FieldError]:
    problems = dns1123_subdomain(group)
    if not group:
        yield required("spec.group")
    elif problems:
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _validate_enum(value: str, at: str, accepted: Sequence[str]) -> Iterator[FieldError]:
    if not value:
        yield required(at)
    elif value not in accepted:
        yield not_supported(at, value, accepted)


def _validate_version(version: Obj, at: str, shared: set[str]) -> Iterator[FieldError]:
    name = version.get("name", "")
    problems = dns1035_label(name)
    if problems:
        yield invalid(child(at, "name"), name, ",".join(problems))
    yield from _validate_warning(version, child(at, "deprecationWarning"))
    own = {name for name, _ in _SHARED} - shared
    status = get(version, ("subresources", "status")) is not None
    yield from _validate_parts(version, at, own, status=status)


def _validate_parts(version: Obj, at: str, parts: set[str], *, status: bool) -> Iterator[FieldError]:
    """The four parts that stand at each version, or once for all."""
    once = at == "spec"
    schema = get(version, ("schema", "openAPIV3Schema"))
    if "schema" in parts and schema is not None:
        yield from validate_validation(schema, child(at, "validation" if once else "schema", "openAPIV3Schema"), status=status)
    if "subresources" in parts:
        yield from validate_subresources(version.get("subresources") or {}, child(at, "subresources"))
    if "additionalPrinterColumns" in parts:
        for position, column in enumerate(version.get("additionalPrinterColumns") or ()):
            yield from validate_column(column, index(child(at, "additionalPrinterColumns"), position))
    fields = version.get("selectableFields")
    if "selectableFields" in parts and fields:
        where = child(at, "selectableFields")
        if schema is None:
            told = "may only be set when validations.schema is included"
            if not once:
                told = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield invalid(where, "", told)
        else:
            yield from validate_selectable_fields(fields, schema, where)


def _validate_warning(version: Obj, at: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(at, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _WARNING_MAX:
        yield invalid(at, warning, f"must be <= {_WARNING_MAX} characters long")
    if not warning:
        yield invalid(at, warning, "must not be an empty string")
    for position, letter in enumerate(warning):
        if not letter.isprintable():
            offset = len(warning[:position].encode())
            told = f"must only contain printable UTF-8 characters; non-printable character found at index {offset}"
            yield invalid(at, warning, told)
            break


def _validate_versions(versions: Sequence[Obj], shared: set[str]) -> Iterator[FieldError]:
    names = [version.get("name", "") for version in versions]
    if len(set(names)) < len(names):
        yield invalid("spec.versions", _internal(versions, shared), "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        told = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", _internal(versions, shared), told)
    problems = dns1035_label(names[0]) if names else []
    if problems:
        yield invalid("spec.version", names[0], ",".join(problems))


def _internal(versions: Sequence[Obj], shared: set[str]) -> Verbatim:
    """The versions as upstream's internal form prints them: in the order of its fields."""

    def part(version: Obj, name: str) -> Any:
        return None if name in shared else version.get(name)

    shown = [
        {
            "Name": version.get("name", ""),
            "Served": version.get("served", False),
            "Storage": version.get("storage", False),
            "Deprecated": version.get("deprecated", False),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": part(version, "schema"),
            "Subresources": part(version, "subresources"),
            "AdditionalPrinterColumns": part(version, "additionalPrinterColumns"),
            "SelectableFields": part(version, "selectableFields"),
        }
        for version in versions
    ]
    return Verbatim(json.dumps(shown, separators=(",", ":"), ensure_ascii=False))


def _validate_required_names(names: Obj) -> Iterator[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")


def validate_names(names: Obj, at: str) -> Iterator[FieldError]:
    """Those that are there must be usable; which must be there is the spec's rule alone."""
    for field in ("plural", "singular", "kind", "listKind"):
        name = names.get(field, "")
        mixed = field in ("kind", "listKind")
        problems = dns1035_label(name.lower() if mixed else name) if name else []
        if problems:
            yield invalid(child(at, field), name, (_MIXED_CASE if mixed else "") + ",".join(problems))
    yield from _validate_labels(names.get("shortNames") or (), child(at, "shortNames"))
    kind, list_kind = names.get("kind"), names.get("listKind")
    if kind and kind == list_kind:
        yield invalid(child(at, "listKind"), list_kind, "kind and listKind may not be the same")
    yield from _validate_labels(names.get("categories") or (), child(at, "categories"))


def _validate_labels(labels: Sequence[str], at: str) -> Iterator[FieldError]:
    for position, label in enumerate(labels):
        problems = dns1035_label(label)
        if problems:
            yield invalid(index(at, position), label, ",".join(problems))


def _validate_conversion(conversion: Obj | None) -> Iterator[FieldError]:
    if conversion is None:
        return
    at = "spec.conversion"
    strategy = conversion.get("strategy", "")
    yield from _validate_enum(strategy, f"{at}.strategy", ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    if strategy != "Webhook":
        told = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden(f"{at}.webhookClientConfig", told)
        if versions:
            yield forbidden(f"{at}.conversionReviewVersions", told)
        return
    if client is None:
        yield required(f"{at}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        yield from validate_client_config(client, f"{at}.webhookClientConfig")
    yield from _validate_review_versions(versions, f"{at}.conversionReviewVersions")


def _validate_review_versions(versions: Sequence[str], at: str) -> Iterator[FieldError]:
    if not versions:
        yield required(at)
        return
    for position, version in enumerate(versions):
        if version in versions[:position]:
            yield invalid(index(at, position), version, "duplicate version")
            continue
        for told in dns1035_label(version):
            yield invalid(index(at, position), version, told)
    if not {"v1", "v1beta1"} & set(versions):
        yield invalid(at, versions, "must include at least one of v1, v1beta1")
