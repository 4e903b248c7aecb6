"""The conditions of a CustomResourceDefinition."""

from tiphys.machinery import times
from tiphys.machinery.tree import Obj, get


def condition(definition: Obj, kind: str) -> Obj | None:
    return next((each for each in get(definition, ("status", "conditions"), ()) if each.get("type") == kind), None)


def is_true(definition: Obj, kind: str) -> bool:
    found = condition(definition, kind)
    return found is not None and found.get("status") == "True"


def with_condition(status: Obj, kind: str, state: str, reason: str, message: str, now: float) -> Obj:
    """`status` with the condition as it is said; its time is that of the last change of its state."""
    made = {
        "type": kind,
        "status": state,
        "lastTransitionTime": times.rfc3339(now),
        "reason": reason,
        "message": message,
    }
    listed: list[Obj] = list(status.get("conditions") or ())
    for position, old in enumerate(listed):
        if old.get("type") == kind:
            if old.get("status") == state and old.get("lastTransitionTime"):
                made["lastTransitionTime"] = old["lastTransitionTime"]
            listed[position] = made
            return {**status, "conditions": listed}
    return {**status, "conditions": [*listed, made]}
