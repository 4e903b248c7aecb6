"""The store on etcd. Reads are answered by the mirror once it has reached the revision that etcd has now; writes are
transactions, and return when the mirror has seen them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc

from tiphys.base.tasks import spawn, start
from tiphys.machinery.record import Record, stamp, unstamp
from tiphys.store.etcd.connection import Connection, EtcdConfig, Refused, protos
from tiphys.store.etcd.keys import Keys, understand
from tiphys.store.etcd.mirror import Mirror, WentBack
from tiphys.store.interface import Codec, Delete, Guard, Listing, Mismatch, Op, Put, Subscription, Unavailable, Watcher
from tiphys.store.mvcc import MAX_BYTES, MAX_EVENTS, Mvcc, check_distinct

# Any key will do: the answer's header tells the revision.
_NOWHERE = b"\0"


class EtcdStore:
    """Opened by its composition root, outside of everything that uses it:

        async with EtcdStore.open(EtcdConfig(endpoints)) as store:
            await start(group, ApiServer(store).run, name="apiserver")

    Loads everything before it is ready; raises Unavailable if etcd cannot be reached for a while. `failed()` is for the root
    to wait on. A write that raises Unavailable may have happened.
    """

    def __init__(self, connection: Connection, mirror: Mirror, codec: Codec | None, keys: Keys) -> None:
        """For `open` only."""
        self._keys = keys
        self._connection = connection
        self._mirror = mirror
        self._codec = codec
        self._mvcc = mirror.mvcc
        self._failure = ""
        self._has_failed = asyncio.Event()
        self._size = 0
        self._readers: list[asyncio.Future[int]] = []
        self._reader_came = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: EtcdConfig, *, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES, codec: Codec | None = None
    ) -> "AsyncIterator[EtcdStore]":
        """`max_events` and `max_bytes` bound the history that the mirror keeps for watches and old revisions. `codec`
        seals what goes to etcd."""
        connection, keys = Connection(config), Keys(config.prefix)
        try:
            store = cls(connection, Mirror(connection, Mvcc(max_events, max_bytes), codec, keys), codec, keys)
            await store._measure()
            async with _TaskGroup() as group:
                mirroring = await start(group, store._run_mirror, name="etcd-mirror")
                reading = spawn(group, store._answer_readers(), name="etcd-revision")
                try:
                    yield store
                finally:
                    store._fail("the store is closed")
                    mirroring.cancel()
                    reading.cancel()
        finally:
            await connection.close()

    @property
    def revision(self) -> int:
        return self._mvcc.revision

    @property
    def oldest(self) -> int:
        return self._mvcc.oldest

    def peek(self, bucket: str, name: str) -> Record | None:
        return self._mvcc.get(bucket, name)

    async def get(self, bucket: str, name: str) -> Record | None:
        await self._catch_up()
        return self._mvcc.get(bucket, name)

    async def latest(self, bucket: str, name: str) -> Record | None:
        return await self.get(bucket, name)

    async def list(
        self, bucket: str, namespace: str = "", *, revision: int | None = None, limit: int = 0, after: str = ""
    ) -> Listing:
        # A revision that another API server has told may be one that this mirror has not come to yet.
        if revision is None or revision > self._mvcc.revision:
            await self._catch_up()
        return self._mvcc.list(bucket, namespace, revision or None, limit, after)

    async def write(self, ops: Sequence[Op]) -> Sequence[Record]:
        if self._failure:
            raise Unavailable(self._failure)
        check_distinct(ops)
        request, guarded = _transaction(ops, self._codec, self._keys)
        before = [self._mvcc.get(op.bucket, op.name) for op in ops]
        try:
            async with asyncio.timeout(self._connection.patience):
                answer = await self._connection.call("KV", "Txn", request)
                if not answer.succeeded:
                    raise _mismatch(guarded, answer.responses, self._codec, self._keys)
                revision = answer.header.revision
                await self._mirror.reach(revision)
        except TimeoutError:
            raise Unavailable("etcd has taken a write, but its watch does not tell it") from None
        except Refused as error:
            raise ValueError(f"etcd refuses a write: {error}") from None
        seen = {(event.record.bucket, event.record.name): event.record for event in self._mvcc.at_revision(revision)}
        return [
            seen.get((op.bucket, op.name)) or _unseen(op, revision, last)
            for op, last in zip(ops, before, strict=True)
            if not isinstance(op, Guard)
        ]

    def watch(self, bucket: str, namespace: str, since: int, deliver: Watcher) -> Subscription:
        past = self._mvcc.since(bucket, namespace, since)
        revision = self._mvcc.revision
        if past:
            deliver(past, revision)
        return self._mirror.watchers.add(bucket, namespace, revision, deliver)

    async def compact(self, revision: int) -> None:
        """Here and in etcd."""
        self._mvcc.compact(revision)
        try:
            await self._connection.ask("KV", "Compact", protos()["CompactionRequest"](revision=revision))
        except Refused as error:
            # Somebody else has compacted it already.
            if error.code is not grpc.StatusCode.OUT_OF_RANGE:
                raise Unavailable(f"etcd refuses to compact: {error}") from None
        await self._measure()

    def is_stale(self, bucket: str, name: str) -> bool:
        return (bucket, name) in self._mirror.stale

    def count(self, bucket: str) -> int:
        return self._mvcc.count(bucket)

    def size(self) -> int:
        """Of etcd's database, when it was last compacted from here."""
        return self._size

    async def failed(self) -> None:
        await self._has_failed.wait()
        raise Unavailable(self._failure)

    async def _run_mirror(self, ready: Any) -> None:
        try:
            await self._mirror.run(ready)
        except WentBack as error:
            self._fail(str(error))

    def _fail(self, failure: str) -> None:
        self._failure = self._failure or failure
        self._has_failed.set()
        for future in self._readers:
            if not future.done():
                future.set_exception(Unavailable(self._failure))
        self._readers.clear()

    async def _catch_up(self) -> None:
        """Wait until the mirror has all that etcd has had when this was called."""
        if self._failure:
            raise Unavailable(self._failure)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._readers.append(future)
        self._reader_came.set()
        revision = await future
        if revision > self._mvcc.revision:
            try:
                async with asyncio.timeout(self._connection.patience):
                    await self._mirror.reach(revision)
            except TimeoutError:
                raise Unavailable("the watch of etcd lags behind") from None

    async def _answer_readers(self) -> None:
        """One question to etcd at a time, on behalf of all who came before it was asked."""
        request = protos()["RangeRequest"](key=_NOWHERE, count_only=True)
        while True:
            await self._reader_came.wait()
            self._reader_came.clear()
            readers, self._readers = self._readers, []
            try:
                answer = await self._connection.ask("KV", "Range", request)
            except (Unavailable, Refused) as error:
                for future in readers:
                    if not future.done():
                        future.set_exception(Unavailable(str(error)))
                continue
            for future in readers:
                if not future.done():
                    future.set_result(answer.header.revision)

    async def _measure(self) -> None:
        with contextlib.suppress(Refused):
            answer = await self._connection.ask("Maintenance", "Status", protos()["StatusRequest"]())
            self._size = answer.dbSize


