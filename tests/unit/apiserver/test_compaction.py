"""What is older than one turn of the compactor goes. v1.36.4 apiserver/pkg/storage/etcd3/compact.go: every five minutes."""

import asyncio

import pytest

from tiphys.apiserver.compaction import keep_compacting
from tiphys.machinery.record import encode
from tiphys.store.interface import Compacted, Put, Unavailable
from tiphys.store.memory import MemoryStore


class Turns:
    """A clock whose sleeps end when the test says so."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(0)
        self.waiting = asyncio.Semaphore(0)

    async def sleep(self, _seconds: float) -> None:
        self.waiting.release()
        await self._turn.acquire()

    async def next(self) -> None:
        self._turn.release()
        await self.waiting.acquire()


async def put(store: MemoryStore, name: str) -> int:
    value = encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    return (await store.write([Put("configmaps", name, value)]))[0].revision


async def compacted_revisions() -> tuple[bool, bool]:
    store, clock = MemoryStore(), Turns()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keep_compacting(store, clock))
        await clock.waiting.acquire()
        first = await put(store, "a")
        await put(store, "a")
        await clock.next()
        after_one = await readable(store, first)
        await put(store, "a")
        await clock.next()
        after_two = await readable(store, first)
        task.cancel()
    return after_one, after_two


async def readable(store: MemoryStore, revision: int) -> bool:
    try:
        await store.list("configmaps", revision=revision)
    except Compacted:
        return False
    return True


def test_history_survives_one_turn_and_goes_with_the_next():
    assert asyncio.run(compacted_revisions()) == (True, False)


@pytest.mark.parametrize("turns", [1, 3])
def test_an_idle_store_is_left_alone(turns):
    async def run() -> int:
        store, clock = MemoryStore(), Turns()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(keep_compacting(store, clock))
            await clock.waiting.acquire()
            for _ in range(turns):
                await clock.next()
            task.cancel()
        return store.oldest

    assert asyncio.run(run()) == MemoryStore().oldest


class Away(MemoryStore):
    """Does not answer once."""

    answers = False

    async def compact(self, revision: int) -> None:
        if not self.answers:
            self.answers = True
            raise Unavailable("etcd does not answer")
        await super().compact(revision)


def test_a_store_that_is_away_is_compacted_at_the_next_turn():
    async def run() -> tuple[bool, bool]:
        store, clock = Away(), Turns()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(keep_compacting(store, clock))
            await clock.waiting.acquire()
            first = await put(store, "a")
            await put(store, "a")
            await clock.next()
            await clock.next()
            while_away = await readable(store, first)
            await clock.next()
            task.cancel()
            return while_away, await readable(store, first)

    assert asyncio.run(run()) == (True, False)
