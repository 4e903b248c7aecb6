"""What both kinds have in common: a status that is there from the start, and conditions with a type each, each once."""

from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, child, duplicate, index, required
from tiphys.machinery.tree import Obj, get


def prepare_create(obj: Obj) -> None:
    obj["status"] = {}


def validate_conditions(obj: Obj) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, condition in enumerate(get(obj, ("status", "conditions"), ())):
        at = child(index("status.conditions", position), "type")
        kind = condition.get("type", "")
        if kind in seen:
            yield duplicate(at, kind)
        seen.add(kind)
        if not kind:
            yield required(at)
