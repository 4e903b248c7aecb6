"""Resources inside of custom resources (x-kubernetes-embedded-resource) must be resources."""

from collections.abc import Iterator
from typing import Any

from tiphys.machinery import meta, validators
from tiphys.machinery.fields import FieldError, child, index, invalid, key, required
from tiphys.machinery.schema import Node
from tiphys.machinery.tree import Obj

_NAMELESS = "fakename"
_MIXED_CASE = "may have mixed case, but should otherwise match: "


def validate_embedded(value: Any, node: Node, at: str = "") -> Iterator[FieldError]:
    if node.definition:
        return
    if isinstance(value, dict):
        if node.embedded:
            yield from _validate_resource(value, at)
        for name, each in value.items():
            if name in node.fields:
                yield from validate_embedded(each, node.fields[name], child(at, name))
            elif node.type == "map" and node.items is not None:
                yield from validate_embedded(each, node.items, key(at, name))
    elif isinstance(value, list) and node.items is not None:
        for position, each in enumerate(value):
            yield from validate_embedded(each, node.items, index(at, position))


def _validate_resource(resource: Obj, at: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in resource:
            yield required(child(at, name))
        elif not isinstance(resource[name], str):
            yield invalid(child(at, name), resource[name], "must be a string")
        elif not resource[name]:
            yield invalid(child(at, name), "", "must not be empty")
        else:
            yield from _validate_type(name, resource[name], child(at, name))
    metadata = resource.get("metadata")
    if isinstance(metadata, dict):
        named = {**metadata, "name": metadata.get("name") or _NAMELESS}
        in_namespace = bool(metadata.get("namespace"))
        yield from meta.validate_meta({"metadata": named}, in_namespace, validators.path_segment, child(at, "metadata"))


def _validate_type(name: str, value: str, at: str) -> Iterator[FieldError]:
    if name == "apiVersion":
        if value.count("/") > 1:
            yield invalid(at, value, f"unexpected GroupVersion string: {value}")
        return
    problems = validators.dns1035_label(value.lower())
    if problems:
        yield invalid(at, value, _MIXED_CASE + ",".join(problems))
