"""The thread that makes writes durable, and keeps the file small and its log short.

Group commit: whatever has been queued while the last commit was on its way to the disk becomes the next one. A commit of up
to 64 rows is one statement, hence one crossing of the interpreter lock: a crossing can wait for the event loop's thread, so
they are what must be few.

Checkpoints: a second thread copies the log into the file while commits go on; when it has caught up but for a little, the
writer copies that little between two commits and SQLite starts the log afresh. So the log stays short however long the
load lasts, and no commit waits for more than that.
"""

import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from tiphys.store.interface import Event
from tiphys.store.sqlite.file import PLACE_BITS, connect

Row = tuple[int, str, str, int, bytes | None]

_ROWS_A_STATEMENT = 64
_ROWS_A_COMMIT = 512
_DELETIONS_A_STEP = 64
# Rows that wait for a pause to be deleted in; beyond that they are deleted between commits.
_DELETIONS_WAITING = 1024
_STEPS_AT_THE_END = 32
_PAGE = 4096
_CHECKPOINT_PAGES = 1024
_VACUUM_PAGES = 16
# Free pages are used again, so they are given back only when there are many of them.
_FREE_PAGES_KEPT = 256
_FREE_SHARE_KEPT = 0.25

# By the number of rows; each is compiled once, by the connection's cache of statements.
_INSERTS = [
    "INSERT INTO version (id, bucket, name, created, value) VALUES " + ",".join(["(?,?,?,?,?)"] * count)
    for count in range(_ROWS_A_STATEMENT + 1)
]

_DELETE = """
DELETE FROM version WHERE id IN (
    SELECT version.id FROM json_each(?) AS gone JOIN version
    ON version.id BETWEEN json_extract(gone.value, '$[0]') AND json_extract(gone.value, '$[0]') + ?
    AND version.bucket = json_extract(gone.value, '$[1]') AND version.name = json_extract(gone.value, '$[2]')
)
"""


@dataclass(slots=True)
class Commit:
    rows: Sequence[Row]


@dataclass(slots=True)
class Trim:
    """History up to `compacted` is no longer needed."""

    dropped: Sequence[Event]
    compacted: int


