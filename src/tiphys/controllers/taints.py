"""Taints of nodes, and what tolerates them."""

from collections.abc import Iterable

from tiphys.machinery.tree import Obj


def untolerated(taints: Iterable[Obj], tolerations: Iterable[Obj], effects: frozenset[str]) -> bool:
    """Whether one with such an effect is not tolerated."""
    listed = list(tolerations)
    return any(taint["effect"] in effects and not any(tolerates(each, taint) for each in listed) for taint in taints)


def tolerates(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    key = toleration.get("key") or ""
    if key and key != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    return operator == "Exists" or (operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or ""))