def _unseen(op: Put | Delete, revision: int, before: Record | None) -> Record:
    """The record of a write whose event is not kept, because the mirror had to list again meanwhile."""
    if isinstance(op, Put):
        data = stamp(op.value, revision)
    else:
        data = stamp(unstamp(before.data), revision) if before is not None else b"{}"
    return Record(op.bucket, op.name, data, revision, before.created if before is not None else revision)


class _TaskGroup(asyncio.TaskGroup):
    """Lets an error of its body pass as it is: whoever opens a store need not know that there are tasks behind it."""

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        await super().__aexit__(None, None, None)


def _transaction(ops: Sequence[Op], codec: Codec | None, keys: Keys) -> tuple[Any, list[Op]]:
    """The request, and the operations whose keys it reads back if a condition fails."""
    messages = protos()
    compare, request_op = messages["Compare"], messages["RequestOp"]
    request = messages["TxnRequest"]()
    guarded: list[Op] = []
    for op in ops:
        key = keys.of(op.bucket, op.name)
        if op.expect is not None:
            request.compare.append(compare(result=0, target=2, key=key, mod_revision=op.expect))
        if isinstance(op, Delete):
            request.compare.append(compare(result=1, target=1, key=key, create_revision=0))
        if op.expect is not None or isinstance(op, Delete):
            guarded.append(op)
            request.failure.append(request_op(request_range=messages["RangeRequest"](key=key)))
        if isinstance(op, Put):
            value = op.value if codec is None else codec.seal(op.bucket, op.name, op.value)
            request.success.append(request_op(request_put=messages["PutRequest"](key=key, value=value)))
        elif isinstance(op, Delete):
            request.success.append(request_op(request_delete_range=messages["DeleteRangeRequest"](key=key)))
    return request, guarded


def _mismatch(guarded: list[Op], responses: Sequence[Any], codec: Codec | None, keys: Keys) -> Mismatch:
    """The first condition that does not hold, by what the transaction has read."""
    found: list[tuple[Op, int, Record | None]] = []
    for op, response in zip(guarded, responses, strict=True):
        kvs = response.response_range.kvs
        revision = kvs[0].mod_revision if kvs else 0
        data = understand(keys.opened(kvs[0].key, kvs[0].value, codec)) if kvs else None
        record = None
        if data is not None:
            record = Record(op.bucket, op.name, stamp(data, revision), revision, kvs[0].create_revision)
        found.append((op, revision, record))
    for op, revision, record in found:
        if op.expect is not None and op.expect != revision:
            return Mismatch(op, record)
    for op, revision, record in found:
        if revision == 0 and isinstance(op, Delete):
            return Mismatch(op, record)
    raise AssertionError("etcd tells of a condition that fails, but all of them hold")
