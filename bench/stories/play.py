"""How a story is told: steps in a namespace of its own, and rest between them.

A story is an async generator. What it does between two `yield`s is done at once; then all stories wait until nothing changes
any more. `yield 10` waits for ten seconds at least, for what only time brings about.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.stories.kubelet import Kubelet
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.pods import PODS
from tiphys.api.kind import Kind
from tiphys.client.rest import RestClient
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

QUIET, PATIENCE = 1.5, 25.0
"""Seconds without a change that count as rest; and how long at most to wait for it."""


class Cluster:
    def __init__(self, client: RestClient) -> None:
        self.client = client
        self.steps = 0

    def at(self, namespace: str) -> "Play":
        return Play(self, namespace)


class Play:
    """What a story can do. Each call is a step."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.namespace = namespace
        self._cluster = cluster
        self.client = cluster.client

    def _space(self, kind: Kind) -> str:
        return self.namespace if kind.namespaced else ""

    async def create(self, kind: Kind, name: str, /, *, labels: Obj | None = None, **parts: Any) -> Obj:
        self._cluster.steps += 1
        metadata = {"name": name, **({"labels": labels} if labels else {}), **parts.pop("metadata", {})}
        if kind.namespaced:
            metadata["namespace"] = self.namespace
        made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **parts}
        return await self.client.create(kind, made, self._space(kind))

    async def get(self, kind: Kind, name: str) -> Obj:
        return await self.client.get(kind, name, self._space(kind))

    async def patch(self, kind: Kind, name: str, change: Obj, subresource: str = "") -> Obj:
        self._cluster.steps += 1
        return await self.client.patch(kind, name, change, self._space(kind), subresource=subresource)

    async def scale(self, kind: Kind, name: str, replicas: int) -> None:
        await self.patch(kind, name, {"spec": {"replicas": replicas}})

    async def image(self, kind: Kind, name: str, image: str, **annotations: str | None) -> None:
        """A new template; `then` tells how its pods fare."""
        template: Obj = {"spec": {"containers": [{"name": "c", "image": image}]}}
        if annotations:
            template["metadata"] = {"annotations": annotations}
        await self.patch(kind, name, {"spec": {"template": template}})

    async def delete(self, kind: Kind, name: str, policy: str = "Background", **options: Any) -> None:
        self._cluster.steps += 1
        await self.client.delete(kind, name, self._space(kind), options={"propagationPolicy": policy, **options})

    async def pods(self) -> list[Obj]:
        """The oldest first."""
        listed = (await self.client.list(PODS, self.namespace)).items
        return sorted(listed, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    async def evict(self, name: str) -> str:
        self._cluster.steps += 1
        metadata = {"name": name, "namespace": self.namespace}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        try:
            await self.client.create(PODS, eviction, self.namespace, name=name, subresource="eviction")
        except ApiError as error:
            return error.reason
        return ""


Story = Callable[[Play], AsyncIterator[float | None]]


async def tell(cluster: Cluster, kubelet: Kubelet, stories: list[Story], quiet: float = QUIET) -> int:
    spaces = [story.__name__.replace("_", "-") for story in stories]
    await _clear(cluster, spaces)
    for space in spaces:
        await cluster.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    await _rest(kubelet, 2.0, quiet)
    told = [story(cluster.at(space)) for story, space in zip(stories, spaces, strict=True)]
    while told:
        answers = [(each, await anext(each, False)) for each in told]
        told = [each for each, answer in answers if answer is not False]
        await _rest(kubelet, max((float(answer or 0.0) for _, answer in answers), default=0.0), quiet)
    return cluster.steps


async def _clear(cluster: Cluster, spaces: list[str]) -> None:
    for space in spaces:
        with tolerated("NotFound", "Conflict"):
            await cluster.client.delete(NAMESPACES, space)
    await _let_go(cluster, spaces)
    for _ in range(120):
        left = {each["metadata"]["name"] for each in (await cluster.client.list(NAMESPACES)).items}
        if not left & set(spaces):
            return
        await asyncio.sleep(0.5)
    raise TimeoutError("what is left of former stories does not go")


async def _let_go(cluster: Cluster, spaces: list[str]) -> None:
    """Of what stories hold with finalizers of their own, and of pods on a node that nobody keeps any more."""
    client = cluster.client
    for held in (await client.list(CONFIG_MAPS)).items:
        space, name = held["metadata"]["namespace"], held["metadata"]["name"]
        if space in spaces and held["metadata"].get("finalizers"):
            with tolerated("NotFound"):
                await client.patch(CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, space)
    for pod in (await client.list(PODS)).items:
        if pod["metadata"]["namespace"] in spaces:
            with tolerated("NotFound", "Conflict"):
                await client.delete(
                    PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], options={"gracePeriodSeconds": 0}
                )


@contextmanager
def tolerated(*reasons: str) -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        if error.reason not in reasons:
            raise


async def _rest(kubelet: Kubelet, least: float, quiet: float) -> None:
    loop = asyncio.get_running_loop()
    began = quiet_since = loop.time()
    seen = ""
    while loop.time() - began < max(least, PATIENCE):
        now = hashlib.sha256(repr(sorted(await kubelet.versions())).encode()).hexdigest()
        if now != seen:
            seen, quiet_since = now, loop.time()
        elif loop.time() - quiet_since >= quiet and loop.time() - began >= least:
            return
        await asyncio.sleep(0.3)
