"""Simulated nodes and the controllers, in simulated time: what a lost node does to its pods, what a Job makes of its."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from tests.cluster import ADMIN, Cluster, open_cluster
from tests.virtual_loop import run

from tiphys.api.batch.jobs import JOBS
from tiphys.api.coordination.leases import LEASES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.base.tasks import cancel, start
from tiphys.controllers import conditions
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj
from tiphys.sim.fleet import Fleet


def simulate(count: int, scenario: Callable[[Cluster], Awaitable[None]]) -> None:
    async def whole() -> None:
        every: list[Any] = controllers(Settings())
        async with open_cluster(every) as cluster, asyncio.TaskGroup() as group:
            client = cluster.client(ADMIN, "sim")
            fleet = Fleet(client, count, cluster.clock, random.Random(1).random, cluster.log)
            task = await start(group, fleet.run, name="fleet")
            await cluster.settle()
            await scenario(cluster)
            await cancel(task)

    run(whole())


def pod(name: str, node: str, **annotations: str) -> Obj:
    told = {f"sim.tiphys.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": name, "namespace": "default", "annotations": told}
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "x"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def is_ready(cluster: Cluster, node: str) -> bool:
    return conditions.is_true((await cluster.get(NODES, node))["status"]["conditions"], "Ready")


def test_nodes_are_well_and_stay_so():
    async def scenario(cluster: Cluster) -> None:
        assert len(await cluster.list(NODES)) == 30
        await cluster.settle(300)
        for node in await cluster.list(NODES):
            assert conditions.is_true(node["status"]["conditions"], "Ready")
            assert "taints" not in node["spec"]
        lease = await cluster.get(LEASES, "kube-node-lease/sim-0")
        assert times.parse_micro(lease["spec"]["renewTime"]) > cluster.clock.now() - 12
        assert meta.owners(lease)[0]["name"] == "sim-0"

    simulate(30, scenario)


def test_pods_run_have_addresses_of_their_own_and_go():
    async def scenario(cluster: Cluster) -> None:
        for number in range(10):
            await cluster.create(PODS, pod(f"p{number}", f"sim-{number % 2}"))
        await cluster.settle()
        pods = await cluster.list(PODS)
        assert all(facts.is_ready(each) for each in pods)
        assert len({each["status"]["podIP"] for each in pods}) == 10
        await cluster.delete(PODS, "default/p0")
        await cluster.settle()
        assert len(await cluster.list(PODS)) == 9
        await cluster.create(PODS, pod("again", "sim-0"))
        await cluster.settle()
        assert (await cluster.get(PODS, "default/again"))["status"]["podIP"] == "100.64.0.2"

    simulate(2, scenario)


def test_a_node_that_falls_silent_loses_its_pods_and_can_come_back():
    # v1.36.4 pkg/controller/nodelifecycle: 50 s of grace; pods tolerate the taint for 300 s by default.
    async def scenario(cluster: Cluster) -> None:
        await cluster.create(PODS, pod("p", "sim-0"))
        await cluster.settle()
        await cluster.patch(NODES, "sim-0", {"metadata": {"annotations": {"sim.tiphys.dev/silent": "true"}}})
        await cluster.settle(65)
        assert not await is_ready(cluster, "sim-0")
        assert await is_ready(cluster, "sim-1")
        assert not meta.is_deleting(await cluster.get(PODS, "default/p"))
        await cluster.settle(305)
        assert meta.is_deleting(await cluster.get(PODS, "default/p"))
        await cluster.patch(NODES, "sim-0", {"metadata": {"annotations": {"sim.tiphys.dev/silent": None}}})
        await cluster.settle(5)
        assert await cluster.list(PODS) == []
        assert await is_ready(cluster, "sim-0")
        await cluster.settle(5)
        assert "taints" not in (await cluster.get(NODES, "sim-0"))["spec"]

    simulate(2, scenario)


def test_a_job_whose_pods_end_is_complete():
    async def scenario(cluster: Cluster) -> None:
        template = pod("", "sim-0", run_seconds="30")
        template["spec"]["restartPolicy"] = "Never"
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "namespace": "default"},
            "spec": {
                "completions": 3,
                "parallelism": 2,
                "template": {"metadata": {"annotations": template["metadata"]["annotations"]}, "spec": template["spec"]},
            },
        }
        await cluster.create(JOBS, job)
        await cluster.settle(45)
        assert (await cluster.get(JOBS, "default/j"))["status"]["succeeded"] == 2
        await cluster.settle(45)
        status = (await cluster.get(JOBS, "default/j"))["status"]
        assert status["succeeded"] == 3
        assert conditions.is_true(status["conditions"], "Complete")

    simulate(1, scenario)
