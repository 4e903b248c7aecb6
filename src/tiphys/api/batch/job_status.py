"""What the status of a Job may say. Other controllers than ours may write it (spec.managedBy), so its history is checked.

Most rules are asked only when the write touches what they speak of: a spec may make a correct status wrong for a moment.
"""

from collections.abc import Iterable, Iterator

from tiphys.api.batch import indexes
from tiphys.api.batch.job_spec import is_indexed
from tiphys.api.pod_template.internal import told
from tiphys.machinery import times
from tiphys.machinery.fields import OMIT, FieldError, child, duplicate, index, invalid, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero

CONDITIONS = "status.conditions"


def is_true(conditions: Iterable[Obj] | None, kind: str) -> bool:
    return _is(conditions, kind, "True")


def _is(conditions: Iterable[Obj] | None, kind: str, status: str) -> bool:
    return any(each.get("type") == kind and each.get("status") == status for each in conditions or ())


class _View:
    """A Job and which of its conditions hold."""

    def __init__(self, job: Obj) -> None:
        self.spec: Obj = job["spec"]
        self.status: Obj = job.get("status") or {}
        self.conditions = self.status.get("conditions")
        self.complete = is_true(self.conditions, "Complete")
        self.failed = is_true(self.conditions, "Failed")
        self.finished = self.complete or self.failed
        self.failure_target = is_true(self.conditions, "FailureTarget")
        self.success_met = is_true(self.conditions, "SuccessCriteriaMet")
        self.completions: int | None = self.spec.get("completions")


def validate(new: Obj, old: Obj) -> Iterator[FieldError]:
    now, before = _View(new), _View(old)

    def changed(*names: str) -> bool:
        return any(now.status.get(name) != before.status.get(name) for name in names)

    finished_changed = now.finished != before.finished
    yield from _validate_numbers(now.status)
    yield from _validate_exclusive(now, before)
    yield from _validate_completion(now, before)
    yield from _validate_preconditions(now, before)
    if now.finished:
        asked = {name for name in ("active", "startTime", "uncountedTerminatedPods") if finished_changed or changed(name)}
        yield from _validate_finished(now, asked)
    yield from _validate_indexes(now, changed("completedIndexes"), changed("failedIndexes"))
    terminating, ready = now.status.get("terminating", 0), now.status.get("ready")
    if now.finished and (finished_changed or changed("terminating")) and terminating > 0:
        yield invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
    if changed("ready", "active") and ready is not None and ready > now.status.get("active", 0):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")
    yield from _validate_success(now)
    yield from _validate_history(now, before)


