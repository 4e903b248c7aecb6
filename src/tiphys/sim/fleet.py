"""Any number of simulated nodes in one task: they register, keep their Leases, and do with each pod what `pods.py` says."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from tiphys.api.coordination.leases import LEASES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import start
from tiphys.client.informer import Informer
from tiphys.client.interface import Client
from tiphys.client.workqueue import WorkQueue
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.sim import machines
from tiphys.sim.pods import Place, step

AT_ONCE = 16
"""Writes under way."""
TICK = 1.0
Troubles = (ApiError, ConnectionError, TimeoutError)


class Fleet:
    def __init__(
        self, client: Client, count: int, clock: Clock, chance: Callable[[], float], log: Logger, *, first: int = 0
    ) -> None:
        """`count` nodes, numbered from `first`."""
        if first + count > machines.MOST_NODES:
            raise ValueError(f"there are addresses for {machines.MOST_NODES} simulated nodes, not for {first + count}")
        self._client = client
        self._clock = clock
        self._log = log
        self._numbers = {machines.name_of(number): number for number in range(first, first + count)}
        self._nodes = Informer(client, NODES, clock, chance, log)
        self._pods = Informer(client, PODS, clock, chance, log)
        self._queue = WorkQueue(longest_delay=10.0)
        self._wake = asyncio.Event()
        self._places: dict[str, tuple[str, int]] = {}
        """By uid of a pod: its node and its place there."""
        self._taken: dict[str, set[int]] = {name: set() for name in self._numbers}

    async def run(self, ready: Callable[[], None]) -> None:
        """Ready once every node is registered and said to be well."""
        await self._all(list(self._numbers), self._register)
        self._nodes.add_handler(self._node_changed)
        self._pods.add_handler(self._pod_changed)
        async with asyncio.TaskGroup() as group:
            await start(group, self._nodes.run, name="simulated nodes: informer of nodes")
            await start(group, self._pods.run, name="simulated nodes: informer of pods")
            group.create_task(self._keep_leases())
            ready()
            await self._work(group)

    async def _all(self, names: Sequence[str], what: Callable[[str], Awaitable[None]]) -> None:
        """For each name, so many at a time."""
        left = iter(names)

        async def some() -> None:
            for name in left:
                await what(name)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(names))):
                group.create_task(some())

    async def _register(self, name: str) -> None:
        number = self._numbers[name]
        while True:
            try:
                node = await self._made(number)
                now = self._clock.now()
                if not machines.is_well(node):
                    status = machines.node_status(number, node, now)
                    await self._client.patch(NODES, name, {"status": status}, subresource="status")
                await self._renew(node)
            except Troubles as problem:
                self._log.warning("a simulated node could not register", node=name, error=str(problem))
                await self._clock.sleep(TICK)
            else:
                return

    async def _made(self, number: int) -> Obj:
        try:
            return await self._client.create(NODES, machines.node_object(number))
        except ApiError as refused:
            if refused.reason != "AlreadyExists":
                raise
            return await self._client.get(NODES, machines.name_of(number))

    # Leases.

    async def _keep_leases(self) -> None:
        """A few every second, so that all have had their turn in time; many nodes take longer for a round than a few."""
        round_seconds = 10 if len(self._numbers) <= 100 else 20
        turn = 0
        while True:
            await self._clock.sleep(TICK)
            due = [name for name, number in self._numbers.items() if number % round_seconds == turn]
            turn = (turn + 1) % round_seconds
            await self._all(due, self._renew_by_name)

    async def _renew_by_name(self, name: str) -> None:
        node = self._nodes.cache.get(name)
        if node is None or machines.is_silent(node):
            return
        try:
            await self._renew(node)
        except Troubles as problem:
            self._log.warning("a lease was not renewed", node=name, error=str(problem))

    async def _renew(self, node: Obj) -> None:
        now = self._clock.now()
        change = {"spec": machines.renewal(now)}
        try:
            await self._client.patch(LEASES, meta.name(node), change, machines.LEASE_NAMESPACE)
        except ApiError as refused:
            if refused.reason != "NotFound":
                raise
            await self._client.create(LEASES, machines.lease(node, now), machines.LEASE_NAMESPACE)

    # What wakes it.

    def _node_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None or meta.name(new) not in self._numbers:
            return
        if not machines.is_well(new):
            self._add(meta.name(new))
        if old is not None and machines.is_silent(old) and not machines.is_silent(new):
            for pod in self._pods.cache.by("node", meta.name(new)):
                self._add(meta.key(pod))

    def _pod_changed(self, old: Obj | None, new: Obj | None) -> None:
        obj = new if new is not None else old
        assert obj is not None
        name = obj["spec"].get("nodeName", "")
        if name not in self._numbers:
            return
        if new is None:
            node, place = self._places.pop(meta.uid(obj), ("", 0))
            self._taken.get(node, set()).discard(place)
            return
        self._add(meta.key(new))

    def _add(self, key: str) -> None:
        self._queue.add(key, self._clock.monotonic())
        self._wake.set()

    # What it does: a key with a slash is a pod's, else a node's.

    async def _work(self, group: asyncio.TaskGroup) -> None:
        loop = asyncio.get_running_loop()
        while True:
            taken = self._queue.take(self._clock.monotonic()) if self._queue.working < AT_ONCE else None
            if taken is not None:
                group.create_task(self._turn(taken[0]))
                continue
            self._wake.clear()
            due = self._queue.next_at() if self._queue.working < AT_ONCE else None
            timer = loop.call_later(max(0.0, due - self._clock.monotonic()), self._wake.set) if due is not None else None
            await self._wake.wait()
            if timer is not None:
                timer.cancel()

    async def _turn(self, key: str) -> None:
        try:
            again_at = await (self._pod_turn(key) if "/" in key else self._node_turn(key))
        except Troubles as problem:
            if not isinstance(problem, ApiError) or problem.reason != "NotFound":
                self._log.debug(1, "a write for a simulated node failed", key=key, error=str(problem))
                self._queue.retry(key, self._clock.monotonic())
        else:
            self._queue.forget(key)
            if again_at is not None:
                self._queue.add_after(key, again_at - self._clock.now(), self._clock.monotonic())
        finally:
            self._queue.done(key)
            self._wake.set()

    async def _node_turn(self, name: str) -> float | None:
        node = self._nodes.cache.get(name)
        if node is None or machines.is_silent(node) or machines.is_well(node):
            return None
        metadata = {"resourceVersion": meta.resource_version(node)}
        change = {"metadata": metadata, "status": {"conditions": machines.conditions(node, self._clock.now())}}
        await self._client.patch(NODES, name, change, subresource="status")
        return None

    async def _pod_turn(self, key: str) -> float | None:
        pod = self._pods.cache.get(key)
        name = pod["spec"].get("nodeName", "") if pod is not None else ""
        node = self._nodes.cache.get(name)
        if pod is None or node is None or machines.is_silent(node):
            return None
        number = self._numbers[name]
        place = Place(machines.own_address(number), machines.address(number, self._place(pod, name, number)))
        due = step(pod, place, self._clock.now())
        if due.status is not None:
            await self._write(pod, due.status)
        if due.delete:
            preconditions = {"uid": meta.uid(pod)}
            options = {
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "gracePeriodSeconds": 0,
                "preconditions": preconditions,
            }
            await self._client.delete(PODS, meta.name(pod), meta.namespace(pod), options=options)
        return due.at

    async def _write(self, pod: Obj, status: Obj) -> None:
        """Only over what this decision was made about."""
        change = {"metadata": {"resourceVersion": meta.resource_version(pod)}, "status": status}
        await self._client.patch(PODS, meta.name(pod), change, meta.namespace(pod), subresource="status")

    def _place(self, pod: Obj, name: str, number: int) -> int:
        """The pod's own, or the first that is free."""
        uid, taken = meta.uid(pod), self._taken[name]
        if uid not in self._places:
            told = (pod.get("status") or {}).get("podIP")
            held = machines.place_of(number, told) if told else None
            place = held if held else next(each for each in range(1, 1000) if each not in taken)
            self._places[uid] = (name, place)
            taken.add(place)
        return self._places[uid][1]
