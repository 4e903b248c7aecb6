"""Jobs to their end: counting, back-off, indexes, policies, suspension. v1.36.4 pkg/controller/job/job_controller.go."""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate
from tests.virtual_loop import START

from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.events import EVENTS
from tiphys.api.core.pods import PODS
from tiphys.controllers.job.pods import FINALIZER
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def job(**spec: Any) -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    metadata = {"name": "j", "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template, **spec}}


async def live(cluster: Cluster) -> list[Obj]:
    pods = await cluster.list(PODS)
    return [pod for pod in pods if pod["status"]["phase"] == "Pending" and not meta.is_deleting(pod)]


async def end(cluster: Cluster, pod: Obj, code: int = 0) -> None:
    at = times.rfc3339(START + cluster.clock.monotonic())
    terminated = {"exitCode": code, "finishedAt": at, "startedAt": at, "reason": "x"}
    container = {"name": "c", "image": "x", "imageID": "x", "ready": False, "restartCount": 0}
    status = {
        "phase": "Failed" if code else "Succeeded",
        "containerStatuses": [{**container, "state": {"terminated": terminated}}],
    }
    await cluster.patch(PODS, meta.key(pod), {"status": status}, "status")


async def status(cluster: Cluster) -> Obj:
    found: Obj = (await cluster.get(JOBS, "default/j"))["status"]
    return found


def types(found: Obj) -> dict[str, str]:
    return {each["type"]: each["reason"] for each in found.get("conditions", ()) if each["status"] == "True"}


def test_pods_are_run_and_counted_until_enough_have_succeeded():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job(completions=3, parallelism=2))
        await cluster.settle()
        assert len(await live(cluster)) == 2
        found = await status(cluster)
        assert (found["active"], found["ready"], found["terminating"]) == (2, 0, 0)
        for _ in range(2):
            for pod in await live(cluster):
                await end(cluster, pod)
            await cluster.settle()
        found = await status(cluster)
        assert (found["succeeded"], found.get("active"), found["uncountedTerminatedPods"]) == (3, None, {})
        assert types(found) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
        assert found["completionTime"]
        assert not any(meta.finalizers(pod) for pod in await cluster.list(PODS))
        assert "Completed" in {each["reason"] for each in await cluster.list(EVENTS)}

    simulate(scenario, every)


def test_failures_back_off_and_too_many_end_the_job():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job(backoffLimit=1))
        await cluster.settle()
        (first,) = await live(cluster)
        await end(cluster, first, 1)
        await cluster.settle(8)
        assert not await live(cluster)
        await cluster.settle(4)
        (second,) = await live(cluster)
        await end(cluster, second, 1)
        await cluster.settle(60)
        found = await status(cluster)
        assert (found["failed"], types(found)["Failed"]) == (2, "BackoffLimitExceeded")
        assert not await live(cluster)

    simulate(scenario, every)


