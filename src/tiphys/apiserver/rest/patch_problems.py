"""How upstream words the refusal of a patch, and of what a patch makes of an object. Core."""

import re
from collections.abc import Iterable
from typing import Any

import orjson

from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import invalid
from tiphys.machinery.patch.go import escape, go_text
from tiphys.machinery.patch.json import GO_KINDS
from tiphys.machinery.tree import Obj

_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_NO_TYPE = "couldn't get version/kind; json parse error: "
_YAML = "error converting YAML to JSON: "

_METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_MISMATCH = re.compile(r"json: cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field \S+|value) of type (.+)")
_SOURCES = {"string": "string", "bool": "bool", "array": "slice", "object": "map", "number": "int64"}
_SCALARS = frozenset(("string", "bool", "int32", "int64", "float64"))


def unreadable(told: str, media: str, *, lenient: bool) -> str:
    """A body that is not even JSON (or YAML, for apply)."""
    told = told.removeprefix(_NO_TYPE)
    if media.endswith("yaml"):
        return "error decoding YAML: " + (told if told.startswith(_YAML) else _YAML + told)
    if media.startswith("application/strategic"):
        return told
    if lenient:
        return told if media.startswith("application/json-patch") else "Invalid JSON Patch"
    return "error decoding patch: " + told


def not_a_map(value: Any) -> str:
    return f"json: cannot unmarshal {GO_KINDS.get(type(value), 'value')} into Go value of type map[string]interface {{}}"


def unreadable_map(value: Any) -> str:
    return "error decoding YAML: error unmarshaling JSON: while decoding JSON: " + not_a_map(value)


def no_type_meta(value: Any) -> str:
    kind = GO_KINDS.get(type(value), "null")
    return f"{_NO_TYPE}json: cannot unmarshal {kind} into Go value of type {_TYPE_META}"


def duplicates_in_yaml(duplicates: Iterable[str]) -> str:
    return f"error strict decoding YAML: {_YAML}" + "; ".join(duplicates)


class ShownPatch:
    """What a refusal of the patched object shows: the object as JSON, or a strategic merge patch as Go prints a map."""

    __slots__ = ("_custom", "_strategic", "_value")

    def __init__(self, value: Any, strategic: bool, *, custom: bool = False) -> None:
        self._value = value
        self._strategic = strategic
        self._custom = custom
        """Of a custom resource, whose fields stand in no order but that of their names."""

    def refusal(self, told: str) -> ApiError:
        if self._strategic:
            return errors.invalid("", "", "", [invalid("patch", go_text(self._value), _from_map(told))])
        if self._custom:
            shown = escape(orjson.dumps(self._value, option=orjson.OPT_SORT_KEYS).decode())
            return errors.invalid("", "", "", [invalid("patch", shown, told)])
        return errors.invalid("", "", "", [invalid("patch", _as_json(self._value), told)])


def _as_json(value: Any) -> str:
    if not isinstance(value, dict):
        return orjson.dumps(value).decode()
    ordered: Obj = {key: value[key] for key in sorted(value)}
    metadata = ordered.get("metadata")
    if isinstance(metadata, dict):
        known = {key: metadata[key] for key in _METADATA_ORDER if key in metadata}
        ordered["metadata"] = {**known, **{key: each for key, each in metadata.items() if key not in known}}
    return escape(orjson.dumps(ordered).decode())


def _from_map(told: str) -> str:
    """A mismatch of types as upstream's converter of maps words it, which strategic merge uses instead of a decoder."""
    found = _MISMATCH.fullmatch(told)
    if found is None:
        return told
    source, target = _SOURCES.get(found[1], found[1]), found[2]
    if target.startswith("map["):
        return f"cannot restore map from {source}"
    if target.startswith("[]"):
        return f"cannot restore slice from {source}"
    if target not in _SCALARS:
        return f"cannot restore struct from: {source}"
    if source == "int64" and target == "string":
        return "cannot convert int64 to string"
    return f"unrecognized type: {target}"
