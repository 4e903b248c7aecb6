"""Looks how much is left, ends the pod whose turn it is, and waits until it is gone before it looks again."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.kubelet.configuration import seconds
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.eviction.ranking import Usage, limits_disk, low_on, over_own_limit, ranked
from tiphys.kubelet.eviction.signals import RESOURCES, Finding, Observation, State, Threshold, step, thresholds
from tiphys.kubelet.eviction.usage import Layers
from tiphys.machinery.tree import Obj

EVERY = 10.0
_CLEANUP_SECONDS = 30.0
_AT_ONCE = 1.0

Observe = Callable[[], dict[str, Observation]]


class Evictable(Protocol):
    """A pod that runs here."""

    @property
    def pod(self) -> Obj: ...

    @property
    def runs(self) -> bool: ...

    async def measure(self, layers: Layers) -> Usage: ...

    def evict(self, message: str, grace: float, *, starved: bool) -> bool: ...


@dataclass(frozen=True, slots=True)
class Means:
    """What the manager may do on this node."""

    pods: Callable[[], Iterable[Evictable]]
    observe: Observe
    layers: Callable[[], "asyncio.Future[Layers] | object"]
    reclaim: Callable[[str], "asyncio.Future[None] | object"]
    """Free what nobody uses (images, dead containers) for the sake of a resource."""
    tell: Callable[[str, str], None]
    """An event of the node: reason and message."""


class EvictionManager:
    def __init__(self, settings: Obj, means: Means, clock: Clock, log: Logger) -> None:
        self._settings = settings
        self._thresholds = thresholds(settings)
        self._transition = seconds(settings, "evictionPressureTransitionPeriod")
        self._means = means
        self._clock = clock
        self._log = log
        self._state = State()
        self.pressures: tuple[str, ...] = ()

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        while True:
            evicted: list[Evictable] = []
            try:
                evicted = await self._look()
            except (RuntimeFailed, OSError) as problem:
                self._log.warning("how much is left cannot be measured", error=str(problem))
            if evicted:
                await self._until_gone(evicted)
            else:
                await self._clock.sleep(EVERY)

    async def _until_gone(self, evicted: list[Evictable]) -> None:
        until = self._clock.monotonic() + _CLEANUP_SECONDS
        while any(each.runs for each in evicted) and self._clock.monotonic() < until:
            await self._clock.sleep(1.0)

    async def _look(self) -> list[Evictable]:
        seen = await asyncio.to_thread(self._means.observe)
        self._state, finding = step(self._state, self._thresholds, seen, self._transition, self._clock.now())
        self.pressures = finding.pressures
        running = [each for each in self._means.pods() if each.runs]
        evicted = await self._over_limits([each for each in running if limits_disk(each.pod)])
        if evicted or not finding.starved:
            return evicted
        return await self._win_back(finding, seen, running)

    async def _over_limits(self, limited: list[Evictable]) -> list[Evictable]:
        if not limited or not self._settings.get("localStorageCapacityIsolation", True):
            return []
        layers = await self._layers()
        found = [(each, over_own_limit(each.pod, await each.measure(layers))) for each in limited]
        return [each for each, words in found if words and each.evict(words, _AT_ONCE, starved=False)]

    async def _layers(self) -> Layers:
        found: Layers = await self._means.layers()  # type: ignore[misc]
        return found

    async def _win_back(self, finding: Finding, seen: dict[str, Observation], running: list[Evictable]) -> list[Evictable]:
        threshold = finding.starved[0]
        resource = RESOURCES[threshold.signal]
        self._means.tell("EvictionThresholdMet", f"Attempting to reclaim {resource}")
        await self._means.reclaim(resource)  # type: ignore[misc]
        after = await asyncio.to_thread(self._means.observe)
        if after[threshold.signal].available >= threshold.safe(after[threshold.signal].capacity):
            return []
        layers = await self._layers()
        usages = {each.pod["metadata"]["uid"]: await each.measure(layers) for each in running}
        by_uid = {each.pod["metadata"]["uid"]: each for each in running}
        for pod, usage in ranked(resource, [(each.pod, usages[each.pod["metadata"]["uid"]]) for each in running]):
            words = low_on(resource, pod, usage, threshold, seen[threshold.signal])
            chosen = by_uid[pod["metadata"]["uid"]]
            if chosen.evict(words, self._grace(threshold, pod), starved=True):
                return [chosen]
        return []

    def _grace(self, threshold: Threshold, pod: Obj) -> float:
        if threshold.hard:
            return _AT_ONCE
        longest = float(self._settings.get("evictionMaxPodGracePeriod") or 0)
        return min(longest, float(pod["spec"].get("terminationGracePeriodSeconds", longest)))
