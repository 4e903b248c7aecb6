"""How many replicas each ReplicaSet of a Deployment should have. Numbers only."""

from collections.abc import Iterable

from tiphys.controllers.numbers import rounded, scaled, whole
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX = "deployment.kubernetes.io/max-replicas"


def replicas(obj: Obj) -> int:
    """Wanted, of a Deployment or a ReplicaSet."""
    found: int = obj["spec"].get("replicas", 1)
    return found


def reported(rs: Obj, name: str) -> int:
    """A count of its status."""
    found: int = (rs.get("status") or {}).get(name) or 0
    return found


def available(rs: Obj) -> int:
    """Pods that serve and will go on to: what was told before it was made smaller no longer counts in full."""
    return min(reported(rs, "availableReplicas"), replicas(rs))


def total(sets: Iterable[Obj]) -> int:
    return sum(replicas(each) for each in sets)


def is_rolling(deployment: Obj) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate"


def _fences(deployment: Obj) -> tuple[int, int]:
    """Surge and unavailability; where both are nothing, one pod must be allowed to be away."""
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    wanted = replicas(deployment)
    surge = scaled(rolling.get("maxSurge"), wanted, up=True)
    unavailable = scaled(rolling.get("maxUnavailable"), wanted, up=False)
    return surge, 1 if surge == 0 and unavailable == 0 else unavailable


def max_surge(deployment: Obj) -> int:
    return _fences(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Obj) -> int:
    wanted = replicas(deployment)
    if not is_rolling(deployment) or wanted == 0:
        return 0
    return min(_fences(deployment)[1], wanted)


def new_size(deployment: Obj, sets: Iterable[Obj], new: Obj | None) -> int:
    """How far the newest set may grow now: never above replicas + surge, all sets together."""
    wanted, present = replicas(deployment), replicas(new) if new is not None else 0
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - total(sets)
    return present if room <= 0 else present + min(room, wanted - present)


def by_age(sets: Iterable[Obj]) -> list[Obj]:
    """The oldest first."""
    return sorted(sets, key=lambda rs: (rs["metadata"].get("creationTimestamp") or "", meta.name(rs)))


def active(sets: Iterable[Obj]) -> list[Obj]:
    return [each for each in sets if replicas(each) > 0]


def desired_annotation(rs: Obj) -> int | None:
    return _count(rs, DESIRED)


def _count(rs: Obj, annotation: str) -> int | None:
    number = whole(meta.annotations(rs).get(annotation))
    return number if number is not None and 0 <= number < 2**31 else None


def is_saturated(deployment: Obj, new: Obj | None) -> bool:
    """All pods are of the newest set, and up."""
    if new is None:
        return False
    wanted = replicas(deployment)
    return (
        replicas(new) == wanted
        and whole(meta.annotations(new).get(DESIRED)) == wanted
        and reported(new, "availableReplicas") == wanted
    )


def proportional(deployment: Obj, sets: list[Obj]) -> dict[str, int]:
    """New sizes, by name, of several active sets when the Deployment is scaled amid a rollout: in proportion to their sizes;
    what rounding leaves over goes to the largest."""
    wanted = replicas(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - total(sets)
    oldest_first = by_age(sets)
    # Ties: growing favours the newer, shrinking takes from the older.
    ordered = sorted(reversed(oldest_first) if to_add > 0 else oldest_first, key=lambda rs: -replicas(rs))
    sizes: dict[str, int] = {}
    added = 0
    for rs in ordered:
        share = _share(rs, deployment, to_add, added)
        sizes[meta.name(rs)] = replicas(rs) + share
        added += share
    if to_add != 0 and ordered:
        largest = meta.name(ordered[0])
        sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def _share(rs: Obj, deployment: Obj, to_add: int, added: int) -> int:
    if replicas(rs) == 0 or to_add in (0, added):
        return 0
    fraction, allowed = _fraction(rs, deployment), to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(rs: Obj, deployment: Obj) -> int:
    wanted, present = replicas(deployment), replicas(rs)
    if wanted == 0:
        return -present
    before = _count(rs, MAX) or (deployment.get("status") or {}).get("replicas") or 0
    if before == 0:
        return 0
    return rounded(present * (wanted + max_surge(deployment)), before) - present


def shrink_unhealthy(sets: list[Obj], limit: int) -> dict[str, int]:
    """New sizes of old sets after giving up at most `limit` pods that are not available anyway."""
    sizes: dict[str, int] = {}
    for rs in by_age(sets):
        size = replicas(rs)
        unhealthy = size - available(rs)
        if limit > 0 and size > 0 and unhealthy > 0:
            cut = min(limit, unhealthy)
            sizes[meta.name(rs)] = size - cut
            limit -= cut
    return sizes


def shrink_old(deployment: Obj, sets: list[Obj], old: list[Obj]) -> dict[str, int]:
    """New sizes of old sets so that no fewer pods than promised stay available; `sets` are all of them."""
    spare = sum(available(rs) for rs in sets) - (replicas(deployment) - max_unavailable(deployment))
    sizes: dict[str, int] = {}
    for rs in by_age(old):
        size = replicas(rs)
        if spare > 0 and size > 0:
            cut = min(size, spare)
            sizes[meta.name(rs)] = size - cut
            spare -= cut
    return sizes
