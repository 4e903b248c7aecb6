"""The file: its layout, how it is recognised, locked, read at start, copied and put back.

One table holds every version of every object that is still needed: the live ones, and those that an event after the
compacted revision made or replaced. So a value is written once, live objects and event log are one, and compaction deletes
rows. A row without a value is a deletion. `id` is the revision and the place within the write, in one number.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tiphys.machinery.record import Record
from tiphys.store.interface import SEALED, Codec, Event, Unavailable
from tiphys.store.mvcc import FIRST_REVISION, Mvcc, delete_event

APPLICATION_ID = 0x54697068
"""`Tiph`, in the header of the file: file(1) and we can tell it from others."""
SCHEMA_VERSION = 1

PLACE_BITS = 12
"""A write can change so many objects: 2 to this."""

# How far a restored store jumps ahead, so that no revision which somebody has seen after the backup is given again.
_RESTORE_JUMP = 1_000_000_000

_SCHEMA = """
CREATE TABLE version (
    id INTEGER PRIMARY KEY,
    bucket TEXT NOT NULL,
    name TEXT NOT NULL,
    created INTEGER NOT NULL,
    value BLOB
);
CREATE TABLE state (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
"""


class UnusableFile(Unavailable):
    """The file is in use, or not one of ours, or damaged. The message says which, and is meant for people."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection that any one thread at a time may use, without implicit transactions."""
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    # Checkpoints are ours to time: a commit must not wait for one.
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def open_file(path: Path) -> sqlite3.Connection:
    """Open or create; raises UnusableFile."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it holds Secrets
        connection = connect(path)
    except (OSError, sqlite3.Error) as error:
        raise UnusableFile(f"cannot open {path}: {error}") from error
    try:
        if not _recognise(connection, path):
            _create(connection)
        connection.execute("PRAGMA journal_size_limit = 16777216")
    except sqlite3.Error as error:
        connection.close()
        raise UnusableFile(f"cannot use {path}: {error}") from error
    except UnusableFile:
        connection.close()
        raise
    return connection


def _recognise(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether this is one of our files (True) or an empty one (False); anything else raises UnusableFile."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not (application or version or tables):
        return False
    if application != APPLICATION_ID:
        raise UnusableFile(f"cannot use {path}: it is an SQLite file of another program")
    if version != SCHEMA_VERSION:
        raise UnusableFile(f"cannot use {path}: its format is version {version}, this program knows version {SCHEMA_VERSION}")
    return True


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(
        f"BEGIN; {_SCHEMA}"
        f"INSERT INTO state VALUES ('compacted', {FIRST_REVISION});"
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
    )


def load(connection: sqlite3.Connection, path: Path, mvcc: Mvcc, codec: Codec | None = None) -> list[int]:
    """Read everything into the empty `mvcc`. Returns the rows that nobody needs: a compaction was cut short by the end of
    the last process. What `codec` would keep in another way today is rewritten."""
    reader = _Reader(codec)
    try:
        garbage = _load(connection, mvcc, reader)
        if codec is not None and reader.stale:
            _seal_again(connection, codec, reader.stale)
        return garbage
    except (sqlite3.Error, LookupError, TypeError, ValueError) as error:
        raise UnusableFile(f"{path} is damaged: {error}; restore it from a backup") from error


def _load(connection: sqlite3.Connection, mvcc: Mvcc, reader: "_Reader") -> list[int]:
    (compacted,) = connection.execute("SELECT value FROM state WHERE key = 'compacted'").fetchone()
    base: dict[tuple[str, str], tuple[int, Record]] = {}
    garbage: list[int] = []
    boundary = (compacted + 1) << PLACE_BITS
    rows = connection.execute("SELECT id, bucket, name, created, value FROM version WHERE id < ? ORDER BY id", (boundary,))
    for row, bucket, name, created, value in rows:
        replaced = base.pop((bucket, name), None)
        if replaced is not None:
            garbage.append(replaced[0])
        if value is None:
            garbage.append(row)
        else:
            base[bucket, name] = (row, reader.record(row, bucket, name, value, created))
    mvcc.load((record for _, record in base.values()), compacted)
    rows = connection.execute("SELECT id, bucket, name, created, value FROM version WHERE id >= ? ORDER BY id", (boundary,))
    for row, bucket, name, created, value in rows:
        previous = mvcc.get(bucket, name)
        revision = row >> PLACE_BITS
        if value is None:
            if previous is None:
                raise LookupError(f"{bucket}/{name} is deleted at revision {revision}, but was not there")
            event = delete_event(previous, revision)
        else:
            event = Event(reader.record(row, bucket, name, value, created), previous)
        mvcc.apply((event,), revision)
    return garbage


class _Reader:
    """Makes records of rows, and notes which rows are to be sealed (or unsealed) anew."""

    def __init__(self, codec: Codec | None) -> None:
        self._codec = codec
        self.stale: list[int] = []

    def record(self, row: int, bucket: str, name: str, value: bytes, created: int) -> Record:
        revision = row >> PLACE_BITS
        if not isinstance(value, bytes):
            raise ValueError(f"the value of {bucket}/{name} at revision {revision} is not an object")
        if self._codec is not None:
            if not self._codec.is_current(bucket, value):
                self.stale.append(row)
            value = self._codec.open(bucket, name, value)
        elif value.startswith(SEALED):
            raise UnusableFile(f"{bucket}/{name} is encrypted: it can only be read with the encryption configuration")
        if value[:1] != b"{":
            raise ValueError(f"the value of {bucket}/{name} at revision {revision} is not an object")
        return Record(bucket, name, value, revision, created)


class _Unread:
    """Stands in for the codec where nobody looks into the values."""

    def seal(self, bucket: str, name: str, value: bytes) -> bytes:  # noqa: ARG002
        return value

    def open(self, bucket: str, name: str, kept: bytes) -> bytes:  # noqa: ARG002
        return b"{}" if kept.startswith(SEALED) else kept

    def is_current(self, bucket: str, kept: bytes) -> bool:  # noqa: ARG002
        return True


def _seal_again(connection: sqlite3.Connection, codec: Codec, rows: list[int]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for row in rows:
        bucket, name, value = connection.execute("SELECT bucket, name, value FROM version WHERE id = ?", (row,)).fetchone()
        value = codec.seal(bucket, name, codec.open(bucket, name, value))
        connection.execute("UPDATE version SET value = ? WHERE id = ?", (value, row))
    connection.execute("COMMIT")
    # What was there before must not survive in free pages, nor in the log.
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Keep other processes out. A file beside the store's, since closing any descriptor of the store's own file would end the
    locks that SQLite holds on it."""
    beside = path.with_name(path.name + "-lock")
    try:
        descriptor = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise UnusableFile(f"cannot open {beside}: {error}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "another one"
            raise UnusableFile(f"{path} is in use by another process (pid {holder})") from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
        yield
    finally:
        os.close(descriptor)


def backup(source: Path, target: Path) -> None:
    """Copy a store, which may be in use, as it is at one moment."""
    partial = target.with_name(target.name + "-partial")
    try:
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(source)) as origin, closing(sqlite3.connect(partial)) as copy:
            origin.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        _settle(partial, target)
    except (OSError, sqlite3.Error) as error:
        partial.unlink(missing_ok=True)
        raise UnusableFile(f"cannot back up {source} to {target}: {error}") from error


def restore(source: Path, target: Path) -> None:
    """Put the backup `source` where a store is to be opened as `target`; what was there is lost. Blocks.

    Revisions jump ahead and history is left behind, so that clients which have seen more than the backup holds start again
    with a list instead of taking old for new.
    """
    if not source.is_file():
        raise UnusableFile(f"cannot restore {source}: there is no such file")
    with lock(target):
        partial = target.with_name(target.name + "-restoring")
        try:
            backup(source, partial)
            _prepare_restored(partial)
            for suffix in ("-wal", "-shm"):
                target.with_name(target.name + suffix).unlink(missing_ok=True)
            _settle(partial, target)
        except (OSError, sqlite3.Error, UnusableFile) as error:
            raise UnusableFile(f"cannot restore {source} to {target}: {error}") from error
        finally:
            for suffix in ("", "-wal", "-shm"):
                partial.with_name(partial.name + suffix).unlink(missing_ok=True)


def _prepare_restored(path: Path) -> None:
    with closing(open_file(path)) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise UnusableFile(verdict)
        mvcc = Mvcc()
        load(connection, path, mvcc, _Unread())
        connection.execute("UPDATE state SET value = ? WHERE key = 'compacted'", (mvcc.revision + _RESTORE_JUMP,))
        # One file without a log beside it, so that it can be given its name at once.
        connection.execute("PRAGMA journal_mode = DELETE")


def _settle(partial: Path, target: Path) -> None:
    """Give a finished file its name, durably."""
    descriptor = os.open(partial, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(partial, target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
