"""Printer columns and subresources of a version."""

from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, child, invalid, required
from tiphys.machinery.tree import Obj

TYPES = ("boolean", "date", "integer", "number", "string")
FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")


def validate_column(column: Obj, at: str) -> Iterator[FieldError]:
    kind, named, path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    if not column.get("name"):
        yield required(child(at, "name"))
    told = "must be one of " + ",".join(TYPES)
    if not kind:
        yield required(child(at, "type"), told)
    elif kind not in TYPES:
        yield invalid(child(at, "type"), kind, told)
    if named and named not in FORMATS:
        yield invalid(child(at, "format"), named, "must be one of " + ",".join(FORMATS))
    if not path:
        yield required(child(at, "JSONPath"))
    elif not path.startswith("."):
        yield _not_simple(path, child(at, "JSONPath"))


def validate_subresources(subresources: Obj, at: str) -> Iterator[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for field, start in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        path, where = scale.get(field, ""), child(at, "scale", field)
        if not path:
            yield required(where)
        elif not path.startswith("."):
            yield _not_simple(path, where)
        elif not path.startswith(f".{start}."):
            yield invalid(where, path, f"should be a json path under .{start}")
    path, where = scale.get("labelSelectorPath") or "", child(at, "scale", "labelSelectorPath")
    if path and not path.startswith("."):
        yield _not_simple(path, where)
    elif path and not path.startswith((".spec.", ".status.")):
        yield invalid(where, path, "should be a json path under either .spec or .status")


def _not_simple(path: str, at: str) -> FieldError:
    return invalid(at, path, "must be a simple json path starting with .")
