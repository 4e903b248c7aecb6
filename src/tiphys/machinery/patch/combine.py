"""Merging an applied configuration into an object, and taking fields out of one. Trees are not changed; parts are shared."""

from typing import Any

from tiphys.machinery.patch.fieldset import FieldSet
from tiphys.machinery.patch.shape import DEDUCED, DEDUCED_SHAPE, EMPTIED, GRANULAR, KEYED, SET, Shape

_ABSENT: Any = object()


def merge(shape: Shape, live: Any, config: Any) -> Any:
    """`live` with what `config` says. Nothing is removed; an element of `config` that is new stands where `config` has it."""
    if config is live:
        return live
    if type(config) is dict or (config is None and type(live) is dict):
        if shape.kind in (GRANULAR, DEDUCED) and (type(live) is dict or live is None or live is _ABSENT):
            return _merge_fields(shape, live or {}, config or {}) if live or config else config
    elif type(config) is list and shape.kind in (KEYED, SET) and (live or config):
        return _merge_elements(shape, live or [], config)
    elif config is None and type(live) is list and live and shape.kind in (KEYED, SET):
        return live
    return config


def _merge_fields(shape: Shape, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    merged = live
    for name, value in config.items():
        old = live.get(name, _ABSENT)
        new = value if old is _ABSENT else merge(shape.child(name)[1], old, value)
        if new is not old:
            if merged is live:
                merged = dict(live)
            merged[name] = new
    return merged


def _merge_elements(shape: Shape, live: list[Any], config: list[Any]) -> list[Any]:
    """Upstream's interleaving: shared elements in the order of `config`, elements of `live` alone where they stood."""
    elements = shape.elements or DEDUCED_SHAPE
    ours = [shape.element(item) for item in live]
    theirs = [shape.element(item) for item in config]
    wanted = dict(zip(theirs, config, strict=True))
    standing: dict[str, Any] = {}
    for element, item in zip(ours, live, strict=True):
        # Of duplicates none is merged with what is applied.
        standing[element] = None if element in standing else item
    shared = [element for element in theirs if element in standing]
    merged: list[Any] = []
    done: set[str] = set()

    def take(element: str) -> None:
        done.add(element)
        old = standing.get(element)
        merged.append(wanted[element] if old is None else merge(elements, old, wanted[element]))

    left = right = upcoming = 0
    while left < len(ours) or right < len(theirs):
        if left < len(ours) and right < len(theirs):
            element = ours[left]
            if element == theirs[right]:
                take(element)
                left, right, upcoming = left + 1, right + 1, upcoming + 1
                continue
            if element in wanted and upcoming < len(shared) and shared[upcoming] != element:
                # Shared, but its turn comes later.
                left += 1
                continue
        if left < len(ours):
            element = ours[left]
            if element not in wanted:
                merged.append(live[left])
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(theirs):
            element = theirs[right]
            take(element)
            right += 1
            if upcoming < len(shared) and shared[upcoming] == element:
                upcoming += 1
    if len(merged) == len(live) and all(map(_is, merged, live)):
        return live
    return merged


def _is(one: Any, other: Any) -> bool:
    return one is other


def remove(shape: Shape, value: Any, fields: FieldSet) -> Any:
    """`value` without the members of `fields`. A map or a list that loses everything is left EMPTIED."""
    if type(value) is dict and value and shape.kind in (GRANULAR, DEDUCED):
        kept: Any = {}
        for name, each in value.items():
            label, below = shape.child(name)
            subset = fields.get(label)
            if subset is None:
                kept[name] = each
            elif subset and "." not in subset:
                kept[name] = remove(below, each, subset)
        return kept or EMPTIED
    if type(value) is list and value and shape.kind in (KEYED, SET):
        elements = shape.elements or DEDUCED_SHAPE
        left: list[Any] = []
        for item in value:
            subset = fields.get(shape.element(item))
            if subset is None:
                left.append(item)
            elif subset and "." not in subset:
                left.append(remove(elements, item, subset))
        return left or EMPTIED
    return value if type(value) not in (dict, list) else EMPTIED


def settle(value: Any) -> Any:
    """`value` without what `remove` left of emptied maps and lists."""
    if type(value) is dict:
        return {name: settle(each) for name, each in value.items() if each is not EMPTIED}
    if type(value) is list:
        return [settle(each) for each in value if each is not EMPTIED]
    return value
