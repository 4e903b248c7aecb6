"""Lists of status conditions: found, set, removed; never changed in place."""

from collections.abc import Iterable

from tiphys.machinery import times
from tiphys.machinery.tree import Obj


def find(conditions: Iterable[Obj] | None, kind: str) -> Obj | None:
    return next((each for each in conditions or () if each.get("type") == kind), None)


def without(conditions: Iterable[Obj] | None, kind: str) -> list[Obj]:
    return [each for each in conditions or () if each.get("type") != kind]


def is_true(conditions: Iterable[Obj] | None, kind: str) -> bool:
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"


def condition(kind: str, status: str, reason: str, message: str, now: float) -> Obj:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": times.rfc3339(now),
        "reason": reason,
        "message": message,
    }
