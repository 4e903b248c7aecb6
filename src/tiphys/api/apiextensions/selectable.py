"""Fields of a custom resource that field selectors may use."""

from collections.abc import Iterator, Sequence

from tiphys.api.apiextensions import field_paths
from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, required, too_many
from tiphys.machinery.tree import Obj

MAX_FIELDS = 8

_WRONG_TYPE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def validate_selectable_fields(fields: Sequence[Obj], schema: Obj, at: str) -> Iterator[FieldError]:
    seen: set[tuple[str, ...]] = set()
    for position, field in enumerate(fields):
        where = child(index(at, position), "jsonPath")
        path = field.get("jsonPath", "")
        if not path:
            yield required(where)
            continue
        try:
            names, node = field_paths.find(path, schema, brackets=False)
        except ValueError as error:
            yield invalid(where, path, f"is an invalid path: {error}")
            continue
        if names[:1] == ("metadata",):
            yield invalid(where, path, "must not point to fields in metadata")
        if node.get("type") not in ("string", "boolean", "integer"):
            yield invalid(where, path, _WRONG_TYPE)
        if names in seen:
            yield duplicate(where, path)
        seen.add(names)
    if len(seen) > MAX_FIELDS:
        yield too_many(at, len(seen), MAX_FIELDS)
