"""Filling and emptying a cluster, many requests at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from bench.scheduler import cluster
from bench.scheduler.cluster import NAMESPACE
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.core.services import SERVICES
from tiphys.api.kind import Kind
from tiphys.api.resource.deviceclasses import DEVICECLASSES
from tiphys.api.resource.resourceclaims import RESOURCECLAIMS
from tiphys.api.resource.resourceslices import RESOURCESLICES
from tiphys.api.scheduling.priorityclasses import PRIORITYCLASSES
from tiphys.client.rest import RestClient
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

AT_ONCE = 32


async def each(items: Iterable[Obj], work: Callable[[Obj], Awaitable[object]]) -> None:
    waiting = iter(items)

    async def run() -> None:
        for item in waiting:
            await work(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(run())


async def ensure(client: RestClient, kind: Kind, obj: Obj) -> None:
    try:
        await client.create(kind, obj, obj["metadata"].get("namespace", ""))
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise


async def prepare(client: RestClient, nodes: Iterable[Obj]) -> None:
    await ensure(client, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}}
    await ensure(client, SERVICE_ACCOUNTS, account)
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": cluster.PRIORITY},
        "value": 1000,
    }
    await ensure(client, PRIORITYCLASSES, high)
    await each(nodes, lambda node: ensure(client, NODES, node))


async def churn(client: RestClient, number: int) -> None:
    """One of each comes, and the one before goes."""
    for kind, make in _PASSING:
        now, before = make(number), make(number - 1)
        await ensure(client, kind, now)
        try:
            await client.delete(kind, before["metadata"]["name"], before["metadata"].get("namespace", ""))
        except ApiError as error:
            if error.reason != "NotFound":
                raise


def _passing_service(number: int) -> Obj:
    metadata = {"name": f"passing-{number}", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}], "clusterIP": "None"}}


def _passing_node(number: int) -> Obj:
    made = cluster.node(number, cpu="0", memory="0", pods="0")
    made["metadata"]["name"] = f"passing-{number}"
    return made


def _passing_pod(number: int) -> Obj:
    made = cluster.hopeless(number)
    made["metadata"]["name"] = f"passing-{number}"
    return made


_PASSING = ((NODES, _passing_node), (SERVICES, _passing_service), (PODS, _passing_pod))


async def create_pods(client: RestClient, pods: Iterable[Obj]) -> None:
    await each(pods, lambda pod: client.create(PODS, pod, NAMESPACE))


async def offer(client: RestClient, devices: int, nodes: int, pods: int) -> None:
    """Devices on every node, and a claim for every pod that waits."""
    await ensure(client, DEVICECLASSES, cluster.device_class())
    await each((cluster.devices(at, devices) for at in range(nodes)), lambda one: ensure(client, RESOURCESLICES, one))
    await each((cluster.claim(at) for at in range(pods)), lambda one: ensure(client, RESOURCECLAIMS, one))


async def withdraw(client: RestClient, nodes: int, pods: int) -> None:
    """Nobody else gives the devices back: the pods have been bound by nothing but a scheduler."""

    async def end(one: Obj) -> None:
        about = one["metadata"]
        free = {"status": {"allocation": None, "reservedFor": None}}
        await client.patch(RESOURCECLAIMS, about["name"], free, NAMESPACE, subresource="status")
        await client.patch(RESOURCECLAIMS, about["name"], {"metadata": {"finalizers": None}}, NAMESPACE)
        await client.delete(RESOURCECLAIMS, about["name"], NAMESPACE)

    await each((cluster.claim(at) for at in range(pods)), end)
    await each(
        (cluster.devices(at, 0) for at in range(nodes)), lambda one: client.delete(RESOURCESLICES, one["metadata"]["name"])
    )


async def delete_pods(client: RestClient) -> None:
    found = await client.list(PODS, NAMESPACE)
    now = {"gracePeriodSeconds": 0}
    await each(found.items, lambda pod: client.delete(PODS, pod["metadata"]["name"], NAMESPACE, options=now))


async def delete_nodes(client: RestClient, nodes: Iterable[Obj]) -> None:
    async def delete(node: Obj) -> None:
        try:
            await client.delete(NODES, node["metadata"]["name"])
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    await each(nodes, delete)
