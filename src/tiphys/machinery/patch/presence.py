"""Which fields of the built-in kinds are there even when they say nothing.

Upstream's types write some fields always: structures that are not optional (`resources: {}`, `status: {}`), and lists, pointers
and scalars that are not marked as omissible. Who owns a field depends on it: creating a pod makes its author the owner of
`spec.dnsPolicy` but not of `spec`, because the pod that is not there yet already has a `spec`.
"""

from functools import cache
from importlib import resources
from typing import Any

_EMPTY: dict[str, Any] = {"object": {}, "null": None, "string": "", "number": 0, "boolean": False, "quantity": "0"}


@cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for line in (resources.files(__package__) / "presence.tsv").read_text().splitlines():
        definition, kind, names = line.split("\t")
        table.setdefault(definition, {}).update(dict.fromkeys(names.split(" "), _EMPTY[kind]))
    return table


def always_there(definition: str) -> dict[str, Any]:
    """The fields of a definition that upstream never leaves out, with the value they have when nothing is said. Read-only."""
    return _table().get(definition, {})
