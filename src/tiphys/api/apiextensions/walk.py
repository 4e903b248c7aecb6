"""All positions of a schema, in a fixed order."""

from collections.abc import Iterator

from tiphys.machinery.tree import Obj, get


def schemas_of(definition: Obj) -> Iterator[Obj]:
    for version in get(definition, ("spec", "versions"), ()):
        schema = get(version, ("schema", "openAPIV3Schema"))
        if schema is not None:
            yield schema


def walk(schema: Obj) -> Iterator[Obj]:
    yield schema
    items = schema.get("items")
    if isinstance(items, dict):
        yield from walk(items)
    for field in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(field) or ():
            yield from walk(each)
    for field in ("not", "additionalProperties"):
        each = schema.get(field)
        if isinstance(each, dict):
            yield from walk(each)
    properties = schema.get("properties") or {}
    for name in sorted(properties):
        yield from walk(properties[name])
