"""API trees as upstream's internal types: for values in messages, for diffs, and to tell whether two specs are equal."""

import difflib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from tiphys.api.internal_shapes import SHAPES
from tiphys.api.pod_template.internal_types import FIELDS
from tiphys.machinery.fields import Verbatim
from tiphys.machinery.go_json import html_safe
from tiphys.machinery.tree import Obj

_SCALARS: dict[str, Any] = {"string": "", "int": 0, "bool": False, "Quantity": "0", "IntOrString": 0}
_META_ORDER = ("labels", "annotations", "ownerReferences", "finalizers")
_HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


class Field(NamedTuple):
    name: str
    json: str
    kind: str


@cache
def _types() -> Mapping[str, tuple[Field, ...]]:
    found: dict[str, list[Field]] = {}
    current: list[Field] = []
    for line in (FIELDS.strip() + SHAPES.rstrip()).splitlines():
        words = line.split()
        if not line.startswith(" "):
            current = found.setdefault(words.pop(0), [])
        for word in words:
            name, _, kind = word.partition(":")
            if name.startswith("+"):
                current.append(Field("", "", name[1:]))
                continue
            name, _, spelled = name.partition("=")
            current.append(Field(name, spelled or name[0].lower() + name[1:], kind or "string"))
    return {name: tuple(fields) for name, fields in found.items()}


def internal(value: Any, kind: str) -> Any:
    """`value` as the internal type `kind` (as the table spells kinds) marshals to JSON."""
    if kind[0] == "*":
        return None if value is None else internal(value, kind[1:])
    if kind[:2] == "[]":
        return [internal(each, kind[2:]) for each in value] if value is not None else None
    if kind[:2] == "{}":
        return {name: internal(value[name], kind[2:]) for name in sorted(value)} if value is not None else None
    if kind in _SCALARS:
        return _SCALARS[kind] if value is None else value
    if kind == "Selector":
        return selector(value)
    if kind == "Raw":
        return value
    return _struct(value or {}, kind)


def selector(value: Obj | None) -> Obj | None:
    """A LabelSelector as messages print it: it has the same names inside and out, in this order."""
    if value is None:
        return None
    found: Obj = {}
    if value.get("matchLabels"):
        found["matchLabels"] = dict(sorted(value["matchLabels"].items()))
    if value.get("matchExpressions"):
        found["matchExpressions"] = [_expression(each) for each in value["matchExpressions"]]
    return found


def _expression(value: Obj) -> Obj:
    found: Obj = {"key": value.get("key", ""), "operator": value.get("operator", "")}
    return found | ({"values": value["values"]} if value.get("values") else {})


def _struct(value: Obj, kind: str) -> Obj:
    if kind == "ObjectMeta":
        return {name: value[name] for name in _META_ORDER if value.get(name)}
    tree: Obj = {}
    for field in _types()[kind]:
        if not field.name:
            tree.update(_struct(value.get("metadata") or {} if field.kind == "ObjectMeta" else value, field.kind))
        elif field.name == "SecurityContext" and kind == "PodSpec":
            # The host's namespaces stand beside the security context on the wire, within it in the internal type.
            hosted = {name: value.get(name) for name in _HOST_FIELDS}
            tree[field.name] = _struct({**(value.get("securityContext") or {}), **hosted}, "PodSecurityContext")
        else:
            tree[field.name] = internal(value.get(field.json), field.kind)
    return tree


def told(value: Any, kind: str) -> Verbatim:
    """`value` as a message prints it. Strings behind pointers, too, are JSON there."""
    return Verbatim(_json(value, kind, separators=(",", ":")))


def differ(old: Any, new: Any, kind: str) -> str:
    """What upstream prints of a forbidden change: a unified diff of both values, pretty-printed."""
    lines = [_pretty(each, kind).split("\n") for each in (old, new)]
    body = difflib.unified_diff(lines[0], lines[1], n=3, lineterm="")
    return "".join(f"{line}\n" for line in list(body)[2:])


def _pretty(value: Any, kind: str) -> str:
    return _json(value, kind, indent=1)


def _json(value: Any, kind: str, **style: Any) -> str:
    return html_safe(json.dumps(internal(value, kind), ensure_ascii=False, **style).encode()).decode()


def same(one: Any, other: Any, kind: str) -> bool:
    """Equal as upstream's semantic equality has it: nothing and an empty list or map are the same."""
    return one == other or _equal(internal(one, kind), internal(other, kind))


def _equal(one: Any, other: Any) -> bool:
    if one == other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_equal(one.get(name), other.get(name)) for name in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one in _NOTHING and other in _NOTHING


_NOTHING: tuple[Any, ...] = (None, [], {})
