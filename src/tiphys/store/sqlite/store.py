"""The event loop's side of the durable store: everything is answered from memory, and memory moves on after the disk has.

A write is checked against the state including the writes that are on their way, takes the next revision, and is queued for
the writer's thread. When that reports it durable it becomes visible: first to reads and watchers, then to the writer. If the
disk fails, nothing that was not acknowledged becomes visible, and every write from then on is refused: what is on the
disk after a failed write is known only to the next process that opens the file.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tiphys.machinery.record import Record
from tiphys.store.interface import Codec, Event, Listing, Mismatch, Op, Subscription, Unavailable, Watcher
from tiphys.store.mvcc import MAX_BYTES, MAX_EVENTS, Mvcc, prepare
from tiphys.store.sqlite.file import PLACE_BITS, backup, load, lock, open_file
from tiphys.store.sqlite.writer import Commit, Row, Trim, Writer
from tiphys.store.watchers import Watchers


@dataclass(slots=True)
class _Write:
    events: list[Event]
    revision: int
    done: asyncio.Future[None]
    others: list[asyncio.Future[None]] = field(default_factory=list)
    """Of those who wait for this write without having made it."""

    def resolve(self, failure: str = "") -> None:
        for future in (self.done, *self.others):
            if future.done():
                continue  # whoever waited has been cancelled
            if failure:
                future.set_exception(Unavailable(failure))
            else:
                future.set_result(None)


class SqliteStore:
    """Opened by its composition root, outside of everything that uses it:

        async with SqliteStore.open(Path("cluster.db")) as store:
            await start(group, ApiServer(store).run, name="apiserver")

    On the way out what is queued is still written. `failed()` is for the root to wait on.
    """

    def __init__(self, mvcc: Mvcc, path: Path, loop: asyncio.AbstractEventLoop, codec: Codec | None) -> None:
        """For `open` only."""
        self._mvcc = mvcc
        self._path = path
        self._loop = loop
        self._codec = codec
        self._watchers = Watchers()
        self._head = mvcc.revision
        self._pending: dict[tuple[str, str], Event] = {}
        self._flying: deque[_Write] = deque()
        self._failure = ""
        self._has_failed = asyncio.Event()
        self._writer: Writer

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path, *, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES, codec: Codec | None = None
    ) -> "AsyncIterator[SqliteStore]":
        """Opens or creates the file; raises UnusableFile if it is in use, foreign or damaged. `max_events` and `max_bytes`
        bound the history that is kept for watches and old revisions. `codec` seals what goes into the file."""
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            stack.enter_context(lock(path))
            connection = await asyncio.to_thread(open_file, path)
            try:
                mvcc = Mvcc(max_events, max_bytes)
                garbage = await asyncio.to_thread(load, connection, path, mvcc, codec)
            except BaseException:
                connection.close()
                raise
            store = cls(mvcc, path, loop, codec)
            store._writer = Writer(
                connection,
                path,
                garbage,
                lambda count: loop.call_soon_threadsafe(store._on_committed, count),
                lambda error: loop.call_soon_threadsafe(store._on_failed, error),
            )
            store._writer.start()
            store._trim()
            try:
                yield store
            finally:
                await store._close()

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
        return self._newest(bucket, name)

    async def list(
        self, bucket: str, namespace: str = "", *, revision: int | None = None, limit: int = 0, after: str = ""
    ) -> Listing:
        return self._mvcc.list(bucket, namespace, revision or None, limit, after)

    async def write(self, ops: Sequence[Op]) -> Sequence[Record]:
        if self._failure:
            raise Unavailable(self._failure)
        revision = self._head + 1
        try:
            events = prepare(ops, self._newest, revision)
        except Mismatch:
            # The answer may rest on a write that is still on its way; it must not be told before that is certain.
            await self._settled()
            raise
        if not events:
            await self._settled()
            return ()
        rows: list[Row] = []
        place = revision << PLACE_BITS
        if len(events) >> PLACE_BITS:
            raise ValueError(f"one write cannot change {len(events)} objects")
        for event in events:
            record = event.record
            self._pending[record.bucket, record.name] = event
            rows.append((place, record.bucket, record.name, record.created, None if event.deleted else self._kept(record)))
            place += 1
        self._head = revision
        write = _Write(events, revision, self._loop.create_future())
        self._flying.append(write)
        self._writer.put(Commit(rows))
        await write.done
        return [event.record for event in events]

    def watch(self, bucket: str, namespace: str, since: int, deliver: Watcher) -> Subscription:
        past = self._mvcc.since(bucket, namespace, since)
        revision = self._mvcc.revision
        if past:
            deliver(past, revision)
        return self._watchers.add(bucket, namespace, revision, deliver)

    async def compact(self, revision: int) -> None:
        before = self._mvcc.oldest
        dropped = self._mvcc.compact(revision)
        if self._mvcc.oldest > before:
            self._writer.put(Trim(dropped, self._mvcc.oldest))

    def is_stale(self, bucket: str, name: str) -> bool:  # noqa: ARG002 - what was is rewritten at the start
        return False

    def count(self, bucket: str) -> int:
        return self._mvcc.count(bucket)

    def size(self) -> int:
        total = 0
        for suffix in ("", "-wal"):
            try:
                total += self._path.with_name(self._path.name + suffix).stat().st_size
            except FileNotFoundError:
                continue
        return total

    async def failed(self) -> None:
        await self._has_failed.wait()
        raise Unavailable(self._failure)

    async def backup(self, target: Path) -> None:
        """Copy the store as it is now into a file that `restore`, or `open`, takes. Writes go on meanwhile."""
        await asyncio.to_thread(backup, self._path, target)

    def _kept(self, record: Record) -> bytes:
        return record.data if self._codec is None else self._codec.seal(record.bucket, record.name, record.data)

    def _newest(self, bucket: str, name: str) -> Record | None:
        if self._pending:
            event = self._pending.get((bucket, name))
            if event is not None:
                return None if event.deleted else event.record
        return self._mvcc.get(bucket, name)

    async def _settled(self) -> None:
        """Wait until every write that has been queued so far is durable."""
        if self._flying:
            future: asyncio.Future[None] = self._loop.create_future()
            self._flying[-1].others.append(future)
            await future

    def _on_committed(self, count: int) -> None:
        writes = [self._flying.popleft() for _ in range(count)]
        events = writes[0].events if count == 1 else list(itertools.chain.from_iterable(write.events for write in writes))
        revision = writes[-1].revision
        self._mvcc.apply(events, revision)
        pending = self._pending
        for event in events:
            key = (event.record.bucket, event.record.name)
            if pending.get(key) is event:
                del pending[key]
        try:
            self._watchers.publish(events, revision)
        finally:
            for write in writes:
                write.resolve()
            self._trim()

    def _trim(self) -> None:
        dropped = self._mvcc.trim()
        if dropped:
            self._writer.put(Trim(dropped, self._mvcc.oldest))

    def _on_failed(self, error: Exception) -> None:
        self._fail(f"the store cannot write to {self._path}: {error}")

    def _fail(self, failure: str) -> None:
        self._failure = self._failure or failure
        self._has_failed.set()
        while self._flying:
            self._flying.popleft().resolve(self._failure)
        self._pending.clear()

    async def _close(self) -> None:
        self._failure = self._failure or "the store is closed"
        await asyncio.to_thread(self._writer.stop)
        # What the thread reported last is still in the loop's queue.
        await asyncio.sleep(0)
        self._fail(self._failure)
