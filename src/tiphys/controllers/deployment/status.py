"""What a Deployment reports: counts, whether it is available, whether its rollout moves, is complete or stuck."""

from collections.abc import Sequence

from tiphys.controllers import conditions
from tiphys.controllers.deployment.scaling import max_unavailable, replicas, reported, total
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

PROGRESSING = "Progressing"
AVAILABLE = "Available"
REPLICA_FAILURE = "ReplicaFailure"

NEW_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"
FAILED_CREATE = "ReplicaSetCreateError"

_FOREVER = 2**31 - 1


def deadline(deployment: Obj) -> int | None:
    """Seconds that a rollout may go without progress."""
    seconds: int | None = deployment["spec"].get("progressDeadlineSeconds")
    return seconds if seconds != _FOREVER else None


def condition(kind: str, status: str, reason: str, message: str, now: float) -> Obj:
    return {**conditions.condition(kind, status, reason, message, now), "lastUpdateTime": times.rfc3339(now)}


def with_condition(listed: list[Obj], new: Obj) -> list[Obj]:
    """The same status and reason are no news; the same status keeps the time at which it began."""
    current = conditions.find(listed, new["type"])
    if current is not None and current["status"] == new["status"]:
        if current.get("reason") == new.get("reason"):
            return listed
        new = {**new, "lastTransitionTime": current.get("lastTransitionTime")}
    return [*conditions.without(listed, new["type"]), new]


def counts(deployment: Obj, sets: Sequence[Obj], new: Obj | None, now: float) -> Obj:
    """The status without the judgement of progress. Zeros are left out, as upstream leaves them."""
    available = sum(reported(rs, "availableReplicas") for rs in sets)
    found = {
        "observedGeneration": meta.generation(deployment),
        "replicas": sum(reported(rs, "replicas") for rs in sets),
        "updatedReplicas": reported(new, "replicas") if new is not None else 0,
        "readyReplicas": sum(reported(rs, "readyReplicas") for rs in sets),
        "availableReplicas": available,
        "unavailableReplicas": max(0, total(sets) - available),
    }
    status: Obj = {name: count for name, count in found.items() if count}
    terminating = _terminating(sets)
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    old = deployment.get("status") or {}
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    enough = available >= replicas(deployment) - max_unavailable(deployment)
    judged = (
        condition(AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
        if enough
        else condition(AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", now)
    )
    status["conditions"] = with_condition(list(old.get("conditions") or ()), judged)
    return status


def _terminating(sets: Sequence[Obj]) -> int | None:
    """None where one of them does not tell."""
    found = 0
    for rs in sets:
        status = rs.get("status") or {}
        count = status.get("terminatingReplicas")
        if count is None and status.get("observedGeneration"):
            return None
        found += count or 0
    return found


def is_complete(deployment: Obj, status: Obj) -> bool:
    wanted = replicas(deployment)
    return bool(
        status.get("updatedReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
        and status.get("availableReplicas", 0) == wanted
        and status.get("observedGeneration", 0) >= meta.generation(deployment)
    )


def rollout(deployment: Obj, sets: Sequence[Obj], new: Obj | None, now: float) -> Obj:
    """The whole status while a rollout may be under way."""
    status = counts(deployment, sets, new, now)
    old = deployment.get("status") or {}
    current = conditions.find(old.get("conditions"), PROGRESSING)
    listed: list[Obj] = status["conditions"]
    if deadline(deployment) is None:
        listed = conditions.without(listed, PROGRESSING)
    elif not (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and current is not None
        and current.get("reason") == NEW_AVAILABLE
    ):
        listed = _progress(deployment, status, new, current, listed, now)
    failure = _failure(sets, new)
    if failure is not None:
        listed = with_condition(listed, failure)
    elif conditions.find(listed, REPLICA_FAILURE) is not None:
        listed = conditions.without(listed, REPLICA_FAILURE)
    status["conditions"] = listed
    return status


def _progress(deployment: Obj, status: Obj, new: Obj | None, current: Obj | None, listed: list[Obj], now: float) -> list[Obj]:
    who = f'ReplicaSet "{meta.name(new)}"' if new is not None else f'Deployment "{meta.name(deployment)}"'
    if is_complete(deployment, status):
        told = condition(PROGRESSING, "True", NEW_AVAILABLE, f"{who} has successfully progressed.", now)
        return with_condition(listed, told)
    if _moved(deployment.get("status") or {}, status):
        told = condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{who} is progressing.", now)
        if current is not None and current["status"] == "True":
            told["lastTransitionTime"] = current.get("lastTransitionTime")
        # Progress is news each time: the deadline counts from the last of it.
        return [*conditions.without(listed, PROGRESSING), told]
    if has_timed_out(deployment, listed, now):
        told = condition(PROGRESSING, "False", TIMED_OUT, f"{who} has timed out progressing.", now)
        return with_condition(listed, told)
    return listed


def _moved(old: Obj, new: Obj) -> bool:
    def outdated(status: Obj) -> int:
        count: int = status.get("replicas", 0) - status.get("updatedReplicas", 0)
        return count

    return (
        outdated(new) < outdated(old)
        or new.get("updatedReplicas", 0) > old.get("updatedReplicas", 0)
        or new.get("readyReplicas", 0) > old.get("readyReplicas", 0)
        or new.get("availableReplicas", 0) > old.get("availableReplicas", 0)
    )


def has_timed_out(deployment: Obj, listed: list[Obj], now: float) -> bool:
    told = conditions.find(listed, PROGRESSING)
    seconds = deadline(deployment)
    if told is None or seconds is None or told.get("reason") == NEW_AVAILABLE:
        return False
    if told.get("reason") == TIMED_OUT:
        return True
    since = told.get("lastUpdateTime")
    return since is not None and times.parse(since) + seconds < now


def _failure(sets: Sequence[Obj], new: Obj | None) -> Obj | None:
    """The newest set's trouble first."""
    for rs in (*((new,) if new is not None else ()), *sets):
        found = conditions.find((rs.get("status") or {}).get("conditions"), REPLICA_FAILURE)
        if found is not None:
            return {**found, "lastUpdateTime": found.get("lastTransitionTime")}
    return None


def next_check(deployment: Obj, status: Obj, now: float) -> float | None:
    """Seconds until the deadline may have passed without anything else happening."""
    seconds = deadline(deployment)
    told = conditions.find(status.get("conditions"), PROGRESSING)
    if seconds is None or told is None or told.get("reason") == TIMED_OUT or is_complete(deployment, status):
        return None
    since = told.get("lastUpdateTime")
    return max(0.0, times.parse(since) + seconds - now) + 1.0 if since else None
