"""Printer columns of a custom resource. Core."""

from collections.abc import Callable
from typing import Any

from tiphys.api.kind import AGE, Column
from tiphys.apiserver.table import age
from tiphys.machinery import json_path, times
from tiphys.machinery.fields import show
from tiphys.machinery.json_path import BadPath
from tiphys.machinery.patch.go import go_float
from tiphys.machinery.tree import Obj

_DEFAULT = ({"name": AGE.name, "type": "date", "description": AGE.description, "jsonPath": f".{AGE.value}"},)


def columns(version: Obj) -> tuple[Column, ...]:
    """What follows the name. None where one of the paths cannot be read: upstream then shows the name alone."""
    listed = version.get("additionalPrinterColumns") or _DEFAULT
    try:
        return tuple(_column(each) for each in listed)
    except BadPath:
        return ()


def _column(source: Obj) -> Column:
    path, kind = source["jsonPath"], source["type"]
    json_path.compiled(path)
    told = source.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        source["name"],
        _cell(path, kind),
        type=kind,
        format=source.get("format", ""),
        description=told,
        wide=bool(source.get("priority")),
        final=True,
    )


def _cell(path: str, kind: str) -> Callable[[Obj, float], Any]:
    def cell(obj: Obj, now: float) -> Any:
        found = json_path.find(path, obj)
        return _shown(found[0], kind, now) if found else None

    return cell


def _shown(value: Any, kind: str, now: float) -> Any:
    """Null where the value is not of the column's type."""
    if kind == "string":
        return text_of(value)
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "integer":
            return int(value) if is_number else None
        case "number":
            return value if is_number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _age(value, now) if isinstance(value, str) else None
    return None


def _age(value: str, now: float) -> str:
    try:
        times.parse(value)
    except ValueError:
        return "<invalid>" if value else "<unknown>"
    return age(value, now)


def text_of(value: Any) -> str:
    """A value as a template prints it."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, (dict, list)):
        return show(value)
    return str(value)
