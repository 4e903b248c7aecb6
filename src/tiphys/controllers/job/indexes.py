"""The indexes of an Indexed Job: which have succeeded or failed, which come next."""

from collections.abc import Iterable, Sequence

from tiphys.api.batch.indexes import interval
from tiphys.api.core.pods.deletion import deletion_order
from tiphys.controllers.job.pods import (
    FAILURES,
    IGNORED_FAILURES,
    completion_index,
    counts_as_failure,
    finished_at,
    has_failed,
    is_tracked,
    judge,
)
from tiphys.controllers.numbers import whole
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


def parse(text: str | None, completions: int) -> set[int]:
    """Parts that cannot be read, or that lie beyond the completions, are left out."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        try:
            low, high = interval(part, 2**31)
        except ValueError:
            continue
        found.update(range(low, min(high, completions - 1) + 1))
    return found


def spell(indexes: Iterable[int]) -> str:
    """`0,2-4`; two neighbours are written as two."""
    parts: list[str] = []
    run: list[int] = []
    for each in (*sorted(indexes), None):
        if run and each != run[-1] + 1:
            parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(number) for number in run]
            run = []
        if each is not None:
            run.append(each)
    return ",".join(parts)


def in_range(pod: Obj, completions: int) -> int | None:
    index = completion_index(pod)
    return index if index is not None and index < completions else None


def present(pods: Iterable[Obj]) -> set[int]:
    return {index for pod in pods if (index := completion_index(pod)) is not None}


def pending(taken: set[int], count: int, completions: int) -> list[int]:
    """The first `count` indexes that nothing is done about."""
    found: list[int] = []
    for index in range(completions):
        if len(found) == count:
            break
        if index not in taken:
            found.append(index)
    return found


def failed(job: Obj, pods: Iterable[Obj], completions: int) -> set[int]:
    """Indexes that have failed for good, of a Job with a limit for each."""
    limit = job["spec"]["backoffLimitPerIndex"]
    found = parse((job.get("status") or {}).get("failedIndexes"), completions)
    for pod in pods:
        index = in_range(pod, completions)
        if index is None or not is_tracked(pod) or not has_failed(pod, job):
            continue
        action, _ = judge(job, pod)
        if action == "FailIndex" or (action != "Ignore" and failures(pod) >= limit):
            found.add(index)
    return found


def failures(pod: Obj) -> int:
    return max(0, whole(meta.annotations(pod).get(FAILURES)) or 0)


def all_failures(pod: Obj) -> int:
    return failures(pod) + max(0, whole(meta.annotations(pod).get(IGNORED_FAILURES)) or 0)


def failures_of_next(job: Obj, before: Obj | None) -> dict[str, str]:
    """Annotations of the pod that takes the place of `before`."""
    if before is None:
        return {FAILURES: "0"}
    counted = counts_as_failure(job, before)
    ignored = all_failures(before) - failures(before) + (0 if counted else 1)
    found = {FAILURES: str(failures(before) + (1 if counted else 0))}
    return {**found, IGNORED_FAILURES: str(ignored)} if ignored else found


def awaiting_replacement(job: Obj, pods: Iterable[Obj], settled: set[int], completions: int) -> dict[int, Obj]:
    """The last failed pod of each index that goes on: it keeps its finalizer until its successor has its count."""
    found: dict[int, Obj] = {}
    for pod in pods:
        index = in_range(pod, completions)
        if index is None or index in settled or not is_tracked(pod) or not has_failed(pod, job):
            continue
        last = found.get(index)
        if last is None or (all_failures(last) <= all_failures(pod) and finished_at(pod) >= finished_at(last)):
            found[index] = pod
    return found


def superfluous(pods: Sequence[Obj], completions: int, now: float) -> tuple[list[Obj], list[Obj]]:
    """Of active pods: those of an index that another has too, or that is none; and the rest."""
    by_index: dict[int, list[Obj]] = {}
    surplus: list[Obj] = []
    for pod in pods:
        index = in_range(pod, completions)
        if index is None:
            surplus.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    left: list[Obj] = []
    for same in by_index.values():
        ordered = deletion_order(same, {}, now)
        surplus += ordered[:-1]
        left.append(ordered[-1])
    return surplus, left
