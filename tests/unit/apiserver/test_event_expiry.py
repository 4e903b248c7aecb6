"""Events that nobody repeats go after an hour. v1.36.4 pkg/registry/core/event/storage/storage.go:53 (TTLFunc), --event-ttl."""

import asyncio

import pytest

from tiphys.api.core.events import last_told
from tiphys.apiserver.event_expiry import TTL, Expiry, keep_expiring
from tiphys.machinery import times
from tiphys.machinery.record import encode
from tiphys.store.interface import Put
from tiphys.store.memory import MemoryStore

BORN = 1_700_000_000.0


def event(name, born=BORN, **said):
    metadata = {"name": name, "namespace": "default", "creationTimestamp": times.rfc3339(born)}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, **said}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, BORN),
        ({"lastTimestamp": times.rfc3339(BORN + 50)}, BORN + 50),
        ({"eventTime": "2023-11-14T22:13:30.500000Z", "lastTimestamp": None}, BORN + 10.5),
        ({"series": {"count": 3, "lastObservedTime": "2023-11-14T22:15:00.000000Z"}}, BORN + 100),
    ],
)
def test_an_event_is_as_old_as_what_was_said_last(said, expected):
    assert last_told(event("a", **said)) == expected


def test_a_change_is_news_even_if_its_times_are_old():
    told = event("a")
    told["metadata"]["managedFields"] = [{"manager": "x", "time": times.rfc3339(BORN + 70)}]
    assert last_told(told) == BORN + 70


async def put(store, obj):
    await store.write([Put("events", f"default/{obj['metadata']['name']}", encode(obj))])


async def names(store):
    return [record.name for record in (await store.list("events")).records]


def test_what_was_not_repeated_for_an_hour_goes_and_nothing_else():
    async def scenario():
        store = MemoryStore()
        await put(store, event("old"))
        await put(store, event("repeated"))
        await put(store, event("young", BORN + 600))
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "creationTimestamp": times.rfc3339(BORN)}}
        await store.write([Put("configmaps", "default/a", encode(config))])
        expiry = Expiry(store, TTL)
        await expiry.look(BORN + TTL - 1)
        assert len(await names(store)) == 3
        await put(store, event("repeated", lastTimestamp=times.rfc3339(BORN + TTL - 1)))
        await expiry.look(BORN + TTL)
        assert await names(store) == ["default/repeated", "default/young"]
        await expiry.look(BORN + 9 * TTL)
        assert await names(store) == []
        assert len((await store.list("configmaps")).records) == 1

    asyncio.run(scenario())


class Late:
    """A clock on which ages pass with every sleep, until somebody has slept often enough."""

    def __init__(self, turns):
        self._turns = turns
        self.over = asyncio.Event()

    def now(self):
        return BORN + 100 * TTL

    async def sleep(self, _seconds):
        self._turns -= 1
        if self._turns < 0:
            self.over.set()
            await asyncio.Event().wait()


@pytest.mark.parametrize(("ttl", "left"), [(TTL, 0), (0, 1)])
def test_without_a_time_to_live_events_stay(ttl, left):
    async def scenario():
        store, clock = MemoryStore(), Late(2)
        await put(store, event("a"))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(keep_expiring(store, clock, ttl))
            await clock.over.wait()
            task.cancel()
        assert len(await names(store)) == left

    asyncio.run(scenario())
