"""Defaults of custom resources: absent fields, and nulls where null is no value, get what their schema says."""

from typing import Any

from tiphys.machinery import tree
from tiphys.machinery.schema import Node


def defaulted(value: Any, node: Node) -> Any:
    """`value` itself where there is nothing to fill in; else a copy of it along the paths that change."""
    if node.definition:
        return value
    if type(value) is dict:
        return _filled(value, node)
    if type(value) is list and node.items is not None:
        items = node.items
        made = [_one(each, items) for each in value]
        return value if all(new is old for new, old in zip(made, value, strict=True)) else made
    return value


def _one(value: Any, node: Node) -> Any:
    if value is None and not node.nullable and node.has_default:
        return tree.copy(node.default)
    return defaulted(value, node)


def _filled(value: dict[str, Any], node: Node) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, child in node.fields.items():
        if child.has_default and (name not in value or (value[name] is None and not child.nullable)):
            # Defaults may stand inside of defaults.
            changes[name] = defaulted(tree.copy(child.default), child)
    for name, each in value.items():
        known = node.fields.get(name) or (node.items if node.type == "map" else None)
        if known is None or name in changes:
            continue
        new = _one(each, known)
        if new is not each:
            changes[name] = new
    return {**value, **changes} if changes else value
