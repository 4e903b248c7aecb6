"""A structural schema becomes a tree of Nodes, so that custom resources take the path of built-in kinds."""

from collections.abc import Mapping
from typing import Any, cast

from tiphys.machinery import decode
from tiphys.machinery.schema import ListType, Node, Type

_TEXT = Node("string")
_TYPE = Node("string", definition="io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta")
"""apiVersion and kind of an embedded resource, which the server itself describes."""


def compile_schema(schema: Mapping[str, Any] | None, metadata: Node, *, prune_defaults: bool = True) -> Node:
    """The node of whole objects; `metadata` is that of ObjectMeta, which all share. Without a schema anything may be kept."""
    source = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    root = _node(source, metadata)
    root.fields = {**root.fields, "apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata}
    if prune_defaults:
        _prune_defaults(root)
    return root


def _node(source: Mapping[str, Any], metadata: Node) -> Node:
    node = Node("any", raw=source)
    node.nullable = bool(source.get("nullable"))
    node.preserve_unknown = bool(source.get("x-kubernetes-preserve-unknown-fields"))
    node.embedded = bool(source.get("x-kubernetes-embedded-resource"))
    node.has_default = source.get("default") is not None
    node.default = source.get("default")
    node.format = source.get("format", "")
    if source.get("x-kubernetes-int-or-string"):
        node.format = "int-or-string"
        return node
    node.required = frozenset(source.get("required") or ())
    node.atomic = source.get("x-kubernetes-map-type") == "atomic"
    node.list_type = cast(ListType, source.get("x-kubernetes-list-type") or "")
    node.list_keys = tuple(source.get("x-kubernetes-list-map-keys") or ())
    node.type = _type(source)
    if node.type == "list":
        items = source.get("items")
        node.items = _node(items, metadata) if isinstance(items, dict) else None
    elif node.type == "map":
        values = source["additionalProperties"]
        # True: any values, but nothing inside of them is known.
        node.items = _node(values, metadata) if isinstance(values, dict) else Node("object")
    elif node.type == "object":
        node.fields = {name: _node(each, metadata) for name, each in (source.get("properties") or {}).items()}
        if node.embedded:
            node.fields.update(apiVersion=_TYPE, kind=_TYPE, metadata=metadata)
    return node


def _type(source: Mapping[str, Any]) -> Type:
    match source.get("type"):
        case "array":
            return "list"
        case "object":
            return "map" if source.get("additionalProperties") and not source.get("properties") else "object"
        case "string" | "integer" | "number" | "boolean" as plain:
            return cast(Type, plain)
    return "any"


def _prune_defaults(node: Node) -> None:
    """Defaults must not bring in what the schema would drop from a request."""
    if node.definition:
        return
    if node.has_default and isinstance(node.default, dict):
        node.default = decode.prune(node.default, node)
    for each in node.fields.values():
        _prune_defaults(each)
    if node.items is not None:
        _prune_defaults(node.items)
