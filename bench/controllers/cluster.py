"""Deployments to be busy with, and how far the controllers have come with them."""

import asyncio

from bench.scheduler.server import each, ensure
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.client.rest import RestClient
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get

NAMESPACE = "bench-controllers"
LOOK_AGAIN = 0.5


def deployment(number: int, replicas: int) -> Obj:
    name = f"bench-{number}"
    labels = {"app": name}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}},
    }
    spec = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


async def prepare(client: RestClient) -> None:
    await ensure(client, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})


async def count_nodes(client: RestClient) -> int:
    return len((await client.list(NODES)).items)


async def nodes_are_fit(client: RestClient) -> None:
    """Those who keep watch over nodes have taken every taint away."""
    while True:
        nodes = (await client.list(NODES)).items
        if nodes and not any(node["spec"].get("taints") for node in nodes):
            return
        await asyncio.sleep(LOOK_AGAIN)


async def create_deployments(client: RestClient, count: int, replicas: int) -> None:
    wanted = (deployment(number, replicas) for number in range(count))
    await each(wanted, lambda one: client.create(DEPLOYMENTS, one, NAMESPACE))


async def all_ready(client: RestClient, count: int, replicas: int) -> None:
    """As the controllers tell it: each Deployment counts all its pods as ready."""
    ready: set[str] = set()
    since = (await client.list(DEPLOYMENTS, NAMESPACE)).revision
    async for event in client.watch(DEPLOYMENTS, NAMESPACE, params={"resourceVersion": since}):
        if get(event.object, ("status", "readyReplicas")) == replicas:
            ready.add(meta.name(event.object))
            if len(ready) == count:
                return


async def delete_deployments(client: RestClient) -> None:
    found = await client.list(DEPLOYMENTS, NAMESPACE)
    await each(found.items, lambda one: client.delete(DEPLOYMENTS, meta.name(one), NAMESPACE))


async def all_gone(client: RestClient) -> None:
    while True:
        if not (await client.list(PODS, NAMESPACE, params={"limit": "1"})).items:
            return
        await asyncio.sleep(LOOK_AGAIN)
