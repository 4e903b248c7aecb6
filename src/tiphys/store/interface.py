"""The store as the API server sees it: one interface, one contract suite, three implementations (memory, SQLite, etcd).

Objects live in buckets (`pods`, `services/specs`, `minions`: the part of the etcd key after /registry/) under a name
(`default/web`, or `node-1`). Every change takes the next revision of one global counter; a revision is an object's
resourceVersion. A write is acknowledged when it is durable, and only then seen by `get`, `list` and watchers.

A record holds the object's final JSON bytes. Writers hand in the bytes without a resourceVersion (`machinery.record.encode`)
and the store stamps them with the revision that the write was given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tiphys.machinery.record import Record


@dataclass(frozen=True, slots=True)
class Put:
    bucket: str
    name: str
    value: bytes
    """The object as JSON, without metadata.resourceVersion."""
    expect: int | None = None
    """The revision that the object must have now; 0: it must not exist; None: whatever is there is replaced."""


@dataclass(frozen=True, slots=True)
class Delete:
    bucket: str
    name: str
    expect: int | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on an object that the write does not change."""

    bucket: str
    name: str
    expect: int


Op = Put | Delete | Guard


class Mismatch(Exception):
    """A guard failed; nothing was written. `current` is what is there now (None: nothing)."""

    def __init__(self, op: Op, current: Record | None) -> None:
        super().__init__(f"{op.bucket}/{op.name}: expected {op.expect}, found {current.revision if current else 0}")
        self.op = op
        self.current = current


class Compacted(Exception):
    """The revision asked for is no longer kept. `oldest` still is."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"revision {asked} has been compacted; the oldest kept is {oldest}")
        self.asked = asked
        self.oldest = oldest


class Future(Exception):
    """The revision asked for has not happened yet."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"revision {asked} is in the future; the current one is {current}")
        self.asked = asked
        self.current = current


class Unavailable(Exception):
    """The environment's fault: disk full, etcd gone. What was not acknowledged may or may not have happened."""


@dataclass(frozen=True, slots=True)
class Listing:
    records: Sequence[Record]
    """In order of name; never changed afterwards."""
    revision: int
    """The revision at which all of this was true."""
    remaining: int = 0
    """How many more there are after the last of `records`."""


@dataclass(frozen=True, slots=True)
class Event:
    """One change. For a deletion `record` is the last state, stamped with the revision of the deletion."""

    record: Record
    previous: Record | None
    deleted: bool = False

    @property
    def revision(self) -> int:
        return self.record.revision


SEALED = b"k8s:enc:"
"""How a value begins that is not the object's JSON itself."""


class Codec(Protocol):
    """What values look like where they are kept for good; in memory they are always plain. Called in any thread."""

    def seal(self, bucket: str, name: str, value: bytes) -> bytes: ...

    def open(self, bucket: str, name: str, kept: bytes) -> bytes:
        """Raises Unavailable for what cannot be read (any more)."""
        ...

    def is_current(self, bucket: str, kept: bytes) -> bool:
        """Whether `seal` would write it the same way today."""
        ...


class Watcher(Protocol):
    """Called for each committed batch, in order, from the store's own task: must return at once and never raise."""

    def __call__(self, events: Sequence[Event], revision: int) -> None: ...


class Subscription(Protocol):
    def close(self) -> None: ...


class Store(Protocol):
    """`get`, `list` and `write` are coroutines because etcd is remote; the embedded stores answer reads without waiting."""

    @property
    def revision(self) -> int:
        """Of the newest change that is durable and visible here."""
        ...

    @property
    def oldest(self) -> int:
        """The oldest revision at which `list` and `watch` can still start."""
        ...

    def peek(self, bucket: str, name: str) -> Record | None:
        """The newest visible record, from memory, without any promise beyond what this process has seen."""
        ...

    async def get(self, bucket: str, name: str) -> Record | None:
        """The newest record: linearizable."""
        ...

    async def latest(self, bucket: str, name: str) -> Record | None:
        """For read-modify-write: like `get`, but may already see writes that are still on their way to the disk."""
        ...

    async def list(
        self,
        bucket: str,
        namespace: str = "",
        *,
        revision: int | None = None,
        limit: int = 0,
        after: str = "",
    ) -> Listing:
        """All of a bucket, or of one namespace in it, by name. `revision` None: now, linearizable; 0: whatever this
        process has seen; else: exactly then (raises Compacted or Future). `after`: only names greater than this."""
        ...

    async def write(self, ops: Sequence[Op]) -> Sequence[Record]:
        """All or nothing, at one revision; durable when it returns. One record for each Put and Delete, in order.

        A Delete's record is the last state, stamped with the new revision; of what is not there, it is a Mismatch. Raises
        Mismatch or Unavailable, and ValueError for what can never be stored: the same object twice, or too large for etcd.
        """
        ...

    def watch(self, bucket: str, namespace: str, since: int, deliver: Watcher) -> Subscription:
        """Every change after revision `since`, without gap or repeat: first those already in the past, in one call made
        before this returns, then each batch as it commits. A batch without events for this watcher is not delivered.
        Raises Compacted or Future. `bucket` empty: everything. On etcd a revision that another API server has told may be
        unknown here as yet: a `get` before this makes sure that it is not."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget history before `revision`."""
        ...

    def is_stale(self, bucket: str, name: str) -> bool:
        """Whether the object is kept in a way in which it would not be written today (sealed with an old key): a write that
        changes nothing must be made all the same."""
        ...

    def count(self, bucket: str) -> int:
        """How many objects this process has seen in it."""
        ...

    def size(self) -> int:
        """Bytes that the store takes on disk (or in memory, where there is no disk)."""
        ...

    async def failed(self) -> None:
        """Wait until this store can no longer be used, then raise Unavailable. A composition root runs this beside what it
        serves; until it is over every write raises Unavailable."""
        ...
