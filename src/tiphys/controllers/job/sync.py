"""One turn of a Job while it is being worked out."""

from dataclasses import dataclass, field

from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.pods.deletion import deletion_order
from tiphys.controllers import conditions
from tiphys.controllers.job import indexes
from tiphys.controllers.job.pods import (
    FINALIZER,
    INDEX,
    back_off,
    back_off_of,
    counts_as_failure,
    finished_at,
    has_failed,
    is_tracked,
    judge,
    replaces_failed_only,
    restarts,
)
from tiphys.controllers.plan import NAMESPACE_TERMINATING, NOT_FOUND, Create, Delete, Note, Patch, Write
from tiphys.controllers.pods import is_terminating, pod_from
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

MOST_PODS = 500
MOST_UNCOUNTED = 500
FAILED, COMPLETE, SUSPENDED = "Failed", "Complete", "Suspended"
FAILURE_TARGET, SUCCESS_MET = "FailureTarget", "SuccessCriteriaMet"
_INDEX_VARIABLE = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
}


def job_condition(kind: str, status: str, reason: str, message: str, now: float) -> Obj:
    return {**conditions.condition(kind, status, reason, message, now), "lastProbeTime": times.rfc3339(now)}


def release(pod: Obj) -> Patch:
    """The pod is counted, or nobody counts it any more."""
    kept = [each for each in meta.finalizers(pod) if each != FINALIZER]
    patch = {"metadata": {"uid": meta.uid(pod), "resourceVersion": meta.resource_version(pod), "finalizers": kept or None}}
    return Patch(PODS, pod, patch, tolerate=NOT_FOUND)