def test_an_indexed_job_knows_which_are_done():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job(completions=4, parallelism=4, completionMode="Indexed"))
        await cluster.settle()
        pods = {meta.annotations(pod)["batch.kubernetes.io/job-completion-index"]: pod for pod in await live(cluster)}
        assert sorted(pods) == ["0", "1", "2", "3"]
        assert pods["2"]["spec"]["hostname"] == "j-2"
        assert pods["2"]["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
        for index in ("0", "1", "3"):
            await end(cluster, pods[index])
        await cluster.settle()
        assert ((await status(cluster))["completedIndexes"], len(await live(cluster))) == ("0,1,3", 1)
        await end(cluster, pods["2"])
        await cluster.settle()
        found = await status(cluster)
        assert (found["completedIndexes"], found["succeeded"], "Complete" in types(found)) == ("0-3", 4, True)

    simulate(scenario, every)


def test_an_index_may_fail_without_the_others():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        spec = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
        await cluster.create(JOBS, job(**spec))
        for _ in range(2):
            await cluster.settle(15)
            for pod in await live(cluster):
                index = meta.annotations(pod)["batch.kubernetes.io/job-completion-index"]
                await end(cluster, pod, 0 if index == "1" else 1)
        await cluster.settle(15)
        found = await status(cluster)
        assert (found["completedIndexes"], found["failedIndexes"]) == ("1", "0")
        assert (types(found)["Failed"], found["failed"]) == ("FailedIndexes", 2)

    simulate(scenario, every)


def test_a_policy_may_end_the_job_or_ignore_a_failure():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        codes = {"operator": "In", "values": [42]}
        ignored = {"operator": "In", "values": [3]}
        rules = [{"action": "Ignore", "onExitCodes": ignored}, {"action": "FailJob", "onExitCodes": codes}]
        await cluster.create(JOBS, job(backoffLimit=0, podFailurePolicy={"rules": rules}))
        await cluster.settle()
        (pod,) = await live(cluster)
        await end(cluster, pod, 3)
        await cluster.settle(15)
        assert (await status(cluster)).get("failed", 0) == 0
        (pod,) = await live(cluster)
        await end(cluster, pod, 42)
        await cluster.settle(15)
        found = await status(cluster)
        assert types(found)["Failed"] == "PodFailurePolicy"
        assert found["conditions"][-1]["message"] == (
            f"Container c for pod default/{meta.name(pod)} failed with exit code 42 matching FailJob rule at index 1"
        )

    simulate(scenario, every)


def test_a_suspended_job_has_no_pods():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job(parallelism=2))
        await cluster.settle()
        await cluster.patch(JOBS, "default/j", {"spec": {"suspend": True}})
        await cluster.settle()
        assert await cluster.list(PODS) == []
        found = await status(cluster)
        assert (types(found), found.get("startTime"), found.get("failed")) == ({"Suspended": "JobSuspended"}, None, None)
        await cluster.patch(JOBS, "default/j", {"spec": {"suspend": False}})
        await cluster.settle()
        assert len(await live(cluster)) == 2

    simulate(scenario, every)


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_pods_of_a_deleted_job_are_let_go(policy: str):
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job(parallelism=2))
        await cluster.settle()
        await cluster.delete(JOBS, "default/j", policy)
        await cluster.settle(10)
        assert await cluster.list(PODS) == []
        with pytest.raises(ApiError):
            await status(cluster)

    simulate(scenario, every)


def test_a_deadline_ends_it():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job(activeDeadlineSeconds=30))
        await cluster.settle(25)
        assert len(await live(cluster)) == 1
        await cluster.settle(10)
        assert types(await status(cluster))["Failed"] == "DeadlineExceeded"
        assert not await live(cluster)

    simulate(scenario, every)


def test_a_pod_that_is_let_go_waits_for_nobody():
    # Released by its Job, or orphaned by somebody else: syncOrphanPod takes the finalizer, so that deletion is not held up.
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job(completions=2, parallelism=2))
        await cluster.settle()
        released, orphaned = await live(cluster)
        await cluster.patch(PODS, meta.key(released), {"metadata": {"labels": None}})
        change = {"labels": None, "ownerReferences": None}
        await cluster.patch(PODS, meta.key(orphaned), {"metadata": change})
        await cluster.settle()
        for pod in (released, orphaned):
            found = await cluster.get(PODS, meta.key(pod))
            assert (meta.finalizers(found), meta.controller_of(found)) == ([], None)
        assert len(await live(cluster)) == 4

    simulate(scenario, every)


def test_an_orphan_that_is_adopted_again_is_counted_again():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(JOBS, job())
        await cluster.settle()
        (pod,) = await live(cluster)
        await cluster.patch(PODS, meta.key(pod), {"metadata": {"ownerReferences": None}})
        await cluster.settle()
        (found,) = await live(cluster)
        assert meta.uid(found) == meta.uid(pod)
        assert meta.finalizers(found) == [FINALIZER]
        await end(cluster, found)
        await cluster.settle()
        assert (await status(cluster))["succeeded"] == 1

    simulate(scenario, every)
