"""What a kubelet says of its node, while others say something else."""

import asyncio
import random
from pathlib import Path

from tests.cluster import ADMIN, Cluster, open_cluster
from tests.virtual_loop import run

from tiphys.api.core.nodes import NODES
from tiphys.base.tasks import cancel, start
from tiphys.client.informer import Informer
from tiphys.controllers import conditions
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.node.agent import NodeAgent, Standing
from tiphys.kubelet.node.facts import Facts

FACTS = Facts(4, 8 << 30, 100 << 30, 1000, "m", "s", "b", "6.1", "Debian", "amd64")
ALL_IS_WELL = ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]


class Runtime:
    """One that is well, and has nothing."""

    async def problems(self) -> list[str]:
        return []

    async def version(self) -> tuple[str, str]:
        return "containerd", "1.6"

    async def images(self) -> list[object]:
        return []


async def ready(cluster: Cluster) -> str:
    node = await cluster.get(NODES, "n1")
    return str(conditions.find(node["status"]["conditions"], "Ready")["status"])


def test_a_node_that_was_thought_lost_says_at_its_next_look_that_it_is_well():
    # v1.36.4 pkg/kubelet/kubelet_node_status.go, tryUpdateNodeStatus: each look begins with the node as the API server has it.
    async def whole() -> None:
        async with open_cluster([]) as cluster, asyncio.TaskGroup() as group:
            client = cluster.client(ADMIN, "kubelet")
            config = KubeletConfig("n1", Path("/k"), Path("/l"), ("10.0.0.1",), "/kubepods")
            seen = Informer(client, NODES, cluster.clock, random.Random(1).random, cluster.log)
            told = []
            standing = Standing(tuple, lambda: False, lambda: seen.cache.get("n1"), lambda news: told.append(news.reason))
            agent = NodeAgent(config, client, Runtime(), FACTS, cluster.clock, cluster.log, standing)
            tasks = [await start(group, seen.run, name="seen"), await start(group, agent.run, name="agent")]
            await cluster.settle(15)
            assert await ready(cluster) == "True"
            lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "x"}
            await cluster.patch(NODES, "n1", {"status": {"conditions": [lost]}}, "status")
            assert await ready(cluster) == "Unknown"
            await cluster.settle(11)
            assert await ready(cluster) == "True"
            # The patch has dropped the other conditions.
            assert told == [*ALL_IS_WELL, "Starting", *ALL_IS_WELL, "NodeReady"]
            for cordoned, reason in ((True, "NodeNotSchedulable"), (None, "NodeSchedulable")):
                await cluster.patch(NODES, "n1", {"spec": {"unschedulable": cordoned}})
                await cluster.settle(11)
                assert told[-1] == reason
            for task in tasks:
                await cancel(task)

    run(whole())


def test_a_node_that_goes_down_with_its_machine_says_so_at_once():
    # pkg/kubelet/nodestatus/setters.go, ReadyCondition
    async def whole() -> None:
        async with open_cluster([]) as cluster, asyncio.TaskGroup() as group:
            config = KubeletConfig("n1", Path("/k"), Path("/l"), ("10.0.0.1",), "/kubepods")
            going = []
            standing = Standing(tuple, lambda: bool(going), lambda: None)
            agent = NodeAgent(config, cluster.client(ADMIN, "kubelet"), Runtime(), FACTS, cluster.clock, cluster.log, standing)
            task = await start(group, agent.run, name="agent")
            await cluster.settle(1)
            going.append(True)
            await agent.report()
            found = conditions.find((await cluster.get(NODES, "n1"))["status"]["conditions"], "Ready")
            assert (found["status"], found["reason"], found["message"]) == ("False", "KubeletNotReady", "node is shutting down")
            await cancel(task)

    run(whole())
