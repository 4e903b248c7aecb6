"""Counting pods that have ended, each exactly once, and the end of the Job when all are counted."""

from tiphys.api.core.pods import facts
from tiphys.controllers import conditions
from tiphys.controllers.job import indexes
from tiphys.controllers.job.pods import counts_as_failure, has_failed, is_tracked
from tiphys.controllers.job.sync import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    MOST_UNCOUNTED,
    SUCCESS_MET,
    Sync,
    job_condition,
    release,
)
from tiphys.controllers.plan import Note, Patch, Write
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


def track(sync: Sync) -> list[Write]:
    """Brings the status up to date; returns what must be written after it."""
    status = sync.status
    tracked = {meta.uid(pod) for pod in sync.pods if is_tracked(pod)}
    waiting = status.get("uncountedTerminatedPods") or {}
    succeeded = [uid for uid in waiting.get("succeeded") or () if uid in tracked]
    failed = [uid for uid in waiting.get("failed") or () if uid in tracked]
    counted = len(waiting.get("succeeded") or ()) - len(succeeded)
    _set(status, "succeeded", status.get("succeeded", 0) + counted)
    _set(status, "failed", status.get("failed", 0) + len(waiting.get("failed") or ()) - len(failed))
    after = _collect(sync, succeeded, failed)
    if sync.indexed:
        _set(status, "succeeded", len(sync.succeeded_indexes))
        _set(status, "completedIndexes", indexes.spell(sync.succeeded_indexes))
        if sync.failed_indexes is not None:
            status["failedIndexes"] = indexes.spell(sync.failed_indexes)
    status["uncountedTerminatedPods"] = {
        **({"succeeded": succeeded} if succeeded else {}),
        **({"failed": failed} if failed else {}),
    }
    _set(status, "active", sync.active)
    status["ready"], status["terminating"] = sync.ready, sync.terminating
    _conclude(sync, not succeeded and not failed and not after and sync.terminating == 0)
    if not status["conditions"]:
        del status["conditions"]
    return after


def _set(status: Obj, name: str, value: int | str) -> None:
    if value:
        status[name] = value
    else:
        status.pop(name, None)


def _collect(sync: Sync, succeeded: list[str], failed: list[str]) -> list[Write]:
    """Pods that have ended go on the list; then their finalizers may go."""
    after: list[Write] = []
    before = len(sync.succeeded_indexes)
    over_badly = sync.finished is not None and sync.finished["type"] != SUCCESS_MET
    # Released by this very plan, with their deletion.
    released = {meta.uid(write.obj) for write in sync.writes if isinstance(write, Patch)}
    for pod in sorted(sync.pods, key=lambda pod: indexes.in_range(pod, sync.completions) or 0) if sync.indexed else sync.pods:
        if len(after) + len(succeeded) + len(failed) - before >= MOST_UNCOUNTED:
            break
        uid, bad = meta.uid(pod), has_failed(pod, sync.job)
        if not is_tracked(pod) or uid in released or not _may_go(sync, pod, bad):
            continue
        after.append(release(pod))
        if facts.phase(pod) == "Succeeded" and uid not in failed:
            if not sync.indexed and uid not in succeeded:
                succeeded.append(uid)
        elif (bad or over_badly) and uid not in failed and _counts(sync, pod):
            failed.append(uid)
    return after


def _counts(sync: Sync, pod: Obj) -> bool:
    if sync.indexed and indexes.in_range(pod, sync.completions) is None:
        return False
    return counts_as_failure(sync.job, pod)


def _may_go(sync: Sync, pod: Obj, bad: bool) -> bool:
    if meta.is_deleting(sync.job) or sync.finished is not None or facts.phase(pod) == "Succeeded":
        return True
    return bad and all(meta.uid(each) != meta.uid(pod) for each in sync.awaiting.values())


def _conclude(sync: Sync, all_counted: bool) -> None:
    """First it is told where this leads (while pods are still on their way out), then that it is over."""
    end, status = sync.finished, sync.status
    if end is None:
        return
    listed: list[Obj] = status["conditions"]
    if end["type"] in (FAILURE_TARGET, SUCCESS_MET) and conditions.find(listed, end["type"]) is None:
        listed = [*listed, end]
    kind = COMPLETE if end["type"] == SUCCESS_MET else FAILED
    if all_counted:
        told = job_condition(kind, "True", end.get("reason", ""), end.get("message", ""), sync.now)
        listed = [*conditions.without(listed, kind), told]
        if kind == COMPLETE:
            status["completionTime"] = told["lastTransitionTime"]
            sync.notes.append(Note(sync.job, "Completed", "Job completed"))
        else:
            sync.notes.append(Note(sync.job, end.get("reason", ""), end.get("message", ""), "Warning"))
    status["conditions"] = listed
