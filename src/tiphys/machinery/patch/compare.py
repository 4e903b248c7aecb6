"""What changed between two states of an object, as sets of fields.

Equal parts are passed over at once (what a write left alone is usually the same dict): the work is proportional to the change.
The rules are those of upstream's comparison: what appears or goes is told with everything below it and itself; what is there
on both sides only with the leaves that differ.
"""

from typing import Any

from tiphys.machinery.patch.fieldset import LEAF, FieldSet, without_below
from tiphys.machinery.patch.shape import (
    DEDUCED,
    DEDUCED_SHAPE,
    EMPTIED,
    GRANULAR,
    KEYED,
    SET,
    Shape,
    sorted_level,
    whole,
)

_ABSENT: Any = object()


class Change:
    """`now`: fields added or modified. `gone`: fields removed."""

    __slots__ = ("gone", "now")

    def __init__(self) -> None:
        self.now: FieldSet = {}
        self.gone: FieldSet = {}


def compare(shape: Shape, old: dict[str, Any], new: dict[str, Any], skip: FieldSet | None = None) -> Change:
    """The change from one object to another. `skip` names paths that are not looked at: `{"f:status": {}}`."""
    change = Change()
    _fields(shape, old, new, change, skip)
    return change


def _fields(shape: Shape, old: dict[str, Any], new: dict[str, Any], change: Change, skip: FieldSet | None) -> None:
    present = shape.present
    now: FieldSet = {}
    gone: FieldSet = {}
    for name, after in new.items():
        before = old.get(name, _ABSENT)
        if before is after:
            continue
        if before is _ABSENT and present:
            before = present.get(name, _ABSENT)
        label, below = shape.child(name)
        inside = skip.get(label) if skip else None
        if inside is not None and (not inside or "." in inside):
            continue
        if before is _ABSENT:
            now[label] = without_below(whole(below, after), inside) if inside else whole(below, after)
        elif before != after:
            _value(below, before, after, label, now, gone, inside)
    if not old.keys() <= new.keys():
        _removed(shape, old, new, now, gone, skip)
    if now:
        change.now = _sorted_fields(now)
    if gone:
        change.gone = _sorted_fields(gone)


def _removed(
    shape: Shape, old: dict[str, Any], new: dict[str, Any], now: FieldSet, gone: FieldSet, skip: FieldSet | None
) -> None:
    for name, before in old.items():
        if name in new:
            continue
        label, below = shape.child(name)
        inside = skip.get(label) if skip else None
        if inside is not None and (not inside or "." in inside):
            continue
        after = shape.present.get(name, _ABSENT)
        if after is _ABSENT:
            gone[label] = without_below(whole(below, before), inside) if inside else whole(below, before)
        elif before != after:
            _value(below, before, after, label, now, gone, inside)


def _value(shape: Shape, before: Any, after: Any, label: str, now: FieldSet, gone: FieldSet, skip: FieldSet | None) -> None:
    """Enter what two different values at one position amount to."""
    kind = shape.kind
    if kind == DEDUCED:
        _deduced(before, after, label, now, gone, skip)
        return
    if kind == GRANULAR:
        if _is_map(before) and _is_map(after) and (before or after or shape.present):
            _enter(shape, before or {}, after or {}, label, now, gone, skip)
            return
    elif kind in (KEYED, SET) and _is_list(before) and _is_list(after) and (before or after):
        inside = Change()
        _elements(shape, before or [], after or [], inside)
        if inside.now:
            now[label] = inside.now
        if inside.gone:
            gone[label] = inside.gone
        return
    now[label] = LEAF


def _enter(shape: Shape, before: Any, after: Any, label: str, now: FieldSet, gone: FieldSet, skip: FieldSet | None) -> None:
    inside = Change()
    _fields(shape, before, after, inside, skip)
    if inside.now:
        now[label] = inside.now
    if inside.gone:
        gone[label] = inside.gone


def _is_map(value: Any) -> bool:
    return type(value) is dict or value is None or value is EMPTIED


def _is_list(value: Any) -> bool:
    return type(value) is list or value is None or value is EMPTIED


def _deduced(before: Any, after: Any, label: str, now: FieldSet, gone: FieldSet, skip: FieldSet | None) -> None:
    """Without a schema the values say what they are; one that turns from a map into something else is both."""
    if _is_map(before) and _is_map(after) and (before or after):
        _enter(DEDUCED_SHAPE, before or {}, after or {}, label, now, gone, skip)
        return
    now[label] = LEAF
    if type(before) is dict and before:
        gone[label] = {element: below for element, below in whole(DEDUCED_SHAPE, before).items() if element != "."}
    elif type(after) is dict and after:
        now[label] = whole(DEDUCED_SHAPE, after)


def _elements(shape: Shape, old: list[Any], new: list[Any], change: Change) -> None:
    before, after = _by_element(shape, old), _by_element(shape, new)
    elements = shape.elements or DEDUCED_SHAPE
    now: FieldSet = {}
    gone: FieldSet = {}
    for element, theirs in after.items():
        ours = before.get(element)
        if ours is None:
            now[element] = LEAF if len(theirs) > 1 else whole(elements, theirs[0])
        elif len(ours) == 1 and len(theirs) == 1:
            if ours[0] is not theirs[0] and ours[0] != theirs[0]:
                _value(elements, ours[0], theirs[0], element, now, gone, None)
        elif len(ours) > 1 and len(theirs) > 1:
            if ours != theirs:
                now[element] = LEAF
        elif len(ours) > 1:
            # No longer a duplicate: the marker goes, the element comes.
            now[element] = whole(elements, theirs[0])
            gone[element] = LEAF
        else:
            gone[element] = whole(elements, ours[0])
            now[element] = LEAF
    for element, ours in before.items():
        if element not in after:
            gone[element] = LEAF if len(ours) > 1 else whole(elements, ours[0])
    change.now = sorted_level(now)
    change.gone = sorted_level(gone)


def _by_element(shape: Shape, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        element = shape.element(item)
        if element in found:
            found[element].append(item)
        else:
            found[element] = [item]
    return found


def _sorted_fields(level: FieldSet) -> FieldSet:
    return dict(sorted(level.items())) if len(level) > 1 else level
