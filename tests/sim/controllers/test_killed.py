"""The process dies after any write and is started anew: nothing is made twice, and the end is the same as without dying.

This is what a plan promises: each write leaves a world from which the next look goes on.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cache
from itertools import chain, repeat
from typing import Any

import pytest
from bench.stories.compare import Plain
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster import MANAGER, Cluster, open_cluster
from tests.kubelet import run_pod
from tests.virtual_loop import run

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.kind import Kind
from tiphys.base.metrics import Registry
from tiphys.base.tasks import cancel, start
from tiphys.client.interface import Client
from tiphys.controllers.controller import Controller
from tiphys.controllers.cronjob import CronJobController
from tiphys.controllers.daemonset import DaemonSetController
from tiphys.controllers.deployment import DeploymentController
from tiphys.controllers.job import JobController
from tiphys.controllers.manager import Manager
from tiphys.controllers.replicaset import ReplicaSetController, replication_controllers
from tiphys.controllers.statefulset import StatefulSetController
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

LABELS = {"app": "x"}
SEEN = (
    REPLICATION_CONTROLLERS,
    REPLICASETS,
    DEPLOYMENTS,
    STATEFULSETS,
    DAEMONSETS,
    JOBS,
    CRONJOBS,
    CONTROLLERREVISIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
)


class Mortal:
    """A client that carries out so many writes and then answers nothing any more."""

    def __init__(self, client: Client, writes: int, died: asyncio.Event) -> None:
        self._client, self._left, self._died = client, writes, died

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def _write(self, kind: Kind, write: Callable[[], Awaitable[Obj]]) -> Obj:
        if kind.kind == "Event":
            return await write()
        if self._left > 0:
            self._left -= 1
            try:
                answer = await write()
                if self._left > 0:
                    return answer
            except ApiError:
                if self._left > 0:
                    raise
            self._died.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def create(self, kind: Kind, *args: Any, **given: Any) -> Obj:
        return await self._write(kind, lambda: self._client.create(kind, *args, **given))

    async def update(self, kind: Kind, *args: Any, **given: Any) -> Obj:
        return await self._write(kind, lambda: self._client.update(kind, *args, **given))

    async def patch(self, kind: Kind, *args: Any, **given: Any) -> Obj:
        return await self._write(kind, lambda: self._client.patch(kind, *args, **given))

    async def delete(self, kind: Kind, *args: Any, **given: Any) -> Obj:
        return await self._write(kind, lambda: self._client.delete(kind, *args, **given))


Controllers = Callable[[], list[Controller[Any]]]
IMMORTAL = 10**9


@asynccontextmanager
async def lives(cluster: Cluster, controllers: Controllers, writes: Iterator[int]) -> AsyncIterator[list[int]]:
    """One life after the other, each of so many writes."""
    lived: list[int] = []

    async def live() -> None:
        for budget in writes:
            died = asyncio.Event()
            client = Mortal(cluster.client(MANAGER, "kube-controller-manager"), budget, died)
            chance = random.Random(1).random
            manager = Manager(client, controllers(), cluster.clock, chance, Registry(), cluster.log)
            lived.append(budget)
            async with asyncio.TaskGroup() as group:
                task = await start(group, manager.run, name="controllers")
                await died.wait()
                await cancel(task)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(live())
        yield lived
        await cancel(task)


async def play(cluster: Cluster, rounds: int, most: int) -> None:
    """The kubelet's part. Never are there more pods than may be."""
    for _ in range(rounds):
        await cluster.settle(0.5)
        pods = await cluster.list(PODS)
        alive = [pod for pod in pods if not meta.is_deleting(pod) and pod["status"]["phase"] in ("Pending", "Running")]
        assert len(alive) <= most, [meta.name(pod) for pod in alive]
        for pod in pods:
            fate = (pod["metadata"].get("annotations") or {}).get("then")
            try:
                if meta.is_deleting(pod):
                    await cluster.delete(PODS, meta.key(pod), gracePeriodSeconds=0)
                elif pod["status"]["phase"] == "Pending":
                    await run_pod(cluster, pod)
                elif pod["status"]["phase"] == "Running" and fate:
                    await run_pod(cluster, pod, phase=fate, ready=False)
            except ApiError as error:
                if error.reason not in ("NotFound", "Conflict"):
                    raise
    await cluster.settle(0.5)


def template(image: str = "one", **parts: Any) -> Obj:
    pod = {"nodeName": "n", "containers": [{"name": "c", "image": image}], **parts.pop("spec", {})}
    return {"metadata": {"labels": LABELS, **parts}, "spec": pod}


async def make(cluster: Cluster, kind: Kind, **spec: Any) -> None:
    metadata = {"name": "x", "namespace": "default"}
    await cluster.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec})


async def change(cluster: Cluster, kind: Kind, **spec: Any) -> None:
    await cluster.patch(kind, "default/x", {"spec": spec})


def new_image() -> Obj:
    return {"spec": {"containers": [{"name": "c", "image": "two"}]}}


async def replica_sets(cluster: Cluster) -> None:
    orphan = {"metadata": {"name": "orphan", "namespace": "default", "labels": LABELS}, "spec": template()["spec"]}
    await cluster.create(PODS, {"apiVersion": "v1", "kind": "Pod", **orphan})
    await make(cluster, REPLICASETS, replicas=3, selector={"matchLabels": LABELS}, template=template())
    await play(cluster, 4, 3)
    await change(cluster, REPLICASETS, replicas=4)
    await play(cluster, 4, 4)


