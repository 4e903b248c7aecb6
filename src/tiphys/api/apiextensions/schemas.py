"""The rules that every position of a custom resource's schema must keep."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tiphys.api.apiextensions import field_paths
from tiphys.api.apiextensions.defaults import validate_defaults
from tiphys.api.apiextensions.lists import validate_lists
from tiphys.api.apiextensions.structural import is_convertible, validate_structural
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, key, not_supported, required
from tiphys.machinery.tree import Obj

TYPES = ("array", "boolean", "integer", "number", "object", "string")

_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_AT_ROOT = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


@dataclass(frozen=True, slots=True)
class _Place:
    """What the way down to a position says about it."""

    inside_metadata: bool = False
    no_defaults: str = ""
    """Why a default may not stand here; empty where it may."""


def validate_validation(schema: Obj, at: str, *, status: bool) -> Iterator[FieldError]:
    """The whole schema of a version. `status`: the status subresource is on."""
    if status:
        yield from _validate_root(schema, at)
    if schema.get("nullable"):
        yield forbidden(child(at, "nullable"), "nullable cannot be true at the root")
    if is_convertible(schema):
        problems = validate_structural(schema, at)
        yield from problems or validate_defaults(schema, at)
    yield from _validate(schema, at, _Place(), root=True)


def _validate_root(schema: Obj, at: str) -> Iterator[FieldError]:
    """The schema of the status is cut out of `properties`: nothing beside it may bear on the status."""
    kind = schema.get("type", "")
    if kind and kind != "object":
        told = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(child(at, "type"), kind, told)
        return
    if any(value and name not in _AT_ROOT for name, value in schema.items()):
        told = (
            f"only [{' '.join(_AT_ROOT.values())}] fields are allowed at the root of the schema "
            "if the status subresource is enabled"
        )
        yield invalid(at, schema, told)


def _validate(schema: Obj, at: str, place: _Place, *, root: bool = False) -> Iterator[FieldError]:
    yield from _validate_standard(schema, at, place)
    if schema.get("uniqueItems"):
        told = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(child(at, "uniqueItems"), told)
    yield from _validate_values(schema, at, place)
    properties = schema.get("properties") or {}
    for name in sorted(properties):
        below = place
        if (root or schema.get("x-kubernetes-embedded-resource")) and name in ("metadata", "kind", "apiVersion"):
            below = replace(place, inside_metadata=True)
            if root:
                below = replace(below, no_defaults=f"in top-level {name}")
        yield from _validate(properties[name], key(child(at, "properties"), name), below)
    if isinstance(schema.get("not"), dict):
        yield from _validate(schema["not"], child(at, "not"), place)
    for field in ("allOf", "oneOf", "anyOf"):
        for position, each in enumerate(schema.get(field) or ()):
            yield from _validate(each, index(child(at, field), position), place)
    if isinstance(schema.get("items"), dict):
        yield from _validate(schema["items"], child(at, "items"), place)
    yield from validate_lists(schema, at)
    for position, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _validate_rule(rule, schema, index(child(at, "x-kubernetes-validations"), position))


def _validate_values(schema: Obj, at: str, place: _Place) -> Iterator[FieldError]:
    values = schema.get("additionalProperties")
    if values is None:
        return
    where = child(at, "additionalProperties")
    if schema.get("properties") and values is not True:
        yield forbidden(where, "additionalProperties and properties are mutual exclusive")
    if isinstance(values, dict):
        if place.inside_metadata:
            place = replace(place, no_defaults="inside additionalProperties applying to object metadata")
        yield from _validate(values, where, place)


def _validate_standard(schema: Obj, at: str, place: _Place) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in TYPES:
        yield not_supported(child(at, "type"), kind, TYPES)
    if schema.get("default") is not None and place.no_defaults:
        yield forbidden(child(at, "default"), f"must not be set {place.no_defaults}")
    for field in _NOT_SUPPORTED:
        value = schema.get(field)
        if value or (value is not None and field in ("additionalItems", "dependencies", "$ref")):
            yield forbidden(child(at, field), f"{field} is not supported")
    if kind == "null":
        yield forbidden(child(at, "type"), "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(child(at, "items"), "items must be a schema object and not an array")
    if place.inside_metadata and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden(child(at, "x-kubernetes-embedded-resource"), "must not be used inside of resource meta")


def _has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text


def _validate_rule(rule: Obj, schema: Obj, at: str) -> Iterator[FieldError]:
    """What can be said of a CEL rule without compiling it."""
    text, message = rule.get("rule", "").strip(), rule.get("message", "")
    if not text:
        yield required(child(at, "rule"), "rule is not specified")
    elif message and not message.strip():
        yield invalid(child(at, "message"), message, "must be non-empty if specified")
    elif _has_line_break(message.strip()):
        yield invalid(child(at, "message"), message, "must not contain line breaks")
    elif _has_line_break(text) and not message:
        yield required(child(at, "message"), "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        yield required(child(at, "messageExpression"), "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(child(at, "reason"), reason, _REASONS)
    path = rule.get("fieldPath", "")
    if path and not path.strip():
        yield invalid(child(at, "fieldPath"), path, "must be non-empty if specified")
    if _has_line_break(path):
        yield invalid(child(at, "fieldPath"), path, "must not contain line breaks")
    if path and not _is_path(path, schema):
        yield invalid(child(at, "fieldPath"), path, "must be a valid path")


def _is_path(path: str, schema: Obj) -> bool:
    try:
        field_paths.find(path, schema)
    except ValueError:
        return False
    return True
