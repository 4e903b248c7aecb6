"""Sets of fields, in the very form in which managedFields carries them (FieldsV1).

A set is a dict whose keys are path elements: `f:<name>` a field, `k:{<keys>}` an element of a list by its keys, `v:<value>` an
element of a set, `i:<index>`. An empty dict below a key is a member; a filled one leads to members further down and is a member
itself if it holds `.`. So `{"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}` is {.metadata.labels, .metadata.labels.app}.

Sets are read-only and share what they can. Those made here keep upstream's order: `.`, fields, keys, values, indices.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from tiphys.machinery.patch.go import escape, go_float, go_quote

FieldSet = dict[str, Any]

LEAF: FieldSet = {}
"""What stands below a member without members below it; shared by all of them."""

_KINDS = {"f": 0, "k": 1, "v": 2, "i": 3}


class BadFieldsError(ValueError):
    """A FieldsV1 that cannot be read."""


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one or not other:
        return one or other
    return _union(one, other)


def minus(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of `one` that are not members of `other`; `one` itself when nothing is taken away."""
    if not one or not other:
        return one
    left = _minus(one, other)
    return LEAF if left is None else left


def meet(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in both."""
    if not one or not other:
        return LEAF
    return _meet(one, other) or LEAF


def without_below(one: FieldSet, other: FieldSet) -> FieldSet:
    """`one` without the members of `other` and without everything below them."""
    return (_without_below(one, other) or LEAF) if other else one


def matching(one: FieldSet, pattern: FieldSet) -> FieldSet:
    """The members of `one` on or along a path of `pattern`, whose `*` stands for any element and whose ends take all below."""
    if not pattern:
        return one
    out: FieldSet = {}
    for element, mine in one.items():
        wanted = pattern.get("*", pattern.get(element))
        if element == "." or wanted is None:
            continue
        below = matching(mine, wanted) if mine and wanted else mine
        if below is not mine and "." in mine:
            below = {".": LEAF, **below} if below else LEAF
        elif mine and not below:
            continue
        out[element] = below
    return out


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The members as upstream writes paths: `.spec.containers[name="a"].image`; of each level the members first."""
    for element, below in fields.items():
        if element != "." and (not below or "." in below):
            yield prefix + element_path(element)
    for element, below in fields.items():
        if below:
            yield from paths(below, prefix + element_path(element))


def element_path(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return "." + rest
    if kind == "k":
        return "[" + ",".join(f"{name}={_show(value)}" for name, value in sorted(json.loads(rest).items())) + "]"
    if kind == "v":
        return f"[={_show(json.loads(rest))}]"
    return f"[{rest}]"


def _show(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_show, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{key}={_show(each)}" for key, each in value.items())
    return str(value)


def encode_value(value: Any) -> str:
    """A value inside a path element: compact JSON, with <, > and & escaped."""
    return escape(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


@lru_cache(8192)
def key_element(names: tuple[str, ...], values: tuple[Any, ...], _types: str | tuple[str, ...]) -> str:
    """`k:{...}`; `names` in order. The types keep 1 and true apart in the cache."""
    return (
        "k:{" + ",".join(f"{encode_value(name)}:{encode_value(value)}" for name, value in zip(names, values, strict=True)) + "}"
    )


@lru_cache(8192)
def value_element(value: Any, _type: str) -> str:
    return "v:" + encode_value(value)


@lru_cache(8192)
def order(element: str) -> tuple[Any, ...]:
    """Where an element stands among its siblings."""
    if element == ".":
        return (-1,)
    kind, _, rest = element.partition(":")
    rank = _KINDS[kind]
    if rank == 0:
        return rank, rest
    if rank == 3:
        return rank, int(rest)
    value = json.loads(rest)
    if rank == 2:
        return rank, _value_order(value)
    return rank, tuple((name, _value_order(value[name])) for name in sorted(value))


def _value_order(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 3, json.dumps(value, sort_keys=True)


def in_order(fields: FieldSet) -> FieldSet:
    """The same level, sorted; the levels below are taken as they are."""
    return {element: fields[element] for element in sorted(fields, key=order)} if len(fields) > 1 else fields


def parse(fields: Any) -> FieldSet:
    """A FieldsV1 from outside as a set: checked, with canonical path elements. Unknown kinds of elements are dropped."""
    if fields is None:
        return LEAF
    parsed = _parse(fields)
    return LEAF if parsed is None else {element: below for element, below in parsed.items() if element != "."}


def _parse(fields: Any) -> FieldSet | None:
    if not isinstance(fields, dict):
        raise BadFieldsError("fields must be an object")
    out: FieldSet = {}
    for element, below in fields.items():
        if element == ".":
            out["."] = LEAF
            continue
        known = _canonical(element)
        if known:
            out[known] = _parse(below)
    return _tidy(in_order(out))


@lru_cache(8192)
def _canonical(element: str) -> str:
    if len(element) < 2:
        raise BadFieldsError("key must be 2 characters long:")
    if element[1] != ":":
        raise BadFieldsError(f"missing colon: {element}")
    kind, rest = element[0], element[2:]
    if kind == "f":
        return element
    if kind == "i":
        return f"i:{int(rest)}"
    if kind not in _KINDS:
        return ""
    value = json.loads(rest)
    if kind == "v":
        return "v:" + encode_value(value)
    if not isinstance(value, dict):
        raise BadFieldsError(f"not an object: {element}")
    return "k:{" + ",".join(f"{encode_value(name)}:{encode_value(value[name])}" for name in sorted(value)) + "}"


def _tidy(level: FieldSet) -> FieldSet:
    """A member with nothing below it is written as an empty dict."""
    return LEAF if len(level) == 1 and "." in level else level


def _union(one: FieldSet, other: FieldSet) -> FieldSet:
    if one is other:
        return one
    if not one or not other:
        # One of them is a member and no more.
        more = one or other
        return more if not more or "." in more else {".": LEAF, **more}
    out: FieldSet | None = None
    grown = False
    for element, there in other.items():
        mine = one.get(element)
        if mine is None:
            both, grown = there, True
        else:
            both = _union(mine, there)
            if both is mine:
                continue
        out = dict(one) if out is None else out
        out[element] = both
    if out is None:
        return one
    return in_order(out) if grown else out


def _minus(one: FieldSet, other: FieldSet) -> FieldSet | None:
    """None when nothing is left."""
    if not one:
        return None if not other or "." in other else one
    if not other:
        return {element: below for element, below in one.items() if element != "."} if "." in one else one
    out: FieldSet | None = None
    for element, there in other.items():
        mine = one.get(element)
        if mine is None:
            continue
        left = None if element == "." else _minus(mine, there)
        if left is not mine:
            out = dict(one) if out is None else out
            if left is None:
                del out[element]
            else:
                out[element] = left
    if out is None:
        return one
    return _tidy(out) if out else None


def _meet(one: FieldSet, other: FieldSet) -> FieldSet | None:
    """None when nothing is in both."""
    if not one:
        return one if not other or "." in other else None
    if not other:
        return LEAF if "." in one else None
    out: FieldSet = {}
    for element, mine in one.items():
        there = other.get(element)
        if there is None:
            continue
        both = LEAF if element == "." else _meet(mine, there)
        if both is not None:
            out[element] = both
    return _tidy(out) if out else None


def _without_below(one: FieldSet, other: FieldSet) -> FieldSet | None:
    """None when nothing is left."""
    out: FieldSet | None = None
    for element, there in other.items():
        mine = one.get(element)
        if mine is None or element == ".":
            continue
        if not there or "." in there:
            left: FieldSet | None = None
        else:
            left = _without_below(mine, there) if mine else mine
        if left is not mine:
            out = dict(one) if out is None else out
            if left is None:
                del out[element]
            else:
                out[element] = left
    if out is None:
        return one
    return _tidy(out) if out else None
