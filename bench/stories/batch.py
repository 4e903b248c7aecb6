"""Jobs and CronJobs."""

from collections.abc import AsyncIterator

from bench.stories.play import Play, Story
from bench.stories.shapes import job
from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.pods import PODS

Told = AsyncIterator[float | None]
INDEXED = {"completionMode": "Indexed", "completions": 4, "parallelism": 4}


async def job_that_succeeds(play: Play) -> Told:
    await play.create(JOBS, "all", spec=job(completions=3, parallelism=2))
    await play.create(JOBS, "queue", spec=job(parallelism=2))
    await play.create(JOBS, "brief", spec=job(ttlSecondsAfterFinished=2))
    await play.create(JOBS, "indexed", spec=job(**INDEXED))
    await play.create(JOBS, "foreign", spec=job(managedBy="example.com/other"))
    yield None
    await play.create(JOBS, "shrinks", spec=job("", parallelism=3, completions=9))
    yield None
    await play.patch(JOBS, "shrinks", {"spec": {"parallelism": 1}})
    yield None
    await play.delete(JOBS, "queue", "Orphan")


async def job_that_fails(play: Play) -> Told:
    await play.create(JOBS, "twice", spec=job("fail", backoffLimit=1))
    await play.create(JOBS, "never", spec=job("fail", backoffLimit=0))
    await play.create(JOBS, "late", spec=job("wait", activeDeadlineSeconds=3))
    await play.create(JOBS, "slow", spec=job("", activeDeadlineSeconds=4, parallelism=2))
    yield 14
    codes = {"operator": "In", "values": [42]}
    rules = [{"action": "FailJob", "onExitCodes": codes}, {"action": "Ignore", "onExitCodes": {**codes, "values": [7]}}]
    fails = {"podFailurePolicy": {"rules": rules}, "backoffLimit": 2}
    await play.create(JOBS, "policy", spec=job("fail", {"exit-code": "42"}, **fails))
    await play.create(JOBS, "replaced", spec=job("fail", backoffLimit=1, podReplacementPolicy="Failed"))
    yield 14


async def job_of_indexes(play: Play) -> Told:
    failing = {"fail-indexes": "1"}
    await play.create(JOBS, "each", spec=job("", failing, **INDEXED, backoffLimitPerIndex=0))
    await play.create(
        JOBS, "most", spec=job("", {"fail-indexes": "2,3"}, **INDEXED, backoffLimitPerIndex=0, maxFailedIndexes=1)
    )
    await play.create(JOBS, "again", spec=job("", failing, **INDEXED, backoffLimitPerIndex=1))
    rules = [{"succeededIndexes": "0,2-3", "succeededCount": 3}]
    await play.create(JOBS, "enough", spec=job("", failing, **INDEXED, backoffLimitPerIndex=0, successPolicy={"rules": rules}))
    codes = {"operator": "In", "values": [9]}
    index_rule = {"rules": [{"action": "FailIndex", "onExitCodes": codes}]}
    limits = {**INDEXED, "backoffLimitPerIndex": 3, "podFailurePolicy": index_rule}
    await play.create(JOBS, "index", spec=job("", {**failing, "exit-code": "9"}, **limits))
    yield 14
    await play.create(JOBS, "elastic", spec=job("", **INDEXED))
    yield None
    await play.patch(JOBS, "elastic", {"spec": {"completions": 2, "parallelism": 2}})


async def job_that_is_suspended(play: Play) -> Told:
    await play.create(JOBS, "later", spec=job("", suspend=True, parallelism=2))
    yield None
    await play.patch(JOBS, "later", {"spec": {"suspend": False}})
    yield None
    await play.patch(JOBS, "later", {"spec": {"suspend": True}})
    yield None
    await play.create(JOBS, "dropped", spec=job("", parallelism=2))
    yield None
    pod = next(each for each in await play.pods() if each["metadata"]["labels"].get("job-name") == "dropped")
    await play.delete(PODS, pod["metadata"]["name"])
    yield None
    await play.delete(JOBS, "dropped", "Foreground")


async def cron_job(play: Play) -> Told:
    made = {"schedule": "* * * * *", "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": job("")}}
    await play.create(CRONJOBS, "forbid", spec={**made, "concurrencyPolicy": "Forbid", "timeZone": "Etc/UTC"})
    await play.create(CRONJOBS, "asleep", spec={**made, "suspend": True})
    await play.create(CRONJOBS, "rarely", spec={**made, "schedule": "0 0 1 1 *", "startingDeadlineSeconds": 10})
    yield 62
    await play.patch(CRONJOBS, "forbid", {"spec": {"suspend": True}})
    yield None


async def cron_job_that_overlaps(play: Play) -> Told:
    """Two minutes: what runs from the first one is there, forbidden or replaced in the second."""
    made = {"schedule": "* * * * *", "jobTemplate": {"spec": job("")}}
    for policy in ("Allow", "Forbid", "Replace"):
        await play.create(CRONJOBS, policy.lower(), spec={**made, "concurrencyPolicy": policy})
    brief = {**made, "jobTemplate": {"spec": job()}, "successfulJobsHistoryLimit": 0}
    await play.create(CRONJOBS, "forgotten", spec=brief)
    yield 62
    await play.create(CRONJOBS, "gone", spec=made)
    yield 62
    for policy in ("allow", "forbid", "replace", "forgotten"):
        await play.patch(CRONJOBS, policy, {"spec": {"suspend": True}})
    await play.delete(CRONJOBS, "gone", "Foreground")


STORIES: tuple[Story, ...] = (
    job_that_succeeds,
    job_that_fails,
    job_of_indexes,
    job_that_is_suspended,
    cron_job,
    cron_job_that_overlaps,
)
