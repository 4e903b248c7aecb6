"""All of etcd's objects in memory, kept up to date by one watch.

The watch spans the whole key space, also what is not ours, since every change bumps the revision and the mirror must know
that it has seen everything up to it: etcd 3.4 cannot be asked how far a watch has come. When etcd has compacted what came
after the mirror's revision (a long separation), the mirror lists again and makes up events from the difference.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import grpc
import grpc.aio

from tiphys.base.log import log
from tiphys.machinery.record import Record, stamp
from tiphys.store.etcd.connection import Connection, Refused, protos
from tiphys.store.etcd.keys import Keys, understand
from tiphys.store.interface import Codec, Event, Unavailable
from tiphys.store.mvcc import Mvcc, delete_event, put_event
from tiphys.store.watchers import Watchers

_PAGE = 1000
_RETRY_SECONDS = 0.2
_EVERYTHING = b"\0"
# Ends the watch when its member has lost the leader, instead of leaving it silently behind.
_REQUIRE_LEADER = (("hasleader", "true"),)


class WentBack(Unavailable):
    """etcd holds another history than the one that was mirrored: restored from a backup, or another cluster."""


class Mirror:
    """`run` is its service."""

    def __init__(self, connection: Connection, mvcc: Mvcc, codec: Codec | None = None, keys: Keys | None = None) -> None:
        self._keys = keys or Keys()
        self.mvcc = mvcc
        self.watchers = Watchers()
        self._connection = connection
        self._codec = codec
        self.stale: set[tuple[str, str]] = set()
        """What its codec would seal in another way today."""
        self._cluster = 0
        # Who waits for the mirror to reach a revision; the number keeps futures from being compared.
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self._stream: Any = None

    async def run(self, ready: Callable[[], None]) -> None:
        """Ends only with WentBack."""
        loaded, told = False, -1
        while True:
            try:
                if not loaded:
                    await self._load()
                    loaded = True
                    ready()
                await self._follow()
            except WentBack:
                raise
            except (Unavailable, Refused) as error:
                # Once for as long as nothing new comes.
                if told != self.mvcc.revision:
                    told = self.mvcc.revision
                    log.named("store").warning("etcd cannot be followed", error=str(error))
            await asyncio.sleep(_RETRY_SECONDS)

    async def reach(self, revision: int) -> None:
        """Wait until everything up to `revision` is here."""
        if self.mvcc.revision < revision:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (revision, next(self._numbers), future))
            await future

    async def _load(self) -> None:
        values, revision = await self._list()
        self.mvcc.load((_record(bucket, name, data, kv) for (bucket, name), (data, kv) in values.items()), revision)

    async def _list(self) -> tuple[dict[tuple[str, str], tuple[bytes, Any]], int]:
        """Every object that can be understood, and the revision at which this is so."""
        request = protos()["RangeRequest"]
        while True:
            found: dict[tuple[str, str], tuple[bytes, Any]] = {}
            start, revision = self._keys.begin, 0
            try:
                while True:
                    page = await self._connection.ask(
                        "KV", "Range", request(key=start, range_end=self._keys.end, limit=_PAGE, revision=revision)
                    )
                    self._check_cluster(page.header)
                    revision = revision or page.header.revision
                    for kv in page.kvs:
                        place, data = self._keys.place(kv.key), self._understood(kv)
                        if place is not None and data is not None:
                            found[place] = (data, kv)
                    if not page.more:
                        return found, revision
                    start = page.kvs[-1].key + b"\0"
            except Refused as error:
                if error.code is not grpc.StatusCode.OUT_OF_RANGE:
                    raise
                # Compacted between two pages: begin again.

    async def _follow(self) -> None:
        """Take in events until the watch breaks."""
        messages = protos()
        create = messages["WatchCreateRequest"](key=_EVERYTHING, range_end=_EVERYTHING, start_revision=self.mvcc.revision + 1)
        target = self._connection.target
        call = self._stream = self._connection.stream("Watch", "Watch", _REQUIRE_LEADER)
        compacted = False
        try:
            await call.write(messages["WatchRequest"](create_request=create))
            async for response in call:
                if response.created:
                    await self._confirm(response.header)
                if response.compact_revision:
                    compacted = True
                    break
                if response.canceled:
                    raise Unavailable(f"etcd has ended the watch: {response.cancel_reason}")
                if response.events:
                    self._take(response.events)
        except grpc.aio.AioRpcError as error:
            raise self._connection.failed(error, target) from None
        except asyncio.CancelledError:
            raise self._connection.cancelled(target) from None
        except asyncio.InvalidStateError:
            # Written to a stream that has ended meanwhile.
            raise Unavailable("the watch of etcd has ended") from None
        finally:
            call.cancel()
        if compacted:
            await self._catch_up()

    def _take(self, changes: Iterable[Any]) -> None:
        fresh: dict[tuple[str, str], Record | None] = {}
        events: list[Event] = []
        revision = self.mvcc.revision
        for change in changes:
            kv = change.kv
            revision = kv.mod_revision
            place = self._keys.place(kv.key)
            if place is None:
                continue
            bucket, name = place
            previous = fresh[place] if place in fresh else self.mvcc.get(bucket, name)
            data = self._understood(kv) if change.type == 0 else None
            if data is not None:
                event = put_event(bucket, name, stamp(data, revision), revision, previous)
            elif previous is not None:
                event = delete_event(previous, revision)
                self.stale.discard(place)
            else:
                continue
            fresh[place] = None if event.deleted else event.record
            events.append(event)
        self._advance(events, revision)

    async def _catch_up(self) -> None:
        """The events are lost: make up those that lead from what was mirrored to what is there now."""
        values, revision = await self._list()
        events: list[Event] = []
        for record in self.mvcc.live():
            held = values.pop((record.bucket, record.name), None)
            if held is None:
                events.append(delete_event(record, revision))
                continue
            data, kv = held
            if kv.mod_revision == record.revision:
                continue
            previous: Record | None = record
            if kv.create_revision != record.created:
                events.append(delete_event(record, kv.create_revision))
                previous = None
            made = Record(record.bucket, record.name, stamp(data, kv.mod_revision), kv.mod_revision, kv.create_revision)
            events.append(Event(made, previous))
        events.extend(Event(_record(bucket, name, data, kv), None) for (bucket, name), (data, kv) in values.items())
        events.sort(key=lambda event: event.revision)
        log.named("store").warning("etcd was compacted beyond the mirror", changes=len(events), revision=revision)
        self._advance(events, revision)
        # What happened in between is not known, so nobody may ask for it.
        self.mvcc.compact(revision)

    def _advance(self, events: list[Event], revision: int) -> None:
        self.mvcc.apply(events, revision)
        self.mvcc.trim()
        self.watchers.publish(events, revision)
        while self._waiting and self._waiting[0][0] <= revision:
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)

    def _understood(self, kv: Any) -> bytes | None:
        try:
            data = understand(self._keys.opened(kv.key, kv.value, self._codec))
            if self._codec is not None:
                self._note_staleness(kv)
        except Unavailable as problem:
            log.named("store").warning("a value in etcd is not served", why=str(problem))
            return None
        if data is None:
            key = kv.key.decode(errors="replace")
            log.named("store").warning("a value in etcd is not an object in JSON, and is not served", key=key)
        return data

    def _note_staleness(self, kv: Any) -> None:
        assert self._codec is not None
        place = self._keys.place(kv.key)
        if place is None:
            return
        if self._codec.is_current(place[0], kv.value):
            self.stale.discard(place)
        else:
            self.stale.add(place)

    async def _confirm(self, header: Any) -> None:
        """Who answers a watch may be behind the others: whether revisions went back, only most members together can say."""
        if header.revision < self.mvcc.revision:
            page = await self._connection.ask("KV", "Range", protos()["RangeRequest"](key=self._keys.begin, limit=1))
            header = page.header
        self._check_cluster(header)

    def _check_cluster(self, header: Any) -> None:
        self._cluster = self._cluster or header.cluster_id
        if header.cluster_id != self._cluster or header.revision < self.mvcc.revision:
            raise WentBack("etcd holds another history than before: it was restored or replaced; start again")


def _record(bucket: str, name: str, data: bytes, kv: Any) -> Record:
    return Record(bucket, name, stamp(data, kv.mod_revision), kv.mod_revision, kv.create_revision)
