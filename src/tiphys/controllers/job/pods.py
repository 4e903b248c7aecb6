"""What a Job reads off its pods: whether they failed, when they ended, what its policies say of them."""

from collections.abc import Iterable, Sequence

from tiphys.api.core.pods import facts
from tiphys.controllers.numbers import whole
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, get

FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"

FIRST_BACK_OFF = 10.0
LONGEST_BACK_OFF = 600.0


def is_tracked(pod: Obj) -> bool:
    return FINALIZER in meta.finalizers(pod)


def completion_index(pod: Obj) -> int | None:
    number = whole(meta.annotations(pod).get(INDEX))
    return number if number is not None and number >= 0 else None


def replaces_failed_only(job: Obj) -> bool:
    spec = job["spec"]
    policy = spec.get("podReplacementPolicy")
    return bool(policy == "Failed" or (policy is None and spec.get("podFailurePolicy") is not None))


def has_failed(pod: Obj, job: Obj) -> bool:
    """Pods that are deleted count, unless the Job waits for what becomes of them."""
    if facts.phase(pod) == "Failed":
        return True
    return not replaces_failed_only(job) and meta.is_deleting(pod) and facts.phase(pod) != "Succeeded"


def finished_at(pod: Obj) -> float:
    ended = _containers_ended(pod)
    if ended is not None:
        return ended
    ready = facts.condition(pod, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return times.parse(ready["lastTransitionTime"])
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        grace: int = metadata.get("deletionGracePeriodSeconds") or 0
        return times.parse(metadata["deletionTimestamp"]) - grace
    made = metadata.get("creationTimestamp")
    return times.parse(made) if made else 0.0


def _containers_ended(pod: Obj) -> float | None:
    """When the last of them ended; None while one runs."""
    status = pod.get("status") or {}
    sidecars = {each["name"] for each in pod["spec"].get("initContainers") or () if each.get("restartPolicy") == "Always"}
    beside = [each for each in status.get("initContainerStatuses") or () if each.get("name") in sidecars]
    ends = [get(each, ("state", "terminated", "finishedAt")) for each in (*(status.get("containerStatuses") or ()), *beside)]
    return max(times.parse(each) for each in ends) if ends and all(ends) else None


def back_off(failures: int, last: float, now: float) -> float:
    """Seconds to wait before the next pod, after so many failures in a row."""
    if failures == 0:
        return 0.0
    delay: float = min(FIRST_BACK_OFF * 2 ** min(failures - 1, 10), LONGEST_BACK_OFF)
    return max(0.0, last + delay - now)


def back_off_of(job: Obj, pods: Sequence[Obj], now: float) -> float:
    """Failures since the last success count. They are read off the pods, so that a restart forgets nothing."""
    succeeded = max((finished_at(pod) for pod in pods if facts.phase(pod) == "Succeeded"), default=float("-inf"))
    failed = [ended for pod in pods if has_failed(pod, job) and (ended := finished_at(pod)) > succeeded]
    return back_off(len(failed), max(failed, default=0.0), now)


def restarts(pods: Iterable[Obj]) -> int:
    return sum(
        each.get("restartCount", 0)
        for pod in pods
        if facts.phase(pod) in ("Running", "Pending")
        for group in ("initContainerStatuses", "containerStatuses")
        for each in (pod.get("status") or {}).get(group) or ()
    )


def judge(job: Obj, pod: Obj) -> tuple[str, str]:
    """What the failure policy says of a failed pod: the action (empty: none), and the words where it fails the Job."""
    policy = job["spec"].get("podFailurePolicy") or {}
    for position, rule in enumerate(policy.get("rules") or ()):
        told = _matches(rule, pod)
        if told:
            return rule["action"], f"{told} matching {rule['action']} rule at index {position}"
    return "", ""


def counts_as_failure(job: Obj, pod: Obj) -> bool:
    return judge(job, pod)[0] != "Ignore"


def _matches(rule: Obj, pod: Obj) -> str:
    place = meta.key(pod)
    status = pod.get("status") or {}
    wanted = rule.get("onExitCodes")
    if wanted is not None:
        for group in ("containerStatuses", "initContainerStatuses"):
            for each in status.get(group) or ():
                code = get(each, ("state", "terminated", "exitCode"))
                named = wanted.get("containerName") in (None, each.get("name"))
                if code and named and (code in (wanted.get("values") or ())) == (wanted.get("operator") == "In"):
                    return f"Container {each['name']} for pod {place} failed with exit code {code}"
        return ""
    for found in status.get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if found.get("type") == pattern.get("type") and found.get("status") == pattern.get("status", "True"):
                return f"Pod {place} has condition {found['type']}"
    return ""
