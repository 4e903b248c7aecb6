"""CronJob: start this Job whenever the clock says so."""

import re
from collections.abc import Iterable, Iterator
from functools import partial

from tiphys.api import pod_template
from tiphys.api.apps import workload
from tiphys.api.batch import job_spec, schedule
from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.machinery import duration, times
from tiphys.machinery.fields import FieldError, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero

CONCURRENCY = ("Allow", "Forbid", "Replace")
LONGEST_NAME = 52
"""The controller adds eleven characters for the time, and a Job's name fits in a label."""

NOT_IN_SCHEDULE = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
NOT_BOTH = "cannot use both timeZone field and TZ or CRON_TZ in schedule"

_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def default(cron_job: Obj) -> None:
    spec = cron_job.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    template.setdefault("metadata", {})
    job_spec.default_template(template.setdefault("spec", {}))
    cron_job.setdefault("status", {})


def prepare_create(cron_job: Obj) -> None:
    cron_job["status"] = {}
    pod_template.prepare(cron_job["spec"]["jobTemplate"]["spec"]["template"])


def prepare_update(new: Obj, old: Obj) -> None:
    before = get(old, ("spec", "jobTemplate", "spec", "template"))
    pod_template.prepare(new["spec"]["jobTemplate"]["spec"]["template"], before)


def validate_create(cron_job: Obj) -> Iterator[FieldError]:
    name = cron_job["metadata"].get("name", "")
    yield from _validate(cron_job["spec"], None)
    if len(name) > LONGEST_NAME:
        yield invalid("metadata.name", name, "must be no more than 52 characters")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate(new["spec"], old["spec"])


def _validate(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    zone = spec.get("timeZone")
    yield from _validate_schedule(spec.get("schedule", ""), zone, (before or {}).get("schedule", ""))
    yield from at_least_zero(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    if before is None or zone != before.get("timeZone"):
        yield from _validate_time_zone(zone)
    if spec["concurrencyPolicy"] not in CONCURRENCY:
        yield not_supported("spec.concurrencyPolicy", spec["concurrencyPolicy"], CONCURRENCY)
    yield from _validate_template(spec["jobTemplate"]["spec"], get(before or {}, ("jobTemplate", "spec")))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from at_least_zero(spec.get(name), f"spec.{name}")


def _validate_schedule(line: str, zone: str | None, before: str) -> Iterator[FieldError]:
    """A line with a zone in it may stay where it is already."""
    at = "spec.schedule"
    if not line:
        yield required(at)
        return
    try:
        schedule.parse(line)
    except ValueError as problem:
        yield invalid(at, line, str(problem))
    if "TZ" in line:
        if "TZ" not in before:
            yield invalid(at, line, NOT_IN_SCHEDULE)
        elif zone is not None:
            yield invalid(at, line, NOT_BOTH)


def _validate_template(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    at = "spec.jobTemplate.spec"
    yield from job_spec.validate(spec, at, before)
    if spec.get("selector") is not None:
        yield invalid(f"{at}.selector", told(spec["selector"], "Selector"), "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield not_supported(f"{at}.manualSelector", True, ("nil", "false"))


def _validate_time_zone(zone: str | None) -> Iterator[FieldError]:
    at = "spec.timeZone"
    if zone is None:
        return
    if not zone:
        yield invalid(at, zone, "timeZone must be nil or non-empty string")
        return
    if not all(_is_zone_part(part) for part in zone.split("/")):
        yield invalid(at, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        told = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(at, zone, told)
    try:
        schedule.load_zone(zone)
    except ValueError as problem:
        yield invalid(at, zone, str(problem))


def _is_zone_part(part: str) -> bool:
    return part not in (".", "..") and not part.startswith("-") and _ZONE_PART.fullmatch(part) is not None


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    if old is None:
        yield from workload.name_warnings(new)
    if old is None or new["spec"] != old["spec"]:
        yield from job_spec.warnings(new["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    if old is not None and "TZ" in new["spec"].get("schedule", ""):
        yield (
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )


def _last_schedule(cron_job: Obj, now: float) -> str:
    last = get(cron_job, ("status", "lastScheduleTime"))
    return "<none>" if last is None else duration.human(now - times.parse(last))


def _suspend(cron_job: Obj, _now: float) -> str:
    suspend = get(cron_job, ("spec", "suspend"))
    return "<unset>" if suspend is None else str(suspend)


def _joined(field: str, cron_job: Obj, _now: float) -> str:
    containers = get(cron_job, ("spec", "jobTemplate", "spec", "template", "spec", "containers"))
    return ",".join(container.get(field, "") for container in containers or ())


CRONJOBS = Kind(
    group="batch",
    version="v1",
    kind="CronJob",
    plural="cronjobs",
    singular="cronjob",
    short=("cj",),
    categories=("all",),
    schema="io.k8s.api.batch.v1.CronJob",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=validate_create,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=SPEC),
    columns=(
        Column("Schedule", lambda each, _now: get(each, ("spec", "schedule"), "")),
        Column("Timezone", lambda each, _now: get(each, ("spec", "timeZone"), "<none>")),
        Column("Suspend", _suspend, type="boolean"),
        Column("Active", lambda each, _now: len(get(each, ("status", "active"), ())), type="integer"),
        Column("Last Schedule", _last_schedule),
        AGE,
        Column("Containers", partial(_joined, "name"), description="Names of each container in the template.", wide=True),
        Column(
            "Images", partial(_joined, "image"), description="Images referenced by each container in the template.", wide=True
        ),
        workload.selector_column("spec.jobTemplate.spec.selector"),
    ),
)
