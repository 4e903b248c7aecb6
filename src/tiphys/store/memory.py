"""The store that forgets: for tests, simulations and clusters that live as long as their process."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tiphys.machinery.record import Record
from tiphys.store.interface import Listing, Op, Subscription, Watcher
from tiphys.store.mvcc import MAX_BYTES, MAX_EVENTS, Mvcc, prepare
from tiphys.store.watchers import Watchers


class MemoryStore:
    """Ready once made: `MemoryStore()`; or `async with MemoryStore.open() as store`, like the other stores."""

    __slots__ = ("_mvcc", "_watchers")

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        """`max_events` and `max_bytes` bound the history that is kept for watches and old revisions."""
        self._mvcc = Mvcc(max_events, max_bytes)
        self._watchers = Watchers()

    @classmethod
    @asynccontextmanager
    async def open(cls, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> "AsyncIterator[MemoryStore]":
        yield cls(max_events, max_bytes)

    @property
    def revision(self) -> int:
        return self._mvcc.revision

    @property
    def oldest(self) -> int:
        return self._mvcc.oldest

    def peek(self, bucket: str, name: str) -> Record | None:
        return self._mvcc.get(bucket, name)

    async def get(self, bucket: str, name: str) -> Record | None:
        return self._mvcc.get(bucket, name)

    async def latest(self, bucket: str, name: str) -> Record | None:
        return self._mvcc.get(bucket, name)

    async def list(
        self, bucket: str, namespace: str = "", *, revision: int | None = None, limit: int = 0, after: str = ""
    ) -> Listing:
        return self._mvcc.list(bucket, namespace, revision or None, limit, after)

    async def write(self, ops: Sequence[Op]) -> Sequence[Record]:
        revision = self._mvcc.revision + 1
        events = prepare(ops, self._mvcc.get, revision)
        if events:
            self._mvcc.apply(events, revision)
            self._mvcc.trim()
            self._watchers.publish(events, revision)
        return [event.record for event in events]

    def watch(self, bucket: str, namespace: str, since: int, deliver: Watcher) -> Subscription:
        past = self._mvcc.since(bucket, namespace, since)
        revision = self._mvcc.revision
        if past:
            deliver(past, revision)
        return self._watchers.add(bucket, namespace, revision, deliver)

    async def compact(self, revision: int) -> None:
        self._mvcc.compact(revision)

    def is_stale(self, bucket: str, name: str) -> bool:  # noqa: ARG002 - nothing is kept
        return False

    def count(self, bucket: str) -> int:
        return self._mvcc.count(bucket)

    def size(self) -> int:
        return self._mvcc.size()

    async def failed(self) -> None:
        await asyncio.Event().wait()