def _validate_numbers(status: Obj) -> Iterator[FieldError]:
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        yield from at_least_zero(status.get(name), child("status", name))
    uncounted, seen = status.get("uncountedTerminatedPods") or {}, set()
    for group in ("succeeded", "failed"):
        for position, uid in enumerate(uncounted.get(group) or ()):
            at = index(child("status.uncountedTerminatedPods", group), position)
            if not uid:
                yield invalid(at, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(at, uid)
            seen.add(uid)


def _validate_exclusive(now: _View, before: _View) -> Iterator[FieldError]:
    complete_changed = now.complete != before.complete
    if (complete_changed or now.failed != before.failed) and now.complete and now.failed:
        yield invalid(CONDITIONS, OMIT, "cannot set Complete=True and Failed=true conditions")
    if (complete_changed or now.failure_target != before.failure_target) and now.complete and now.failure_target:
        yield invalid(CONDITIONS, OMIT, "cannot set Complete=True and FailureTarget=true conditions")


def _validate_completion(now: _View, before: _View) -> Iterator[FieldError]:
    started, ended = now.status.get("startTime"), now.status.get("completionTime")
    start_changed = started != before.status.get("startTime")
    end_changed = ended != before.status.get("completionTime")
    if now.complete != before.complete or end_changed:
        if ended is not None and not now.complete:
            yield invalid("status.completionTime", ended, "cannot set completionTime when there is no Complete=True condition")
        if ended is None and now.complete:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    if (start_changed or end_changed) and started and ended and times.parse(ended) < times.parse(started):
        yield invalid("status.completionTime", ended, "must be equal to or after `startTime`")


def _validate_preconditions(now: _View, before: _View) -> Iterator[FieldError]:
    indexes_changed = now.status.get("failedIndexes") != before.status.get("failedIndexes")
    if (now.failed != before.failed or indexes_changed) and now.failed and not now.failure_target:
        yield invalid(CONDITIONS, OMIT, "cannot set Failed=True condition without the FailureTarget=true condition")
    changed = now.complete != before.complete or now.success_met != before.success_met
    if changed and now.complete and not now.success_met:
        yield invalid(CONDITIONS, OMIT, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")


def _validate_finished(now: _View, asked: set[str]) -> Iterator[FieldError]:
    status = now.status
    if "active" in asked and status.get("active", 0) > 0:
        yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
    suspended_for_nothing = now.spec.get("suspend") is True and now.completions == 0
    if "startTime" in asked and not suspended_for_nothing and status.get("startTime") is None:
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if "uncountedTerminatedPods" in asked and (uncounted.get("failed") or uncounted.get("succeeded")):
        shown = told(uncounted, "UncountedTerminatedPods")
        yield invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")


def _validate_indexes(now: _View, completed_changed: bool, failed_changed: bool) -> Iterator[FieldError]:
    completed, failed = now.status.get("completedIndexes", ""), now.status.get("failedIndexes")
    per_index = now.spec.get("backoffLimitPerIndex") is not None
    if completed_changed and now.completions is not None:
        yield from _validate_format("completedIndexes", completed, now.completions)
    if failed_changed and now.completions is not None and per_index and failed is not None:
        yield from _validate_format("failedIndexes", failed, now.completions)
    if completed_changed and completed and not is_indexed(now.spec):
        problem = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, problem)
    if failed_changed and not per_index and failed is not None:
        yield invalid("status.failedIndexes", failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
    if (completed_changed or failed_changed) and now.completions is not None and failed is not None:
        overlap = indexes.first_overlap(completed, failed, now.completions)
        if overlap is not None:
            yield invalid("status.failedIndexes", failed, f"failedIndexes and completedIndexes overlap at index: {overlap}")


def _validate_format(name: str, text: str, completions: int) -> Iterator[FieldError]:
    try:
        indexes.count(text, completions)
    except ValueError as problem:
        yield invalid(child("status", name), text, f"error parsing {name}: {problem}")


def _validate_success(now: _View) -> Iterator[FieldError]:
    if now.success_met and now.failed:
        yield invalid(CONDITIONS, OMIT, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if now.success_met and now.failure_target:
        yield invalid(CONDITIONS, OMIT, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if now.spec.get("successPolicy") is not None and now.complete and not now.success_met:
        problem = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        yield invalid(CONDITIONS, OMIT, problem)


def _validate_history(now: _View, before: _View) -> Iterator[FieldError]:
    for kind in ("Failed", "Complete", "FailureTarget"):
        if is_true(before.conditions, kind) and not is_true(now.conditions, kind):
            yield invalid(CONDITIONS, OMIT, f"cannot disable the terminal {kind}=True condition")
    scales = is_indexed(now.spec) and now.completions == now.spec.get("parallelism")
    for name, may_fall in (("failed", False), ("succeeded", scales)):
        count = now.status.get(name, 0)
        if not may_fall and count < before.status.get(name, 0):
            yield invalid(child("status", name), count, f"cannot decrease the {name} counter")
    ended, had_ended = now.status.get("completionTime"), before.status.get("completionTime")
    if ended is not None and had_ended is not None and ended != had_ended:
        yield invalid("status.completionTime", ended, "field is immutable")
    started, had_started = now.status.get("startTime"), before.status.get("startTime")
    resuming = is_true(before.conditions, "Suspended") and _is(now.conditions, "Suspended", "False")
    if had_started is not None and started != had_started and not resuming and not get(now.spec, ("suspend",), False):
        yield invalid("status.startTime", started, "field is immutable for unsuspended job once set")
    if before.success_met and not now.success_met:
        yield invalid(CONDITIONS, OMIT, "cannot disable the SuccessCriteriaMet=True condition")
    if before.complete and not before.success_met and now.success_met:
        problem = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield invalid(CONDITIONS, OMIT, problem)
