"""Which values a field can have, where upstream publishes that: `enums.tsv` has definition, place in it and values. Core.

The place is the name of a field, with [] for the items of a list and {} for the values of a map.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources

from tiphys.machinery.tree import Obj


@cache
def _table() -> Mapping[str, tuple[tuple[str, list[str]], ...]]:
    text = resources.files("tiphys.apiserver.openapi").joinpath("enums.tsv").read_text(encoding="utf-8")
    table: dict[str, tuple[tuple[str, list[str]], ...]] = {}
    for line in text.splitlines():
        definition, place, values = line.split("\t")
        table[definition] = (*table.get(definition, ()), (place, values.split(",")))
    return table


def add(definition: str, schema: Obj) -> None:
    """Enter the values into a schema that nobody else holds."""
    for place, values in _table().get(definition, ()):
        field = schema.get("properties", {}).get(place.rstrip("[]{}"))
        if field is None:
            continue
        if place.endswith("[]"):
            field["items"] = {**field["items"], "enum": values}
        elif place.endswith("{}"):
            field["additionalProperties"] = {**field["additionalProperties"], "enum": values}
        else:
            field["enum"] = values
        listed = "".join(f'\n - `"{each}"`' for each in values)
        field["description"] = f"{field.get('description', '')}\n\nPossible enum values:{listed}".lstrip()
