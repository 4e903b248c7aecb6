"""Lists that are sets, or maps by their keys: nothing may stand in them twice."""

from collections.abc import Iterator
from typing import Any

import orjson

from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, key
from tiphys.machinery.schema import Node


def validate_lists(value: Any, node: Node, at: str = "") -> Iterator[FieldError]:
    if node.definition:
        return
    if isinstance(value, dict):
        for name, each in value.items():
            if name in node.fields:
                yield from validate_lists(each, node.fields[name], child(at, name))
            elif node.type == "map" and node.items is not None:
                yield from validate_lists(each, node.items, key(at, name))
    elif isinstance(value, list):
        if node.list_type == "set":
            for position in _repeated(value):
                yield duplicate(index(at, position), value[position])
        elif node.list_type == "map":
            yield from _validate_map(value, node, at)
        if node.items is not None:
            for position, each in enumerate(value):
                yield from validate_lists(each, node.items, index(at, position))


def _validate_map(items: list[Any], node: Node, at: str) -> Iterator[FieldError]:
    for position, each in enumerate(items):
        if each is not None and not isinstance(each, dict):
            yield invalid(index(at, position), each, "must be an object for an array of list-type map")
            return
    keys = [{name: each[name] for name in node.list_keys if name in each} if each else {} for each in items]
    for position in _repeated(keys):
        yield duplicate(index(at, position), keys[position])


def _repeated(values: list[Any]) -> Iterator[int]:
    """Where something stands for the second time."""
    seen: dict[bytes, int] = {}
    for position, each in enumerate(values):
        spelled = orjson.dumps(each, option=orjson.OPT_SORT_KEYS)
        seen[spelled] = seen.get(spelled, 0) + 1
        if seen[spelled] == 2:
            yield position
