"""A KubeletConfiguration from the text of a file: every field known, every type right, what is absent filled in."""

from collections.abc import Iterator
from typing import Any

from tiphys.kubelet.configuration.fields import FIELDS, USED, Field, Fields
from tiphys.machinery import duration
from tiphys.machinery.decode import parse, strict_problem
from tiphys.machinery.decode.parsing import YAML
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

API_VERSION, KIND = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}


class BadConfiguration(ValueError):
    """What is wrong with it, in upstream's words."""


def read(text: bytes) -> Obj:
    """What the file gives, without defaults; JSON is YAML too."""
    try:
        parsed = parse(text, YAML, find_duplicates=True)
    except ApiError as problem:
        raise BadConfiguration(str(problem)) from None
    tree = parsed.tree
    if not isinstance(tree, dict):
        raise BadConfiguration("the configuration is not an object")
    if tree.get("kind") != KIND or tree.get("apiVersion") != API_VERSION:
        found = f'no kind "{tree.get("kind", "")}" is registered for version "{tree.get("apiVersion", "")}"'
        raise BadConfiguration(f"{found}; wanted is kind {KIND} of {API_VERSION}")
    given = {name: value for name, value in tree.items() if name not in ("kind", "apiVersion")}
    unknown: list[str] = []
    _check(given, FIELDS, "", unknown)
    if unknown or parsed.duplicates:
        raise BadConfiguration(strict_problem(unknown, list(parsed.duplicates)))
    return given


def merged(under: Obj, over: Obj) -> Obj:
    """`over` goes before `under`, field by field in the fields that have fields."""
    made = dict(under)
    for name, value in over.items():
        nested = isinstance(FIELDS.get(name), dict) or name in ("x509", "webhook", "anonymous")
        made[name] = merged(made.get(name) or {}, value or {}) if nested else value
    return made


def with_defaults(given: Obj) -> Obj:
    """The whole configuration, as `/configz` shows it."""
    made = _filled(given, FIELDS)
    if "nodeStatusUpdateFrequency" in given and not given.get("nodeStatusReportFrequency"):
        made["nodeStatusReportFrequency"] = made["nodeStatusUpdateFrequency"]
    if (given.get("maxParallelImagePulls") or 0) >= 2 and given.get("serializeImagePulls") is None:
        made["serializeImagePulls"] = False
    return made


def without_effect(given: Obj) -> list[str]:
    """The settings that somebody gave, not as they are by default, and that change nothing here."""
    usual = with_defaults({})
    return sorted(name for name, value in given.items() if name not in USED and value and value != usual.get(name))


def seconds(settings: Obj, name: str) -> float:
    """Of a field that is a length of time."""
    return duration.parse(settings.get(name) or "0s") / duration.SECOND


def _check(given: Obj, fields: Fields, above: str, unknown: list[str]) -> None:
    for name, value in given.items():
        field, path = fields.get(name), f"{above}{name}"
        if field is None:
            unknown.append(path)
        elif value is None:
            continue
        elif isinstance(field, Field):
            _check_value(value, field, path)
        elif not isinstance(value, dict):
            raise _mismatch(value, path, "struct")
        else:
            _check(value, field, f"{path}.", unknown)


def _check_value(value: Any, field: Field, path: str) -> None:
    kind = field.type
    if kind == "duration":
        if not isinstance(value, str):
            raise _mismatch(value, path, "string")
        try:
            duration.parse(value)
        except ValueError as problem:
            raise BadConfiguration(f"{path}: {problem}") from None
    elif not _fits(value, kind):
        raise _mismatch(value, path, kind)


def _fits(value: Any, kind: str) -> bool:
    if kind == "any":
        return True
    if kind == "bool":
        return isinstance(value, bool)
    if kind in _RANGES:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and -_RANGES[kind] <= value < _RANGES[kind]
    if kind == "float64":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "string":
        return isinstance(value, str)
    if kind == "[]string":
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    wanted = bool if kind == "map[string]bool" else str
    return isinstance(value, dict) and all(isinstance(each, wanted) for each in value.values())


def _mismatch(value: Any, path: str, kind: str) -> BadConfiguration:
    names = {bool: "bool", str: "string", list: "array", dict: "object"}
    told = names.get(type(value), f"number {value}")
    return BadConfiguration(f"json: cannot unmarshal {told} into Go struct field {KIND}.{path} of type {kind}")


def _filled(given: Obj, fields: Fields) -> Obj:
    return dict(_values(given, fields))


def _values(given: Obj, fields: Fields) -> Iterator[tuple[str, Any]]:
    for name, field in fields.items():
        value = given.get(name)
        if not isinstance(field, Field):
            yield name, _filled(value or {}, field)
        elif value is not None and (value or field.pointer) and not (field.type == "duration" and _is_zero(value)):
            yield name, value
        elif field.default is not None:
            yield name, field.default


def _is_zero(text: str) -> bool:
    return duration.parse(text) == 0
