"""What a quota admits. The refusals were compared with a v1.36.4 server."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tiphys.store.memory import MemoryStore
from tiphys.store.sqlite import SqliteStore


async def with_quota(server, hard, **spec):
    """As the controller leaves it: nothing used yet."""
    if await server.get("namespaces", "t") and (await server.get("namespaces", "t")).get("code") == 404:
        await server.namespace("t")
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "t"},
        "spec": {"hard": hard, **spec},
    }
    await server.create("resourcequotas", quota)
    status = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    await server.patch("resourcequotas", "q", status, "t", subresource="status")
    return server


async def used(server):
    return (await server.get("resourcequotas", "q", "t"))["status"]["used"]


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "t"}}


def asking(cpu, memory):
    return {"resources": {"requests": {"cpu": cpu}, "limits": {"memory": memory}}}


@asynccontextmanager
async def memory(_folder):
    yield MemoryStore()


def sqlite(folder):
    return SqliteStore.open(folder / "store.db")


# What must never happen: a quota of 100 admits a hundred and first, or refuses the hundredth.
@pytest.mark.parametrize("open_store", [memory, sqlite])
async def test_of_500_at_once_exactly_100_get_in(serve, tmp_path, open_store):
    async with open_store(tmp_path) as store:
        server = await with_quota(serve(store=store), {"count/configmaps": "100"})
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(server.create("configmaps", config_map(f"c{number}"))) for number in range(500)]
        answers = [task.result() for task in tasks]
        assert sum(each["kind"] == "ConfigMap" for each in answers) == 100
        assert {each["reason"] for each in answers if each["kind"] == "Status"} == {"Forbidden"}
        assert await used(server) == {"count/configmaps": "100"}
        assert len((await store.list("configmaps", "t")).records) == 100


async def test_a_refusal_names_what_is_exceeded(serve, make_pod):
    hard = {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "3"}
    server = await with_quota(serve(), hard)
    status = await server.create("pods", make_pod())
    assert status["message"] == 'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c'
    status = await server.create("pods", make_pod(container=asking("2", "2Gi")))
    told = "requested: limits.memory=2Gi,requests.cpu=2, used: limits.memory=0,requests.cpu=0"
    assert status["message"] == f'pods "p" is forbidden: exceeded quota: q, {told}, limited: limits.memory=1Gi,requests.cpu=1'
    assert (await server.create("pods", make_pod("a", container=asking("600m", "512Mi"))))["kind"] == "Pod"
    assert await used(server) == {"requests.cpu": "600m", "limits.memory": "512Mi", "pods": "1"}
    status = await server.create("pods", make_pod("b", container=asking("600m", "128Mi")))
    told = "requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1"
    assert status["message"] == f'pods "b" is forbidden: exceeded quota: q, {told}'


async def test_a_dry_run_is_refused_like_a_write_but_charges_nothing(serve):
    server = await with_quota(serve(), {"count/configmaps": "1"})
    assert (await server.create("configmaps", config_map("a"), params={"dryRun": "All"}))["kind"] == "ConfigMap"
    assert await used(server) == {"count/configmaps": "0"}
    await server.create("configmaps", config_map("a"))
    status = await server.create("configmaps", config_map("b"), params={"dryRun": "All"})
    told = "requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1"
    assert status["message"] == f'configmaps "b" is forbidden: exceeded quota: q, {told}'


# pkg/quota/v1/evaluator/core/pods.go:259: a quota with scopes counts only pods that are in all of them
async def test_scopes_choose_the_pods_that_count(serve, make_pod):
    server = await with_quota(serve(), {"pods": "1"}, scopes=["BestEffort"])
    assert (await server.create("pods", make_pod("big", container=asking("1", "1Gi"))))["kind"] == "Pod"
    assert await used(server) == {"pods": "0"}
    assert (await server.create("pods", make_pod("a")))["kind"] == "Pod"
    assert (await server.create("pods", make_pod("b")))["code"] == 403


# pkg/quota/v1/evaluator/core/pods.go:401: while it is resized a pod counts with what it has and what it wants
async def test_a_pod_under_resize_is_charged_for_the_larger_amount(serve, make_pod):
    server = await with_quota(serve(), {"requests.cpu": "3", "limits.memory": "4Gi"})
    await server.create("pods", make_pod(container=asking("2", "1Gi")))
    status = {"name": "c", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
    status |= asking("2", "1Gi")
    await server.patch("pods", "p", {"status": {"containerStatuses": [status]}}, "t", subresource="status")

    async def resize(cpu):
        patch = {"spec": {"containers": [{"name": "c", **asking(cpu, "1Gi")}]}}
        return await server.patch("pods", "p", patch, "t", patch_type="strategic", subresource="resize")

    assert (await resize("1"))["kind"] == "Pod"
    assert (await used(server))["requests.cpu"] == "2"
    refused = await resize("4")
    assert refused["message"].startswith(
        'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=2'
    )
