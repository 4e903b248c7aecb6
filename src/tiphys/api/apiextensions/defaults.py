"""Defaults in the schema of a custom resource must themselves be what the schema demands."""

from collections.abc import Iterator

from tiphys.machinery import decode
from tiphys.machinery.fields import FieldError, child, invalid, key
from tiphys.machinery.schema import Node
from tiphys.machinery.structural.compiling import compile_schema
from tiphys.machinery.structural.embedded import validate_embedded
from tiphys.machinery.structural.values import validate_values
from tiphys.machinery.tree import Obj

_METADATA = Node("object", preserve_unknown=True)
"""Metadata has rules of its own; here it may be anything."""


def validate_defaults(schema: Obj, at: str) -> Iterator[FieldError]:
    """Of a structural schema. Where defaults may not stand at all is told elsewhere."""
    yield from _validate(schema, compile_schema(schema, _METADATA, prune_defaults=False), at)


def _validate(schema: Obj, node: Node, at: str) -> Iterator[FieldError]:
    value = schema.get("default")
    if value is not None:
        where = child(at, "default")
        unknown: list[str] = []
        decode.prune(value, node, unknown, resource=node.embedded, lenient=True)
        if unknown:
            yield invalid(where, value, "must not have unknown fields")
        problems = list(validate_embedded(value, node, where))
        # Upstream does not ask here whether what may be an integer or a string is one.
        plain = {name: each for name, each in schema.items() if name != "x-kubernetes-int-or-string"}
        yield from problems or validate_values(value, plain, where)
    if isinstance(schema.get("items"), dict) and node.items is not None:
        yield from _validate(schema["items"], node.items, child(at, "items"))
    for name, each in (schema.get("properties") or {}).items():
        below = node.fields.get(name)
        if below is not None and below is not _METADATA and not below.definition:
            yield from _validate(each, below, key(child(at, "properties"), name))
