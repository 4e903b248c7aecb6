"""Asks the sources of static pods, tells of those that come and go, and keeps a mirror of each in the API."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from tiphys.api.core.pods import PODS
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import spawn
from tiphys.client.interface import Client
from tiphys.kubelet.static.manifests import mirror, original
from tiphys.machinery.errors import ApiError
from tiphys.machinery.meta import is_deleting, key
from tiphys.machinery.tree import Obj

_LOOK_SECONDS = 1.0
_NOW = 0


class Source(Protocol):
    every: float
    """Seconds between two looks."""

    async def look(self) -> list[Obj] | None:
        """The pods that are wanted there; None: nobody knows yet."""


class StaticPods:
    def __init__(self, sources: Sequence[Source], client: Client, clock: Clock, log: Logger) -> None:
        self._sources = sources
        self._client = client
        self._clock = clock
        self._log = log
        self._found: dict[int, list[Obj]] = {}
        """By the number of the source, of those that have been read."""
        self.pods: dict[str, Obj] = {}
        """By uid."""
        self.mirrors: dict[str, Obj] = {}
        """By namespace/name, as the API shows them."""

    @property
    def known(self) -> bool:
        """Each source has been read: what runs beside their pods is wanted by nobody."""
        return len(self._found) == len(self._sources)

    async def run(self, changed: Callable[[], None], node: Callable[[], Obj], ready: Callable[[], None]) -> None:
        """`changed`: the pods are others than before; `node`: the object of this node. No source is waited for."""
        async with asyncio.TaskGroup() as group:
            for number in range(len(self._sources)):
                spawn(group, self._follow(number, changed), name=f"source {number} of static pods")
            ready()
            while True:
                await self._tend(node())
                await self._clock.sleep(_LOOK_SECONDS)

    async def _follow(self, number: int, changed: Callable[[], None]) -> None:
        while True:
            if await self._look(number):
                changed()
            await self._clock.sleep(self._sources[number].every)

    def mirror_of(self, pod: Obj) -> Obj | None:
        """The one to which the status of a static pod is written, once it is there."""
        found = self.mirrors.get(key(pod))
        return found if found is not None and original(found) == pod["metadata"]["uid"] else None

    async def _look(self, number: int) -> bool:
        """Whether anything is otherwise than before."""
        found = await self._sources[number].look()
        if found is None:
            return False
        before = self.pods.keys()
        self._found[number] = found
        self.pods = {pod["metadata"]["uid"]: pod for each in self._found.values() for pod in each}
        return self.pods.keys() != before

    async def _tend(self, node: Obj) -> None:
        """Mirrors that are missing are made; those that mirror nothing, or are to be deleted, go for good."""
        if not node["metadata"].get("uid"):
            return
        wanted = {key(pod): pod for pod in self.pods.values()}
        for name, found in list(self.mirrors.items()):
            pod = wanted.get(name)
            if pod is None and not self.known:
                continue
            if pod is None or original(found) != pod["metadata"]["uid"] or is_deleting(found):
                await self._ask(self._remove(found), name)
        for name, pod in wanted.items():
            if name not in self.mirrors:
                await self._ask(self._client.create(PODS, mirror(pod, node), pod["metadata"]["namespace"]), name)

    async def _remove(self, found: Obj) -> None:
        meta = found["metadata"]
        options = {"gracePeriodSeconds": _NOW, "preconditions": {"uid": meta["uid"]}}
        await self._client.delete(PODS, meta["name"], meta["namespace"], options=options)

    async def _ask(self, work: "asyncio.Future[object] | object", name: str) -> None:
        try:
            await work  # type: ignore[misc]
        except (ApiError, ConnectionError, TimeoutError) as problem:
            if not (isinstance(problem, ApiError) and problem.code in (404, 409)):
                self._log.warning("the mirror of a static pod is not as it should be", pod=name, error=str(problem))
