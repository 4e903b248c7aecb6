"""The runner with a bad connection: events that come late, watches that break, writes that fail. Nothing is done twice."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.cluster import MANAGER, Cluster, open_cluster
from tests.virtual_loop import run

from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.core.pods import PODS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.kind import Kind
from tiphys.base.metrics import Registry
from tiphys.base.tasks import cancel, start
from tiphys.client.interface import Client, Listed, Watched
from tiphys.controllers.manager import Manager
from tiphys.controllers.replicaset import ReplicaSetController
from tiphys.machinery import errors, meta
from tiphys.machinery.tree import Obj


class Bad:
    """A client with the troubles of a real network: `late` seconds until an event arrives, and watches that break."""

    def __init__(self, client: Client, cluster: Cluster, *, late: float = 0.0, breaks: float = 0.0, refuses: int = 0) -> None:
        self._client = client
        self._clock = cluster.clock
        self._late = late
        self._breaks = breaks
        self._refuses = refuses
        self._random = random.Random(7)
        self.created = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def list(self, kind: Kind, namespace: str = "", **given: Any) -> Listed:
        return await self._client.list(kind, namespace, **given)

    async def watch(self, kind: Kind, namespace: str = "", **given: Any) -> AsyncIterator[Watched]:
        # What is there comes at once; what happens later comes late, or never.
        initial = "sendInitialEvents" in given["params"]
        async for event in self._client.watch(kind, namespace, **given):
            if not initial:
                await self._clock.sleep(self._late)
                if self._random.random() < self._breaks:
                    raise self._random.choice([ConnectionResetError("broken"), errors.expired("too old")])
            yield event
            initial = initial and event.type != "BOOKMARK"

    async def create(self, kind: Kind, obj: Obj, namespace: str = "", **given: Any) -> Obj:
        if kind is PODS and self._refuses > 0:
            self._refuses -= 1
            raise errors.forbidden("", "pods", "", "no")
        self.created += kind is PODS
        return await self._client.create(kind, obj, namespace, **given)


def replicaset(replicas: int) -> Obj:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"}, "spec": spec}


def with_trouble(scenario: Callable[[Cluster, Bad, Manager], Awaitable[None]], **trouble: Any) -> None:
    async def whole() -> None:
        async with open_cluster() as cluster:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
            await cluster.create(SERVICE_ACCOUNTS, account)
            client = Bad(cluster.client(MANAGER, "kube-controller-manager"), cluster, **trouble)
            chance = random.Random(1).random
            manager = Manager(client, [ReplicaSetController()], cluster.clock, chance, Registry(), cluster.log)
            async with asyncio.TaskGroup() as group:
                task = await start(group, manager.run, name="controllers")
                await scenario(cluster, client, manager)
                await cancel(task)

    run(whole())


async def pods(cluster: Cluster) -> list[Obj]:
    return [pod for pod in await cluster.list(PODS) if not meta.is_deleting(pod)]


@pytest.mark.parametrize("trouble", [{"late": 3.0}, {"late": 0.5, "breaks": 0.3}, {"breaks": 0.5}])
def test_each_pod_is_made_once_however_late_its_event(trouble: dict[str, float]):
    async def scenario(cluster: Cluster, client: Bad, _: Manager) -> None:
        await cluster.create(REPLICASETS, replicaset(5))
        for size in (5, 8, 2, 6):
            await cluster.patch(REPLICASETS, "default/web", {"spec": {"replicas": size}})
            # Something else happens to it, and would be a reason to count again too early.
            for number in range(5):
                await cluster.patch(REPLICASETS, "default/web", {"metadata": {"annotations": {"n": str(number)}}})
                await cluster.settle(0.2)
                assert len(await pods(cluster)) <= max(size, 8)
            await cluster.settle(600)
            assert len(await pods(cluster)) == size
        assert client.created == 5 + 3 + 4

    with_trouble(scenario, **trouble)


def test_a_refusal_is_retried_later_and_later_and_told():
    async def scenario(cluster: Cluster, client: Bad, manager: Manager) -> None:
        await cluster.create(REPLICASETS, replicaset(2))
        await cluster.settle(0.05)
        status = (await cluster.get(REPLICASETS, "default/web"))["status"]
        assert [each["reason"] for each in status["conditions"]] == ["FailedCreate"]
        await cluster.settle(30)
        assert (client.created, len(await pods(cluster))) == (2, 2)
        assert not (await cluster.get(REPLICASETS, "default/web"))["status"].get("conditions")
        (runner,) = manager.runners
        assert any(turn.outcome == "pods is forbidden: no" for turn in runner.history)
        assert any("create Pod web-" in wrote for turn in runner.history for wrote in turn.wrote)

    with_trouble(scenario, refuses=6)
