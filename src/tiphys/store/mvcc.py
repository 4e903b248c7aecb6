"""The state of a store: every live record, and the events since the compacted revision. Pure; the stores wrap it.

Theory of operation. Each bucket keeps its records in a dict, their names in a sorted list, and its own log of events in
order of revision. What was true at an old revision is found by undoing the bucket's newer events: an event carries the
record before it, so the first event after that revision tells what a name held then. Nothing is copied per revision, and a
superseded record lives exactly as long as the event that superseded it.

The log is bounded by events and by bytes as well as by `compact`, since memory is the one thing that cannot be given back
later. `oldest` is the oldest revision that can still be asked for.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence

from tiphys.machinery.record import Record, stamp, unstamp
from tiphys.store.interface import Compacted, Delete, Event, Future, Guard, Listing, Mismatch, Op, Put

FIRST_REVISION = 1
"""Of an empty store, as in etcd: 0 means something else in the API."""

MAX_EVENTS = 50_000
MAX_BYTES = 32 << 20

# What an event costs beside the bytes of the records that only it keeps alive.
_EVENT_OVERHEAD = 250
# How far below its bound the log is cut: not at every write, and never for long.
_CUT_TO = 31 / 32


class _Bucket:
    __slots__ = ("log", "names", "records")

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.names: list[str] = []
        self.log: list[Event] = []


class Mvcc:
    __slots__ = ("_buckets", "_history_bytes", "_live_bytes", "_log", "_max_bytes", "_max_events", "oldest", "revision")

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self.revision = FIRST_REVISION
        self.oldest = FIRST_REVISION
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._buckets: dict[str, _Bucket] = {}
        self._log: list[Event] = []
        self._history_bytes = 0
        self._live_bytes = 0

    def load(self, records: Iterable[Record], revision: int) -> None:
        """Start from a state without history; only for an empty Mvcc."""
        for record in records:
            bucket = self._bucket(record.bucket)
            bucket.records[record.name] = record
            self._live_bytes += len(record.data)
        for bucket in self._buckets.values():
            bucket.names = sorted(bucket.records)
        self.revision = self.oldest = revision

    def get(self, bucket: str, name: str) -> Record | None:
        held = self._buckets.get(bucket)
        return held.records.get(name) if held is not None else None

    def count(self, bucket: str) -> int:
        held = self._buckets.get(bucket)
        return len(held.records) if held is not None else 0

    def get_at(self, bucket: str, name: str, revision: int) -> Record | None:
        """Raises Compacted or Future."""
        self._check(revision)
        held = self._buckets.get(bucket)
        if held is None:
            return None
        for event in _after(held.log, revision):
            if event.record.name == name:
                return event.previous
        return held.records.get(name)

    def list(self, bucket: str, namespace: str = "", revision: int | None = None, limit: int = 0, after: str = "") -> Listing:
        """`revision` None: now. Raises Compacted or Future."""
        if revision is not None:
            self._check(revision)
        at = self.revision if revision is None else revision
        held = self._buckets.get(bucket)
        if held is None:
            return Listing((), at)
        first, last = _span(held.names, namespace, after)
        if at < self.revision:
            undone = _undone(held.log, at, namespace, after)
            if undone:
                return _list_undone(held, undone, first, last, limit, at)
        end = last if limit <= 0 else min(last, first + limit)
        records = held.records
        return Listing([records[name] for name in held.names[first:end]], at, last - end)

    def since(self, bucket: str, namespace: str, revision: int) -> Sequence[Event]:
        """Every event after `revision` of a bucket (empty: of all), or of one namespace in it. Raises Compacted or Future."""
        self._check(revision)
        if not bucket:
            return _after(self._log, revision)
        held = self._buckets.get(bucket)
        if held is None:
            return ()
        events = _after(held.log, revision)
        if not namespace:
            return events
        prefix = namespace + "/"
        return [event for event in events if event.record.name.startswith(prefix)]

    def at_revision(self, revision: int) -> Sequence[Event]:
        """The events of exactly one revision, as far as they are kept."""
        return self._log[bisect_left(self._log, revision, key=_revision) : bisect_right(self._log, revision, key=_revision)]

    def live(self) -> Iterable[Record]:
        """Every live record, bucket by bucket, each bucket in no particular order."""
        for held in self._buckets.values():
            yield from held.records.values()

    def apply(self, events: Iterable[Event], revision: int) -> None:
        """Take in what has happened up to `revision`; the events are in order of revision and newer than everything here."""
        for event in events:
            record, previous = event.record, event.previous
            held = self._bucket(record.bucket)
            name = record.name
            cost = _EVENT_OVERHEAD
            if previous is not None:
                cost += len(previous.data)
                self._live_bytes -= len(previous.data)
            if event.deleted:
                cost += len(record.data)
                del held.records[name]
                del held.names[bisect_left(held.names, name)]
            else:
                if previous is None:
                    insort(held.names, name)
                held.records[name] = record
                self._live_bytes += len(record.data)
            held.log.append(event)
            self._log.append(event)
            self._history_bytes += cost
        self.revision = revision

    def trim(self) -> Sequence[Event]:
        """Cut the log if it has outgrown its bounds; the events that were dropped."""
        log = self._log
        if len(log) <= self._max_events and self._history_bytes <= self._max_bytes:
            return ()
        bytes_left, at = self._history_bytes, 0
        while at < len(log) and (len(log) - at > self._max_events * _CUT_TO or bytes_left > self._max_bytes * _CUT_TO):
            bytes_left -= _cost(log[at])
            at += 1
        return self.compact(log[at - 1].revision)

    def compact(self, revision: int) -> Sequence[Event]:
        """Forget the events up to `revision`, which then is the oldest that can be asked for; the events that were dropped."""
        if revision > self.revision:
            raise Future(revision, self.revision)
        if revision <= self.oldest:
            return ()
        self.oldest = revision
        log = self._log
        dropped = log[: bisect_right(log, revision, key=_revision)]
        del log[: len(dropped)]
        counts: dict[str, int] = {}
        for event in dropped:
            self._history_bytes -= _cost(event)
            counts[event.record.bucket] = counts.get(event.record.bucket, 0) + 1
        for bucket, count in counts.items():
            del self._buckets[bucket].log[:count]
        return dropped

    def size(self) -> int:
        return self._live_bytes + self._history_bytes

    def _bucket(self, name: str) -> _Bucket:
        held = self._buckets.get(name)
        if held is None:
            held = self._buckets[name] = _Bucket()
        return held

    def _check(self, revision: int) -> None:
        if revision > self.revision:
            raise Future(revision, self.revision)
        if revision < self.oldest:
            raise Compacted(revision, self.oldest)


def prepare(ops: Sequence[Op], current: Callable[[str, str], Record | None], revision: int) -> list[Event]:
    """Check every condition of a write against what is there and make its events at `revision`; raises Mismatch.

    A Delete of what is not there is a Mismatch too: it has no last state to answer with.
    """
    found = [current(op.bucket, op.name) for op in ops]
    for op, record in zip(ops, found, strict=True):
        if op.expect is not None and op.expect != (record.revision if record is not None else 0):
            raise Mismatch(op, record)
        if record is None and isinstance(op, Delete):
            raise Mismatch(op, None)
    check_distinct(ops)
    events = []
    for op, record in zip(ops, found, strict=True):
        if isinstance(op, Put):
            events.append(put_event(op.bucket, op.name, stamp(op.value, revision), revision, record))
        elif record is not None and isinstance(op, Delete):
            events.append(delete_event(record, revision))
    return events


def check_distinct(ops: Sequence[Op]) -> None:
    if len(ops) > 1:
        changed = [(op.bucket, op.name) for op in ops if not isinstance(op, Guard)]
        if len(set(changed)) < len(changed):
            raise ValueError("one write changes the same object twice")


def put_event(bucket: str, name: str, data: bytes, revision: int, previous: Record | None) -> Event:
    # Strings and numbers that all revisions of an object have in common are kept once.
    if previous is None:
        return Event(Record(bucket, name, data, revision, revision), None)
    return Event(Record(previous.bucket, previous.name, data, revision, previous.created), previous)


def delete_event(previous: Record, revision: int) -> Event:
    data = stamp(unstamp(previous.data), revision)
    return Event(Record(previous.bucket, previous.name, data, revision, previous.created), previous, True)


def _revision(event: Event) -> int:
    return event.record.revision


def _cost(event: Event) -> int:
    cost = _EVENT_OVERHEAD
    if event.previous is not None:
        cost += len(event.previous.data)
    return cost + len(event.record.data) if event.deleted else cost


def _after(log: list[Event], revision: int) -> list[Event]:
    if not log or log[-1].record.revision <= revision:
        return []
    return log[bisect_right(log, revision, key=_revision) :]


def _span(names: list[str], namespace: str, after: str) -> tuple[int, int]:
    """Which slice of the sorted names is meant."""
    first, last = 0, len(names)
    if namespace:
        first = bisect_left(names, namespace + "/")
        last = bisect_left(names, namespace + "0", first)  # "0" follows "/"
    if after:
        first = max(first, bisect_right(names, after))
    return first, max(first, last)


def _undone(log: list[Event], revision: int, namespace: str, after: str) -> dict[str, Record | None]:
    """For each name that has changed after `revision`: what it held then."""
    prefix = namespace + "/" if namespace else ""
    undone: dict[str, Record | None] = {}
    for event in _after(log, revision):
        name = event.record.name
        if name > after and name not in undone and name.startswith(prefix):
            undone[name] = event.previous
    return undone


def _list_undone(held: _Bucket, undone: dict[str, Record | None], first: int, last: int, limit: int, revision: int) -> Listing:
    records = held.records
    gone = sum(1 for name, record in undone.items() if record is None and name in records)
    back = [name for name, record in undone.items() if record is not None and name not in records]
    total = last - first - gone + len(back)
    # At most `gone` of these names fall out, so that enough stay to fill the page.
    end = last if limit <= 0 else min(last, first + limit + gone)
    names = [name for name in held.names[first:end] if name not in undone or undone[name] is not None]
    if back:
        names = sorted(names + back)
    if limit > 0:
        del names[limit:]
    return Listing([undone.get(name) or records[name] for name in names], revision, total - len(names))