@dataclass(slots=True)
class Sync:
    job: Obj
    pods: tuple[Obj, ...]
    now: float
    status: Obj = field(default_factory=dict)
    finished: Obj | None = None
    """The condition that ends the Job, as far as it is known."""
    writes: list[Write] = field(default_factory=list)
    """About pods, before the status."""
    notes: list[Note] = field(default_factory=list)
    again_in: float | None = None
    succeeded_indexes: set[int] = field(default_factory=set)
    failed_indexes: set[int] | None = None
    awaiting: dict[int, Obj] = field(default_factory=dict)
    active: int = 0
    terminating: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0

    @property
    def spec(self) -> Obj:
        found: Obj = self.job["spec"]
        return found

    @property
    def indexed(self) -> bool:
        return bool(self.spec.get("completionMode") == "Indexed")

    @property
    def completions(self) -> int:
        return self.spec.get("completions") or 0

    @property
    def suspended(self) -> bool:
        return bool(self.spec.get("suspend"))

    @property
    def live(self) -> list[Obj]:
        return [pod for pod in self.pods if facts.is_active(pod)]

    def count(self) -> None:
        """What is known before anything is decided."""
        old = self.job.get("status") or {}
        uncounted = old.get("uncountedTerminatedPods") or {}
        self.status = {**old, "conditions": list(old.get("conditions") or ())}
        live = self.live
        self.active, self.ready = len(live), sum(1 for pod in live if facts.is_ready(pod))
        self.terminating = sum(1 for pod in self.pods if is_terminating(pod))
        waiting = {*(uncounted.get("succeeded") or ()), *(uncounted.get("failed") or ())}
        new = [pod for pod in self.pods if is_tracked(pod) and meta.uid(pod) not in waiting and self._fits(pod)]
        self.succeeded = old.get("succeeded", 0) + len(uncounted.get("succeeded") or ())
        self.succeeded += sum(1 for pod in new if facts.phase(pod) == "Succeeded")
        self.failed = old.get("failed", 0) + len(uncounted.get("failed") or ())
        self.failed += sum(1 for pod in new if has_failed(pod, self.job) and counts_as_failure(self.job, pod))
        if "startTime" not in old and not self.suspended:
            self.status["startTime"] = times.rfc3339(self.now)

    def _fits(self, pod: Obj) -> bool:
        return not self.indexed or indexes.in_range(pod, self.completions) is not None

    # Is it over?

    def judge(self) -> None:
        self.finished = self._judged()
        if not self.indexed:
            return
        done = [pod for pod in self.pods if facts.phase(pod) == "Succeeded" and is_tracked(pod)]
        self.succeeded_indexes = indexes.parse(self.status.get("completedIndexes"), self.completions)
        self.succeeded_indexes |= {at for pod in done if (at := indexes.in_range(pod, self.completions)) is not None}
        self.succeeded = len(self.succeeded_indexes)
        if self.spec.get("backoffLimitPerIndex") is not None:
            self._judge_indexes()
        if self.finished is None:
            met = self._success_policy()
            if met:
                self.finished = job_condition(SUCCESS_MET, "True", "SuccessPolicy", met, self.now)

    def _judged(self) -> Obj | None:
        listed = self.status["conditions"]
        if conditions.is_true(listed, SUCCESS_MET):
            return conditions.find(listed, SUCCESS_MET)
        target = conditions.find(listed, FAILURE_TARGET)
        if target is not None and target["status"] == "True":
            return job_condition(FAILED, "True", target.get("reason", ""), target.get("message", ""), self.now)
        for pod in self.pods:
            if has_failed(pod, self.job):
                action, message = judge(self.job, pod)
                if action == "FailJob":
                    return self._failure("PodFailurePolicy", message)
        limit = self.spec.get("backoffLimit", 6)
        if self.failed > limit or self._restarted_too_often(limit):
            return self._failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        return self._deadline()

    def _failure(self, reason: str, message: str) -> Obj:
        return job_condition(FAILURE_TARGET, "True", reason, message, self.now)

    def _restarted_too_often(self, limit: int) -> bool:
        if self.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        count = restarts(self.pods)
        return count > 0 if limit == 0 else count >= limit

    def _deadline(self) -> Obj | None:
        seconds, started = self.spec.get("activeDeadlineSeconds"), (self.job.get("status") or {}).get("startTime")
        if seconds is None or self.suspended:
            return None
        left = times.parse(started) + seconds - self.now if started else float(seconds)
        if left <= 0:
            return self._failure("DeadlineExceeded", "Job was active longer than specified deadline")
        self.again_in = left
        return None

    def _judge_indexes(self) -> None:
        self.failed_indexes = indexes.failed(self.job, self.pods, self.completions)
        settled = self.succeeded_indexes | self.failed_indexes | indexes.present(self.live)
        self.awaiting = indexes.awaiting_replacement(self.job, self.pods, settled, self.completions)
        if self.finished is not None:
            return
        most, count = self.spec.get("maxFailedIndexes"), len(self.failed_indexes)
        if most is not None and count > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            self.finished = self._failure("MaxFailedIndexesExceeded", message)
        elif count and count + len(self.succeeded_indexes) >= self.completions:
            self.finished = self._failure("FailedIndexes", "Job has failed indexes")

    def _success_policy(self) -> str:
        for position, rule in enumerate((self.spec.get("successPolicy") or {}).get("rules") or ()):
            wanted, count = rule.get("succeededIndexes"), rule.get("succeededCount")
            required = indexes.parse(wanted, self.completions) if wanted is not None else None
            if required is not None and not required:
                continue
            have = len(self.succeeded_indexes & required) if required is not None else len(self.succeeded_indexes)
            if (required is not None and have == len(required)) or (count is not None and have >= count):
                return f"Matched rules at index {position}"
        return ""

    # Pods

    def manage(self) -> None:
        """End all pods of a Job that is over; else see to it that as many run as should."""
        live = self.live
        if self.finished is not None:
            self._delete(live, untrack=False)
            return
        if not meta.is_deleting(self.job):
            self._manage(live)
        enough = self.succeeded > 0 if self.spec.get("completions") is None else self.succeeded >= self.completions
        if enough and self.active == 0:
            message = "Reached expected number of succeeded pods"
            self.finished = job_condition(SUCCESS_MET, "True", "CompletionsReached", message, self.now)
        elif not meta.is_deleting(self.job):
            self._tell_suspended()

    def _manage(self, live: list[Obj]) -> None:
        if self.suspended:
            self._delete(live, untrack=True)
            return
        parallelism = self.spec.get("parallelism", 1)
        if self.spec.get("completions") is None:
            wanted = len(live) if self.succeeded > 0 else parallelism
        else:
            wanted = max(0, min(self.completions - self.succeeded, parallelism))
        surplus, rest = indexes.superfluous(live, self.completions, self.now) if self.indexed else ([], live)
        excess = len(live) - wanted - len(surplus)
        if excess > 0:
            surplus += deletion_order(rest, {}, self.now)[:excess]
        if surplus:
            self._delete(surplus[:MOST_PODS], untrack=True)
            return
        missing = wanted - len(live) - (self.terminating if replaces_failed_only(self.job) else 0)
        if missing > 0:
            self._create(min(missing, MOST_PODS), live)

    def _create(self, count: int, live: list[Obj]) -> None:
        if not self.indexed:
            self._wait_or(back_off_of(self.job, self.pods, self.now), [self._pod()] * count)
            return
        taken = self.succeeded_indexes | indexes.present(live) | (self.failed_indexes or set())
        if replaces_failed_only(self.job):
            taken |= indexes.present(pod for pod in self.pods if is_terminating(pod))
        chosen = indexes.pending(taken, count, self.completions)
        if self.failed_indexes is None:
            self._wait_or(back_off_of(self.job, self.pods, self.now), [self._pod(index) for index in chosen])
            return
        waits = {index: self._wait_of(index) for index in chosen}
        due = [index for index in chosen if not waits[index]]
        self._wait_or(0.0 if due else min(waits.values(), default=0.0), [self._pod(index) for index in due])

    def _wait_of(self, index: int) -> float:
        last = self.awaiting.get(index)
        return back_off(indexes.all_failures(last) + 1, finished_at(last), self.now) if last is not None else 0.0

    def _wait_or(self, seconds: float, pods: list[Obj]) -> None:
        if seconds > 0:
            self.again_in = min(self.again_in, seconds) if self.again_in is not None else seconds
            return
        self.active += len(pods)
        self.writes += [
            Create(
                PODS,
                pod,
                done=Note(self.job, "SuccessfulCreate", "Created pod: {name}"),
                failed=Note(self.job, "FailedCreate", "Error creating: {error}", "Warning"),
                tolerate=NAMESPACE_TERMINATING,
            )
            for pod in pods
        ]

    def _pod(self, index: int | None = None) -> Obj:
        made = pod_from(self.spec["template"], JOBS, self.job)
        metadata = made["metadata"]
        metadata["finalizers"] = [*(each for each in metadata.get("finalizers") or () if each != FINALIZER), FINALIZER]
        if index is None:
            return made
        suffix = f"-{index}-"
        metadata["generateName"] = f"{meta.name(self.job)[: 58 - len(suffix)]}{suffix}"
        metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: str(index)}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: str(index)}
        if self.failed_indexes is not None:
            metadata["annotations"] |= indexes.failures_of_next(self.job, self.awaiting.get(index))
        spec = dict(made["spec"])
        for group in ("initContainers", "containers"):
            if spec.get(group):
                spec[group] = [_with_index(each) for each in spec[group]]
        spec["hostname"] = f"{meta.name(self.job)}-{index}"
        return {**made, "spec": spec}

    def _delete(self, pods: list[Obj], *, untrack: bool) -> None:
        """`untrack`: nobody will count them."""
        if untrack:
            self.writes += [release(pod) for pod in pods if is_tracked(pod)]
        self.active -= len(pods)
        self.terminating += len(pods)
        self.ready -= sum(1 for pod in pods if facts.is_ready(pod))
        self.writes += [
            Delete(
                PODS,
                pod,
                done=Note(self.job, "SuccessfulDelete", f"Deleted pod: {meta.name(pod)}"),
                failed=Note(self.job, "FailedDelete", "Error deleting: {error}", "Warning"),
            )
            for pod in pods
        ]

    def _tell_suspended(self) -> None:
        listed: list[Obj] = self.status["conditions"]
        told = conditions.find(listed, SUSPENDED)
        if self.suspended and (told is None or told["status"] != "True"):
            new = job_condition(SUSPENDED, "True", "JobSuspended", "Job suspended", self.now)
            self.notes.append(Note(self.job, "Suspended", "Job suspended"))
            self.status.pop("startTime", None)
        elif not self.suspended and told is not None and told["status"] == "True":
            new = job_condition(SUSPENDED, "False", "JobResumed", "Job resumed", self.now)
            self.notes.append(Note(self.job, "Resumed", "Job resumed"))
            self.status["startTime"] = times.rfc3339(self.now)
        else:
            return
        self.status["conditions"] = [*conditions.without(listed, SUSPENDED), new]


def _with_index(container: Obj) -> Obj:
    env = container.get("env") or []
    if any(each.get("name") == _INDEX_VARIABLE["name"] for each in env):
        return container
    return {**container, "env": [*env, _INDEX_VARIABLE]}
