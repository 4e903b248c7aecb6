"""A custom resource without what its schema does not know, and without nulls where null is no value.

The rules are upstream's (apiextensions-apiserver/pkg/apiserver/schema/pruning and defaulting/prunenulls.go): below a position
that keeps unknown fields, what the schema does describe is pruned all the same.
"""

from collections.abc import Callable
from typing import Any

from tiphys.machinery.decode.places import At, Unknown, note
from tiphys.machinery.schema import Node

Described = Callable[[Any, Node, At, Unknown], Any]
"""Reads what the server itself describes: ObjectMeta."""

_RESOURCE = frozenset(("apiVersion", "kind", "metadata"))
_NOTHING = Node("object")


def pruned(value: Any, node: Node, at: At, unknown: Unknown, described: Described, resource: bool) -> Any:
    """The same value where nothing has to go."""
    if node.definition:
        return described(value, node, at, unknown)
    if type(value) is list:
        items = node.items or (node if node.preserve_unknown else _NOTHING)
        made = [pruned(each, items, (at, position), unknown, described, items.embedded) for position, each in enumerate(value)]
        return value if all(new is old for new, old in zip(made, value, strict=True)) else made
    if type(value) is not dict:
        return value
    result = {}
    changed = False
    for name, item in value.items():
        child = node.fields.get(name) or (node.items if node.type == "map" else None)
        if child is None:
            if node.preserve_unknown or (resource and name in _RESOURCE):
                result[name] = item
                continue
            changed = True
            if at is not None or name not in _RESOURCE:
                note(unknown, (at, name))
        elif item is None and not child.nullable and not child.has_default and not child.definition:
            changed = True
        else:
            result[name] = new = pruned(item, child, (at, name), unknown, described, child.embedded)
            changed = changed or new is not item
    return result if changed else value
