"""Asks kubelets for their figures, two at a time in a row: rates need two looks. Nobody is asked while nobody wants to know."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from tiphys.apiserver.node_metrics.figures import SHORTEST, Look, look
from tiphys.apiserver.proxying import Target
from tiphys.apiserver.subresources.remote import places
from tiphys.apiserver.subresources.remote.kubelets import Remote, check_reachable
from tiphys.base.clock import Clock
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_FRESH = 5.0
"""So long the last look counts as now."""
_OLDEST = 120.0
"""So far apart two looks may be for their difference to tell how things are now."""
_PATIENCE = 10.0
_LEAST = SHORTEST + 0.1


@dataclass(slots=True)
class _Node:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    before: Look = field(default_factory=Look)
    now: Look = field(default_factory=Look)


class Scraper:
    def __init__(self, remote: Remote, clock: Clock) -> None:
        self._remote = remote
        self._clock = clock
        self._nodes: dict[str, _Node] = {}

    async def looks(self, nodes: Iterable[Obj]) -> dict[str, tuple[Look, Look]]:
        """By node: an earlier look, and the present one. Those that do not answer are missing."""
        wanted = {node["metadata"]["name"]: node for node in nodes}
        found: dict[str, tuple[Look, Look]] = {}

        async def one(name: str, node: Obj) -> None:
            made = await self._of(name, node)
            if made is not None:
                found[name] = made

        async with asyncio.TaskGroup() as group:
            for name, node in wanted.items():
                group.create_task(one(name, node))
        return found

    def forget(self, known: Iterable[str]) -> None:
        """Nodes other than these have gone."""
        for name in self._nodes.keys() - set(known):
            del self._nodes[name]

    async def _of(self, name: str, node: Obj) -> tuple[Look, Look] | None:
        held = self._nodes.setdefault(name, _Node())
        try:
            async with held.lock, asyncio.timeout(_PATIENCE):
                now = self._clock.now()
                if now - held.now.at > _FRESH:
                    held.before, held.now = held.now, await self._ask(node)
                if held.now.at - held.before.at > _OLDEST:
                    await self._clock.sleep(_LEAST)
                    held.before, held.now = held.now, await self._ask(node)
        except (ApiError, ConnectionError, TimeoutError, ValueError):
            return None
        return held.before, held.now

    async def _ask(self, node: Obj) -> Look:
        place = places.kubelet(node, self._remote.settings.address_types, self._remote.settings.port)
        await check_reachable(place.host)
        context = self._remote.context(to_kubelet=True)
        target = Target(place.scheme, place.host, place.port, "/metrics/resource", "", context)
        incoming = await self._remote.forwarder.fetch(target)
        async with incoming:
            body = await incoming.read_all()
        if incoming.status != 200:
            raise ValueError(f"the kubelet answered {incoming.status}")
        return look(body.decode(errors="replace"))
