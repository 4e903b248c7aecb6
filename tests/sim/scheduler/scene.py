"""A scheduler beside the real API server pipeline, in virtual time."""

import asyncio
import random
from collections.abc import Sequence

from tests.cluster import Cluster, simulate

from tiphys.api.core.events import EVENTS
from tiphys.api.core.pods import PODS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.apiserver.authn.user import User
from tiphys.base.tasks import cancel, start
from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER, ExtenderSettings
from tiphys.scheduler.extending import Extenders
from tiphys.scheduler.loop import Scheduler
from tiphys.scheduler.profiles import default_profile
from tiphys.scheduler.state import State

ACCOUNT: Obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
SCHEDULER = User("system:kube-scheduler", ("system:authenticated",))


def node(name: str, cpu: str = "4") -> Obj:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(name: str, cpu: str = "1", **spec: object) -> Obj:
    container = {"name": "c", "image": "image", "resources": {"requests": {"cpu": cpu}}}
    tolerations = [{"operator": "Exists"}]
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container], "tolerations": tolerations, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


class Scene:
    def __init__(self, cluster: Cluster, scheduler: Scheduler) -> None:
        self.cluster = cluster
        self.scheduler = scheduler

    async def node_of(self, name: str) -> str:
        found: str = (await self.cluster.get(PODS, f"default/{name}"))["spec"].get("nodeName", "")
        return found

    async def bound(self, *names: str) -> None:
        async def all_bound() -> bool:
            return all([await self.node_of(name) for name in names])

        await self.cluster.until(all_bound)

    async def told(self, name: str) -> list[str]:
        return [each["message"] for each in await self.cluster.list(EVENTS) if each["involvedObject"]["name"] == name]


def play(scenario: object, state: State | None = None, extenders: Sequence[ExtenderSettings] = ()) -> None:
    async def whole(cluster: Cluster) -> None:
        chosen = state or State(lambda known: {DEFAULT_SCHEDULER: default_profile(known)}, random.Random(1).randrange)
        client = cluster.client(SCHEDULER, "scheduler")
        asked = Extenders(extenders, cluster.log)
        scheduler = Scheduler(client, chosen, cluster.clock, random.Random(1).random, cluster.log, extenders=asked)
        await cluster.create(SERVICE_ACCOUNTS, ACCOUNT)
        async with asyncio.TaskGroup() as group:
            task = await start(group, scheduler.run, name="scheduler")
            await scenario(Scene(cluster, scheduler))  # type: ignore[operator]
            await cancel(task)

    simulate(whole)
