"""CronJobs over simulated hours. v1.36.4 pkg/controller/cronjob/cronjob_controllerv2.go."""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate
from tests.virtual_loop import START

from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.events import EVENTS
from tiphys.api.core.pods import PODS
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def cron(**spec: Any) -> Obj:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}
    metadata = {"name": "c", "namespace": "default"}
    job = {"metadata": {"labels": {"of": "c"}}, "spec": {"template": {"spec": pod}}}
    whole = {"schedule": "*/10 * * * *", "jobTemplate": job, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": whole}


async def finish(cluster: Cluster) -> None:
    for pod in await cluster.list(PODS):
        await cluster.patch(PODS, meta.key(pod), {"status": {"phase": "Succeeded"}}, "status")


def test_a_job_a_time_and_only_the_last_are_kept():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(CRONJOBS, cron(successfulJobsHistoryLimit=2))
        for _ in range(4):
            await cluster.settle(600)
            await finish(cluster)
        await cluster.settle(30)
        # The simulation begins at 08:00; the first time that is due is 08:10.
        names = [f"c-{int(START // 60) + 10 * number}" for number in (3, 4)]
        jobs = await cluster.list(JOBS)
        assert sorted(meta.name(job) for job in jobs) == names
        assert meta.annotations(jobs[0])["batch.kubernetes.io/cronjob-scheduled-timestamp"].startswith("2027-01-15T08:")
        status = (await cluster.get(CRONJOBS, "default/c"))["status"]
        assert status["lastScheduleTime"] == "2027-01-15T08:40:00Z"
        assert "active" not in status
        assert status["lastSuccessfulTime"]

    simulate(scenario, every)


@pytest.mark.parametrize(("policy", "count"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_what_happens_while_the_last_one_runs(policy: str, count: int):
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(CRONJOBS, cron(concurrencyPolicy=policy))
        await cluster.settle(1810)
        jobs = await cluster.list(JOBS)
        assert len(jobs) == count
        status = (await cluster.get(CRONJOBS, "default/c"))["status"]
        assert [each["uid"] for each in status["active"]] == [meta.uid(job) for job in jobs]
        # Nobody misses a Job that was replaced (cronjob_controllerv2.go:588).
        told = {event["reason"] for event in await cluster.list(EVENTS)}
        assert "SuccessfulCreate" in told
        assert "MissingJob" not in told

    simulate(scenario, every)


def test_a_suspended_one_starts_nothing_and_catches_up_with_the_latest_only():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(CRONJOBS, cron(suspend=True))
        await cluster.settle(3600)
        assert await cluster.list(JOBS) == []
        await cluster.patch(CRONJOBS, "default/c", {"spec": {"suspend": False}})
        await cluster.settle()
        assert [meta.name(job) for job in await cluster.list(JOBS)] == [f"c-{int(START // 60) + 60}"]

    simulate(scenario, every)