class Writer:
    """`committed(n)` and `failed(error)` are called in the writer's thread: n more commits, in order, are on the disk."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        garbage: Sequence[int],
        committed: Callable[[int], object],
        failed: Callable[[Exception], object],
    ) -> None:
        self._connection = connection
        self._path = path
        self._committed = committed
        self._failed = failed
        self._queue: queue.SimpleQueue[Commit | Trim | None] = queue.SimpleQueue()
        # The row ids and keys that are to be deleted, and the compacted revision that allows it.
        self._gone: list[tuple[int, str, str]] = []
        self._garbage = list(garbage)
        self._compacted = 0
        self._pages = 0
        self._maybe_vacuum = True
        self._checkpointer = _Checkpointer(path)
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    def start(self) -> None:
        self._checkpointer.thread.start()
        self._thread.start()

    def put(self, job: Commit | Trim) -> None:
        self._queue.put(job)

    def stop(self) -> None:
        """Finish what is queued, tidy the file and close it. Blocks."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        trouble: sqlite3.Error | None = None
        finished = False
        try:
            while self._turn():
                pass
            # Not without end: rows that are left over are found by the next process.
            for _ in range(_STEPS_AT_THE_END):
                if self._gone or self._garbage or self._compacted:
                    self._delete_some()
            self._checkpointer.stop()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finished = True
        except sqlite3.Error as error:
            trouble = error
        finally:
            # Whatever ended this thread, nobody may wait for it in vain.
            if not finished:
                self._failed(trouble or RuntimeError("the writer has ended"))
            self._checkpointer.stop()
            self._connection.close()

    def _turn(self) -> bool:
        """Commit what is queued, then keep house if there is nothing else to do; False at the end."""
        try:
            job = self._queue.get_nowait() if self._has_chores() else self._queue.get()
        except queue.Empty:
            self._keep_house()
            return True
        rows: list[Row] = []
        count = 0
        try:
            while job is not None:
                if isinstance(job, Commit):
                    rows.extend(job.rows)
                    count += 1
                    if len(rows) >= _ROWS_A_COMMIT:
                        break
                else:
                    self._note_trim(job)
                job = self._queue.get_nowait()
        except queue.Empty:
            pass
        if rows:
            self._commit(rows)
            self._committed(count)
            self._after_commit(rows)
        return job is not None

    def _commit(self, rows: list[Row]) -> None:
        if len(rows) <= _ROWS_A_STATEMENT:
            self._insert(rows)
            return
        self._connection.execute("BEGIN IMMEDIATE")
        for at in range(0, len(rows), _ROWS_A_STATEMENT):
            self._insert(rows[at : at + _ROWS_A_STATEMENT])
        self._connection.execute("COMMIT")

    def _insert(self, rows: Sequence[Row]) -> None:
        self._connection.execute(_INSERTS[len(rows)], [value for row in rows for value in row])

    def _after_commit(self, rows: list[Row]) -> None:
        self._pages += sum(2 + (len(row[4]) // _PAGE if row[4] else 0) for row in rows)
        for _ in range(1 + len(rows) // _DELETIONS_A_STEP):
            if len(self._gone) > _DELETIONS_WAITING:
                self._delete_some()
        if self._pages >= _CHECKPOINT_PAGES and self._checkpointer.caught_up():
            _, log, copied = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            # When all of it has been copied the next commit begins at the start of the log.
            self._pages = log - copied
        if self._pages >= _CHECKPOINT_PAGES:
            self._checkpointer.wake()

    def _note_trim(self, job: Trim) -> None:
        self._compacted = job.compacted
        for event in job.dropped:
            if event.previous is not None:
                self._gone.append((event.previous.revision << PLACE_BITS, event.previous.bucket, event.previous.name))
            if event.deleted:
                self._gone.append((event.revision << PLACE_BITS, event.record.bucket, event.record.name))

    def _has_chores(self) -> bool:
        return bool(self._gone or self._garbage or self._compacted or self._maybe_vacuum)

    def _keep_house(self) -> None:
        if self._gone or self._garbage or self._compacted:
            self._delete_some()
        else:
            self._maybe_vacuum = self._vacuum_some()

    def _delete_some(self) -> None:
        gone = self._gone[:_DELETIONS_A_STEP]
        garbage = self._garbage[:_DELETIONS_A_STEP]
        execute = self._connection.execute
        # Nothing depends on when this reaches the disk, only that it does so before what is written later: no sync of its own.
        execute("PRAGMA synchronous = NORMAL")
        try:
            with self._connection:
                execute("BEGIN IMMEDIATE")
                if self._compacted:
                    execute("UPDATE state SET value = ? WHERE key = 'compacted'", (self._compacted,))
                if garbage:
                    execute(
                        "DELETE FROM version WHERE id IN (SELECT value FROM json_each(?))", (orjson.dumps(garbage).decode(),)
                    )
                if gone:
                    execute(_DELETE, (orjson.dumps(gone).decode(), (1 << PLACE_BITS) - 1))
        finally:
            execute("PRAGMA synchronous = FULL")
        del self._gone[:_DELETIONS_A_STEP]
        del self._garbage[:_DELETIONS_A_STEP]
        self._compacted = 0
        self._pages += len(gone) // 2
        self._maybe_vacuum = True

    def _vacuum_some(self) -> bool:
        """Give a few free pages back; False when there is nothing more to gain."""
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        if free <= max(_FREE_PAGES_KEPT, pages * _FREE_SHARE_KEPT):
            return False
        self._connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
        self._pages += _VACUUM_PAGES
        return True


class _Checkpointer:
    """Copies the log into the file, in a thread and over a connection of its own, whenever it is woken."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wanted = threading.Event()
        self._stopping = False
        self._caught_up = False
        self._trouble: sqlite3.Error | None = None
        self.thread = threading.Thread(target=self._run, name="store-checkpointer", daemon=True)

    def wake(self) -> None:
        self._wanted.set()

    def caught_up(self) -> bool:
        """Whether it has just been through the log, so that little is left to copy. Asked once a time.

        Raises what went wrong: a log that cannot be copied would grow until the disk is full."""
        if self._trouble is not None:
            raise self._trouble
        was, self._caught_up = self._caught_up, False
        return was

    def stop(self) -> None:
        self._stopping = True
        self._wanted.set()
        self.thread.join()

    def _run(self) -> None:
        connection = connect(self._path)
        try:
            while True:
                self._wanted.wait()
                if self._stopping:
                    return
                self._wanted.clear()
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                self._caught_up = True
        except sqlite3.Error as error:
            self._trouble = error
        finally:
            connection.close()
