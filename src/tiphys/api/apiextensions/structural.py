"""Whether a schema is structural: every value has a type of its own, outside of anyOf, allOf, oneOf and not.

Only such a schema says for every value what may be kept, so only such a schema can prune and default.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tiphys.api.apiextensions import patterns
from tiphys.api.apiextensions.walk import walk
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, key, required
from tiphys.machinery.tree import Obj

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMPTY_AT = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
# What a nested value validation must not have, and in which words.
_FORBIDDEN_IN_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_METADATA_TOLD = "must not specify anything other than name and generateName, but metadata is implicitly specified"


# Schemas that use one of these have no structural form at all; that they may not is told elsewhere.
_UNKNOWN_TO_STRUCTURE = ("id", "$schema", "$ref", "patternProperties", "dependencies", "definitions")


def is_convertible(schema: Obj) -> bool:
    return not any(
        node.get("x-kubernetes-preserve-unknown-fields") is False
        or node.get("additionalItems") is not None
        or isinstance(node.get("items"), list)
        or any(node.get(name) for name in _UNKNOWN_TO_STRUCTURE)
        for node in walk(schema)
    )


def validate_structural(schema: Obj, at: str) -> list[FieldError]:
    return sorted((*_invariants(schema, "root", at), *_completeness(schema, schema, at, at)), key=str)


def _properties(schema: Obj) -> Mapping[str, Obj]:
    return schema.get("properties") or {}


def _invariants(schema: Obj, level: str, at: str) -> Iterator[FieldError]:
    kind, items, values = schema.get("type", ""), schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        yield required(child(at, "items"), "must be specified")
    if isinstance(items, dict):
        yield from _invariants(items, "item", child(at, "items"))
    for name, each in _properties(schema).items():
        yield from _invariants(each, "field", key(child(at, "properties"), name))
    if values is not None:
        if level == "root":
            yield forbidden(child(at, "additionalProperties"), "must not be used at the root")
        if isinstance(values, dict):
            yield from _invariants(values, "field", child(at, "additionalProperties"))
    yield from _extensions(schema, at)
    yield from _value_validation(
        schema,
        at,
        skip_any_of=schema.get("anyOf") == _INT_OR_STRING,
        skip_first=bool(schema.get("allOf")) and schema["allOf"][0].get("anyOf") == _INT_OR_STRING,
    )
    yield from _type(schema, level, at)
    yield from _embedded(schema, level, at)


def _extensions(schema: Obj, at: str) -> Iterator[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name):
            yield invalid(child(at, name), True, "must be false if x-kubernetes-int-or-string is true")


def _type(schema: Obj, level: str, at: str) -> Iterator[FieldError]:
    kind, embedded = schema.get("type", ""), schema.get("x-kubernetes-embedded-resource")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    where = child(at, "type")
    if embedded and kind != "object":
        told = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(where, kind, told) if kind else required(where, told)
    elif not kind and not free:
        yield required(where, _EMPTY_AT[level])
    if embedded and schema.get("additionalProperties") is not None:
        told = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(child(at, "additionalProperties"), told)
    if level == "root" and kind and kind != "object":
        yield invalid(where, kind, "must be object at the root")


def _embedded(schema: Obj, level: str, at: str) -> Iterator[FieldError]:
    """The parts of a resource: what the server fills in itself may not be described otherwise."""
    properties = _properties(schema)
    embedded = schema.get("x-kubernetes-embedded-resource")
    if level == "root" or embedded:
        for name in ("kind", "apiVersion"):
            if name in properties and properties[name].get("type", "") != "string":
                where = child(key(child(at, "properties"), name), "type")
                yield invalid(where, properties[name].get("type", ""), "must be string")
    if "metadata" in properties:
        yield from _metadata(properties["metadata"], level, key(child(at, "properties"), "metadata"), bool(embedded))
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        told = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        yield required(child(at, "properties"), told)


def _metadata(schema: Obj, level: str, at: str, embedded: bool) -> Iterator[FieldError]:
    if (level == "root" or embedded) and schema.get("type", "") != "object":
        yield invalid(child(at, "type"), schema.get("type", ""), "must be object")
    if level != "root":
        return
    rest: dict[str, Any] = {name: value for name, value in schema.items() if name not in ("type", "default") and value}
    if set(rest.get("properties") or ()) <= {"name", "generateName"}:
        rest.pop("properties", None)
    if rest:
        yield forbidden(at, _METADATA_TOLD)


def _value_validation(schema: Obj, at: str, *, skip_any_of: bool = False, skip_first: bool = False) -> Iterator[FieldError]:
    for field in ("anyOf", "allOf", "oneOf"):
        if field == "anyOf" and skip_any_of:
            continue
        for position, each in enumerate(schema.get(field) or ()):
            skip = field == "allOf" and skip_first and position == 0
            yield from _nested(each, index(child(at, field), position), skip_any_of=skip)
    if schema.get("not") is not None:
        yield from _nested(schema["not"], child(at, "not"))
    pattern = schema.get("pattern")
    if pattern:
        problem = patterns.problem(pattern)
        if problem:
            told = f"must be a valid regular expression, but isn't: {problem}"
            yield invalid(child(at, "pattern"), pattern, told)


def _nested(schema: Obj, at: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _value_validation(schema, at, skip_any_of=skip_any_of)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], child(at, "items"))
    for name, each in _properties(schema).items():
        yield from _nested(each, key(child(at, "properties"), name))
    for field, told in _FORBIDDEN_IN_NESTED:
        value = schema.get(field)
        if value or (value is not None and field == "default") or value == {}:
            yield forbidden(child(at, field), told)
    if "metadata" in _properties(schema):
        where = key(child(at, "properties"), "metadata")
        yield forbidden(where, "must not be specified in a nested context")


def _completeness(validation: Obj, schema: Obj, at: str, nested_at: str) -> Iterator[FieldError]:
    """Each field that a nested validation speaks of is there outside of it."""
    if validation.get("not") is not None:
        yield from _nested_completeness(validation["not"], schema, at, child(nested_at, "not"))
    for field in ("allOf", "anyOf", "oneOf"):
        for position, each in enumerate(validation.get(field) or ()):
            yield from _nested_completeness(each, schema, at, index(child(nested_at, field), position))


def _nested_completeness(validation: Obj, schema: Obj | None, at: str, nested_at: str) -> Iterator[FieldError]:
    if schema is None:
        yield required(at, f"because it is defined in {nested_at}")
        return
    yield from _completeness(validation, schema, at, nested_at)
    if validation.get("items") is not None:
        items = schema.get("items")
        yield from _nested_completeness(validation["items"], items, child(at, "items"), child(nested_at, "items"))
    for name, each in _properties(validation).items():
        where, nested_where = key(child(at, "properties"), name), key(child(nested_at, "properties"), name)
        yield from _nested_completeness(each, _properties(schema).get(name), where, nested_where)
