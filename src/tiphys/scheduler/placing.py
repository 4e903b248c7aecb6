"""From a decision to a pod on its node: reserve, permit, wait for volumes, prepare, bind. Many at a time, each in a task.

The pod has been assumed to be there already; what goes wrong on the way is undone, and the pod is tried again.
"""

import asyncio

from tiphys.base.clock import Clock
from tiphys.client.interface import Client
from tiphys.scheduler.binding import Writer
from tiphys.scheduler.cluster import Cluster, VolumesLost
from tiphys.scheduler.cycle import Placed
from tiphys.scheduler.framework import Permission, Prepare, Profile
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.volumes import VolumePlan

AT_ONCE = 64


class Rejected(Exception):
    """A plugin does not let the pod go on; it is tried again when something changes that the plugin names."""

    def __init__(self, plugin: str, words: str) -> None:
        super().__init__(f"0/1 nodes are available: 1 {words}.")
        self.plugin = plugin


class Placing:
    def __init__(self, client: Client, cluster: Cluster, writer: Writer, clock: Clock) -> None:
        self.room = asyncio.Semaphore(AT_ONCE)
        """How many requests are on their way at a time."""
        self._client = client
        self._cluster = cluster
        self._writer = writer
        self._clock = clock

    @staticmethod
    def reserve(profile: Profile, pod: PodInfo, node: str) -> list[tuple[str, Permission]]:
        """What the pod has to wait for before it is bound. Raises Rejected."""
        for plugin in profile.reservers:
            words = plugin.reserve(pod, node)
            if words:
                raise Rejected(plugin.name, words)
        found = []
        for each in profile.permitters:
            permission = each.permit(pod, node)
            if permission is None:
                continue
            if permission.denied:
                raise Rejected(each.name, permission.denied)
            found.append((each.name, permission))
        return found

    @staticmethod
    def undo(profile: Profile, pod: PodInfo, node: str) -> None:
        for plugin in reversed(profile.reservers):
            plugin.unreserve(pod, node)

    async def carry_out(self, profile: Profile, pod: PodInfo, placed: Placed, waits: list[tuple[str, Permission]]) -> None:
        """Until it is bound. Raises Rejected, VolumesLost, NotPrepared, or what the API server says."""
        for plugin, permission in waits:
            await self._permitted(plugin, permission)
        if placed.volumes:
            await self._bind_volumes(placed.volumes, placed.node, profile.volume_seconds)
        for each in profile.pre_binders:
            await each.before_binding(pod, placed.node, self._client)
        for each in profile.pre_binders:
            if isinstance(each, Prepare):
                await self._prepared(each, pod, placed.node)
        async with self.room:
            await self._bind(profile, pod, placed.node)
        for other in profile.post_binders:
            other.bound(pod, placed.node)

    async def take_back(self, profile: Profile, pod: PodInfo, node: str) -> None:
        for each in profile.pre_binders:
            if isinstance(each, Prepare):
                await each.take_back(pod, node, self._client)

    async def _prepared(self, plugin: Prepare, pod: PodInfo, node: str) -> None:
        awaited = plugin.awaits(pod, node)
        if awaited is None:
            return
        self._writer.tell_waits(pod, awaited)
        until = self._clock.monotonic() + awaited.seconds
        while not plugin.is_prepared(pod, self._clock.now()):
            if self._clock.monotonic() > until:
                raise awaited.late
            await self._clock.sleep(1.0)

    async def _bind(self, profile: Profile, pod: PodInfo, node: str) -> None:
        for each in profile.binders:
            if await each.bind(pod, node, self._client):
                self._writer.tell_bound(pod, node)
                return
        await self._writer.bind(pod, node)

    async def _permitted(self, plugin: str, permission: Permission) -> None:
        settled = asyncio.Event()
        permission.when_settled(settled.set)
        try:
            async with asyncio.timeout(permission.seconds):
                await settled.wait()
        except TimeoutError:
            told = f"rejected due to timeout after waiting {permission.seconds:g}s at plugin {plugin}"
            permission.deny(told)
        if permission.denied:
            raise Rejected(plugin, permission.denied)

    async def _bind_volumes(self, plan: VolumePlan, node: str, seconds: float) -> None:
        """Written, and then waited for: others do the binding and the making."""
        try:
            await self._writer.bind_volumes(plan, node)
            until = self._clock.monotonic() + seconds
            while not self._cluster.are_bound(plan, node):
                if self._clock.monotonic() > until:
                    raise VolumesLost("binding volumes: context deadline exceeded")
                await self._clock.sleep(1.0)
        finally:
            self._cluster.take_back(plan)