async def old_replicas(cluster: Cluster) -> None:
    await make(cluster, REPLICATION_CONTROLLERS, replicas=2, selector=LABELS, template=template())
    await play(cluster, 4, 2)
    await change(cluster, REPLICATION_CONTROLLERS, replicas=3)
    await play(cluster, 4, 3)
    await change(cluster, REPLICATION_CONTROLLERS, replicas=1)
    await play(cluster, 4, 3)


async def deployments(cluster: Cluster) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    whole = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template(), "strategy": strategy}
    await make(cluster, DEPLOYMENTS, **whole, revisionHistoryLimit=0)
    await play(cluster, 5, 3)
    await change(cluster, DEPLOYMENTS, template=new_image())
    await play(cluster, 16, 4)


async def stateful_sets(cluster: Cluster) -> None:
    size = {"requests": {"storage": "1"}}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": size}}
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    whole = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template(), "volumeClaimTemplates": [claim]}
    await make(cluster, STATEFULSETS, **whole, persistentVolumeClaimRetentionPolicy=policy, revisionHistoryLimit=0)
    await play(cluster, 7, 2)
    await change(cluster, STATEFULSETS, template=new_image(), replicas=3)
    await play(cluster, 18, 3)
    await change(cluster, STATEFULSETS, replicas=1)
    await play(cluster, 6, 3)


async def daemon_sets(cluster: Cluster) -> None:
    for name in ("a", "b"):
        await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await cluster.patch(NODES, name, {"spec": {"taints": None}})
    bare = template()
    del bare["spec"]["nodeName"]
    await make(cluster, DAEMONSETS, selector={"matchLabels": LABELS}, template=bare, revisionHistoryLimit=0)
    await play(cluster, 4, 2)
    await change(cluster, DAEMONSETS, template=new_image())
    await play(cluster, 12, 2)


async def jobs(cluster: Cluster) -> None:
    pod = template(annotations={"then": "Succeeded"}, spec={"restartPolicy": "Never"})
    await make(cluster, JOBS, completions=4, parallelism=2, completionMode="Indexed", template=pod)
    await play(cluster, 14, 2)


async def failing_jobs(cluster: Cluster) -> None:
    pod = template(annotations={"then": "Failed"}, spec={"restartPolicy": "Never"})
    await make(cluster, JOBS, backoffLimit=1, template=pod)
    await play(cluster, 60, 1)


async def cron_jobs(cluster: Cluster) -> None:
    pod = template(annotations={"then": "Succeeded"}, spec={"restartPolicy": "Never"})
    made = {"spec": {"template": pod}}
    await make(cluster, CRONJOBS, schedule="* * * * *", jobTemplate=made, successfulJobsHistoryLimit=1)
    await play(cluster, 330, 1)


async def replacing_cron_jobs(cluster: Cluster) -> None:
    made = {"spec": {"template": template(spec={"restartPolicy": "Never"}), "parallelism": 0}}
    await make(cluster, CRONJOBS, schedule="* * * * *", concurrencyPolicy="Replace", jobTemplate=made)
    await play(cluster, 270, 0)


STORIES: dict[str, tuple[Callable[[Cluster], Awaitable[None]], Controllers]] = {
    "replica sets": (replica_sets, lambda: [ReplicaSetController()]),
    "replication controllers": (old_replicas, lambda: [replication_controllers()]),
    "deployments": (deployments, lambda: [DeploymentController(), ReplicaSetController()]),
    "stateful sets": (stateful_sets, lambda: [StatefulSetController()]),
    "daemon sets": (daemon_sets, lambda: [DaemonSetController()]),
    "jobs": (jobs, lambda: [JobController()]),
    "jobs that fail": (failing_jobs, lambda: [JobController()]),
    "cron jobs": (cron_jobs, lambda: [CronJobController(), JobController()]),
    "cron jobs that replace": (replacing_cron_jobs, lambda: [CronJobController(), JobController()]),
}


def outcome(name: str, writes: Iterator[int]) -> tuple[list[Obj], int]:
    """What is there in the end, without made-up names and times; and how many lives it took."""
    story, controllers = STORIES[name]

    async def whole() -> tuple[list[Obj], int]:
        async with open_cluster() as cluster:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
            await cluster.create(SERVICE_ACCOUNTS, account)
            async with lives(cluster, controllers, writes) as lived:
                await story(cluster)
                found = [each for kind in SEEN for each in await cluster.list(kind)]
                plain = Plain(found)
                return sorted((plain.of(each) for each in found), key=repr), len(lived)

    return run(whole())


@cache
def undisturbed(name: str) -> list[Obj]:
    return outcome(name, repeat(IMMORTAL))[0]


@pytest.mark.parametrize("name", STORIES)
def test_dying_after_every_single_write(name: str):
    found, lived = outcome(name, repeat(1))
    assert lived > 5
    assert found == undisturbed(name)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(STORIES)), st.lists(st.integers(1, 7), min_size=1, max_size=8))
def test_dying_after_any_writes(name: str, budgets: list[int]):
    found, _ = outcome(name, chain(budgets, repeat(IMMORTAL)))
    assert found == undisturbed(name)
