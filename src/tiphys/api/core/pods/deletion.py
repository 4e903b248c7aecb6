"""Which pods of a set go first when there are too many."""

import math
from collections.abc import Iterable, Mapping
from functools import cmp_to_key

from tiphys.api.core.pods import facts
from tiphys.machinery import times
from tiphys.machinery.tree import Obj

_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANO = 1_000_000_000


def deletion_order(pods: Iterable[Obj], neighbours: Mapping[str, int], now: float) -> list[Obj]:
    """The pods, those to delete first in front.

    `neighbours` counts, by pod uid, the active pods of the same owner on the same node. Ages are compared by their order of
    magnitude, and by uid within one, so that a set that shrinks does not always lose its youngest.
    """

    def compare(one: Obj, other: Obj) -> int:
        return _compare(one, other, neighbours, now)

    return sorted(pods, key=cmp_to_key(compare))


def _compare(one: Obj, other: Obj, neighbours: Mapping[str, int], now: float) -> int:
    uid, other_uid = _uid(one), _uid(other)
    mine = _standing(one, neighbours.get(uid, 0))
    theirs = _standing(other, neighbours.get(other_uid, 0))
    if mine != theirs:
        return -1 if mine < theirs else 1
    if facts.is_ready(one):
        found = _younger(_ready_since(one), _ready_since(other), uid, other_uid, now)
        if found:
            return found
    restarts, other_restarts = _restarts(one), _restarts(other)
    if restarts != other_restarts:
        return -1 if restarts > other_restarts else 1
    return _younger(_created(one), _created(other), uid, other_uid, now)


def _standing(pod: Obj, neighbours: int) -> tuple[bool, int, bool, int, int]:
    phase = _PHASE_ORDER.get(facts.phase(pod), 0)
    assigned = bool(pod["spec"].get("nodeName"))
    return assigned, phase, facts.is_ready(pod), facts.deletion_cost(pod), -neighbours


def _younger(one: float | None, other: float | None, uid: str, other_uid: str, now: float) -> int:
    """An unknown time is the youngest."""
    if one == other:
        return 0
    if one is None or other is None:
        return -1 if one is None else 1
    difference = _magnitude(now - one) - _magnitude(now - other)
    if difference:
        return difference
    return (uid > other_uid) - (uid < other_uid)


def _magnitude(age: float) -> int:
    return int(math.log2(age * _NANO)) if age > 0 else -1


def _restarts(pod: Obj) -> tuple[int, int]:
    """The most restarts of any regular container, and of any sidecar."""
    status = pod.get("status") or {}
    sidecars = {each["name"] for each in pod["spec"].get("initContainers") or () if facts.is_restartable(each)}
    regular = (each.get("restartCount") or 0 for each in status.get("containerStatuses") or ())
    beside = (each.get("restartCount") or 0 for each in status.get("initContainerStatuses") or () if each["name"] in sidecars)
    return max(regular, default=0), max(beside, default=0)


def _ready_since(pod: Obj) -> float | None:
    found = facts.condition(pod, "Ready")
    return _time(found.get("lastTransitionTime")) if found else None


def _created(pod: Obj) -> float | None:
    return _time(pod["metadata"].get("creationTimestamp"))


def _uid(pod: Obj) -> str:
    return pod["metadata"].get("uid") or ""


def _time(text: str | None) -> float | None:
    return times.parse(text) if text else None
