"""Pods to be run and ended, and waiting for them on one watch."""

import asyncio
from collections.abc import Callable, Iterable
from time import monotonic

from bench.scheduler.server import each, ensure
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.pods import PODS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.client.rest import RestClient
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

NAMESPACE = "bench-node"


def pod(name: str, image: str, command: Iterable[str]) -> Obj:
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent"}
    if command:
        container["command"] = list(command)
    spec = {"containers": [container], "terminationGracePeriodSeconds": 1}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def is_ready(told: Obj) -> bool:
    conditions = told.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


class Population:
    """The pods of the namespace, as a watch shows them. Used as `async with`."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self.pods: dict[str, Obj] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None]

    async def __aenter__(self) -> "Population":
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await ensure(self._client, NAMESPACES, space)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}}
        await ensure(self._client, SERVICE_ACCOUNTS, account)
        listed = await self._client.list(PODS, NAMESPACE)
        self.pods = {each["metadata"]["name"]: each for each in listed.items}
        self._task = asyncio.create_task(self._follow(listed.revision))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _follow(self, revision: str) -> None:
        while True:
            async for event in self._client.watch(PODS, NAMESPACE, params={"resourceVersion": revision}):
                revision = event.object["metadata"]["resourceVersion"]
                name = event.object["metadata"]["name"]
                if event.type == "DELETED":
                    self.pods.pop(name, None)
                else:
                    self.pods[name] = event.object
                self._changed.set()

    async def until(self, good: Callable[[dict[str, Obj]], bool]) -> float:
        """The time at which it was."""
        while not good(self.pods):
            self._changed.clear()
            await self._changed.wait()
        return monotonic()

    async def create(self, wanted: Iterable[Obj]) -> None:
        await each(wanted, lambda made: self._client.create(PODS, made, NAMESPACE))

    async def delete(self, names: Iterable[str]) -> None:
        async def end(name: str) -> None:
            try:
                await self._client.delete(PODS, name, NAMESPACE)
            except ApiError as problem:
                if problem.reason != "NotFound":
                    raise

        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(end(name))
