"""CronJob controller: a Job for each time that the schedule names, as far as the one before allows it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.api.batch.schedule import load_zone, next_after
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, own, owned
from tiphys.controllers.plan import Create, Delete, Emit, Note, Plan, Write, set_status
from tiphys.controllers.pods import reference_to
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MANY_MISSED = 100
_LATER = 0.1
"""After a scheduled second has begun, so that it has surely passed."""


@dataclass(frozen=True, slots=True)
class World:
    cron: Obj
    jobs: tuple[Obj, ...]
    now: float


@dataclass(frozen=True, slots=True)
class Due:
    at: float | None
    """The latest time that is due and not yet served."""
    missed: int = 0
    again_in: float | None = None
    """Seconds until the next one."""


class CronJobController(Base):
    name = "cronjob-controller"
    component = "cronjob-controller"
    watches = (own(CRONJOBS), owned(JOBS, CRONJOBS, adopts=False))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        cron = caches[CRONJOBS].get(key)
        return World(cron, tuple(caches[JOBS].owned_by(cron)), now) if cron is not None else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        cron = world.cron
        due, problem = _considered(cron, world.now)
        replaced = _replaced(world, due)
        status, writes = _follow(world, replaced)
        writes += _clean_up(cron, world.jobs)
        if status != (cron.get("status") or {}):
            # The next turn goes on with the version that knows what runs.
            return Plan((*writes, set_status(CRONJOBS, cron, status)))
        if _is_halted(cron):
            return Plan(tuple(writes))
        if problem:
            return Plan((*writes, Emit(Note(cron, "UnparseableSchedule", problem, "Warning"))))
        return Plan((*writes, *_start(world, due, replaced)), again_in=due.again_in)


def _is_halted(cron: Obj) -> bool:
    return meta.is_deleting(cron) or bool(cron["spec"].get("suspend"))


def _end(job: Obj) -> str:
    """Complete, Failed, or empty while it runs."""
    listed = (job.get("status") or {}).get("conditions")
    return next((kind for kind in ("Complete", "Failed") if conditions.is_true(listed, kind)), "")


def _follow(world: World, replaced: Sequence[Obj]) -> tuple[Obj, list[Write]]:
    """The status that its Jobs call for. Those that are about to be replaced are forgotten before they are deleted: whoever is
    told of and then gone would be missed."""
    cron = world.cron
    status = dict(cron.get("status") or {})
    active: list[Obj] = list(status.get("active") or ())
    notes: list[Note] = []
    known = {each["uid"] for each in active}
    forgotten = {meta.uid(job) for job in replaced}
    for job in world.jobs:
        uid, end = meta.uid(job), _end(job)
        at = meta.annotations(job).get(SCHEDULED)
        if uid in forgotten:
            active = [each for each in active if each["uid"] != uid]
        elif not end and uid not in known:
            active.append(_reference(job))
            if at is None:
                told = f"Saw a job that the controller did not create or forgot: {meta.name(job)}"
                notes.append(Note(cron, "UnexpectedJob", told, "Warning"))
        elif end and uid in known:
            active = [each for each in active if each["uid"] != uid]
            notes.append(Note(cron, "SawCompletedJob", f"Saw completed job: {meta.name(job)}, condition: {end}"))
        if at is not None and times.parse(at) > _time(status.get("lastScheduleTime")):
            status["lastScheduleTime"] = times.rfc3339(times.parse(at))
        done = (job.get("status") or {}).get("completionTime")
        if end == "Complete" and done and times.parse(done) > _time(status.get("lastSuccessfulTime")):
            status["lastSuccessfulTime"] = done
    present = {meta.uid(job) for job in world.jobs}
    gone = [each["name"] for each in active if each["uid"] not in present]
    notes += [Note(cron, "MissingJob", f"Active job went missing: {name}") for name in gone]
    status["active"] = [each for each in active if each["uid"] in present]
    if not status["active"]:
        del status["active"]
    return status, [Emit(note) for note in notes]


def _time(text: str | None) -> float:
    return times.parse(text) if text else float("-inf")


def _reference(job: Obj) -> Obj:
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": meta.name(job),
        "namespace": meta.namespace(job),
        "uid": meta.uid(job),
        "resourceVersion": meta.resource_version(job),
    }


def _clean_up(cron: Obj, jobs: Sequence[Obj]) -> list[Write]:
    """Of those that are over, the oldest beyond the limits go."""
    writes: list[Write] = []
    for end, limit in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
        most = cron["spec"].get(limit)
        over = sorted((job for job in jobs if _end(job) == end), key=_started)
        if most is not None:
            writes += [_delete(cron, job) for job in over[: max(0, len(over) - most)] if not meta.is_deleting(job)]
    return writes


def _started(job: Obj) -> tuple[bool, str, str]:
    at = (job.get("status") or {}).get("startTime") or ""
    return not at, at, meta.name(job)


def _delete(cron: Obj, job: Obj) -> Delete:
    return Delete(
        JOBS,
        job,
        "Background",
        done=Note(cron, "SuccessfulDelete", f"Deleted job {meta.name(job)}"),
        failed=Note(cron, "FailedDelete", "Deleted job: {error}", "Warning"),
    )


def _replaced(world: World, due: Due) -> list[Obj]:
    """The Jobs that run and make room for the one that is due."""
    cron = world.cron
    if due.at is None or _is_halted(cron) or cron["spec"].get("concurrencyPolicy") != "Replace":
        return []
    name = _name(cron, due.at)
    if any(meta.name(job) == name for job in world.jobs):
        return []
    return [job for job in world.jobs if not _end(job)]


def _start(world: World, due: Due, replaced: Sequence[Obj]) -> list[Write]:
    cron = world.cron
    if due.at is None:
        return []
    writes: list[Write] = []
    if due.missed > MANY_MISSED:
        told = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        writes.append(Emit(Note(cron, "TooManyMissedTimes", told, "Warning")))
    name = _name(cron, due.at)
    if any(meta.name(job) == name for job in world.jobs):
        return writes
    if cron["spec"].get("concurrencyPolicy") == "Forbid" and any(not _end(job) for job in world.jobs):
        told = "Not starting job because prior execution is running and concurrency policy is Forbid"
        return [*writes, Emit(Note(cron, "JobAlreadyActive", told))]
    writes += [_delete(cron, job) for job in replaced]
    writes.append(
        Create(
            JOBS,
            _job(cron, name, due.at),
            done=Note(cron, "SuccessfulCreate", "Created job {name}"),
            failed=Note(cron, "FailedCreate", "Error creating job: {error}", "Warning"),
        )
    )
    return writes


def _name(cron: Obj, at: float) -> str:
    """Of the Job of that time."""
    return f"{meta.name(cron)}-{int(at // 60)}"


def _next(cron: Obj, after: float) -> float | None:
    return next_after(cron["spec"]["schedule"], cron["spec"].get("timeZone"), after)


def _considered(cron: Obj, now: float) -> tuple[Due, str]:
    """What is due; or why nobody can say."""
    try:
        following = _next(cron, now)
        return replace(_due(cron, now), again_in=following + _LATER - now if following is not None else None), ""
    except (ValueError, OverflowError) as problem:
        return Due(None), f'unparseable schedule: "{cron["spec"]["schedule"]}" : {problem}'


def _due(cron: Obj, now: float) -> Due:
    """Since the last time that was served, or as far back as the deadline reaches."""
    last = (cron.get("status") or {}).get("lastScheduleTime") or cron["metadata"]["creationTimestamp"]
    earliest = times.parse(last)
    deadline = cron["spec"].get("startingDeadlineSeconds")
    if deadline is not None:
        earliest = max(earliest, now - deadline)
    first = _next(cron, earliest)
    if first is None or now < first:
        return Due(None)
    second = _next(cron, first)
    if second is None or now < second:
        return Due(first)
    # Steps may differ (months, summer time): estimate, then walk the last of them.
    step = max(1.0, second - first)
    missed = int((now - first) // step) + 1
    latest = _next(cron, first + (missed - 2) * step) or first
    while (following := _next(cron, latest)) is not None and following <= now:
        latest = following
    return Due(latest if latest <= now else None, missed)


def _job(cron: Obj, name: str, at: float) -> Obj:
    template = cron["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    zone = cron["spec"].get("timeZone")
    moment = datetime.fromtimestamp(at, load_zone(zone) if zone else UTC)
    stamp = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    metadata: Obj = {
        "name": name,
        "namespace": meta.namespace(cron),
        "annotations": {**(given.get("annotations") or {}), SCHEDULED: stamp},
        "ownerReferences": [reference_to(CRONJOBS, cron)],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}
