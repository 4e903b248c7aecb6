"""What is true of the durable store alone: its file, its bounds, its failures.

Authority: https://www.sqlite.org/wal.html and https://www.sqlite.org/pragma.html; for restoring,
https://etcd.io/docs/v3.5/op-guide/recovery/#restoring-with-revision-bump.
"""

import asyncio
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from tiphys.machinery.record import encode
from tiphys.store.interface import Compacted, Delete, Mismatch, Put, Unavailable
from tiphys.store.sqlite import SqliteStore, UnusableFile, restore


def put(name, note="", expect=None, bucket="pods"):
    return Put(bucket, name, encode({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "note": note}), expect)


async def put_all(store, ops, writers=64):
    remaining = iter(ops)

    async def work():
        for op in remaining:
            await store.write([op])

    async with asyncio.TaskGroup() as group:
        for _ in range(writers):
            group.create_task(work())


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT count(*) FROM version").fetchone()[0]


async def test_everything_is_there_again_with_its_history(tmp_path):
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as store:
        await put_all(store, [put(f"a/{number % 30}", number) for number in range(300)])
        await store.write([Delete("pods", "a/7")])
        listing = await store.list("pods")
        middle = await store.list("pods", revision=100)
        revision = store.revision
    async with SqliteStore.open(path) as store:
        assert store.revision == revision
        for before, after in ((listing, await store.list("pods")), (middle, await store.list("pods", revision=100))):
            assert [(each.name, each.data, each.revision, each.created) for each in after.records] == [
                (each.name, each.data, each.revision, each.created) for each in before.records
            ]
        events = []
        store.watch("pods", "", revision - 1, lambda batch, _: events.extend(batch))
        assert [(event.record.name, event.deleted) for event in events] == [("a/7", True)]
        (record,) = await store.write([put("a/7", "again", 0)])
        assert record.revision == revision + 1


async def test_the_file_is_private_recognisable_and_in_wal_mode(tmp_path):
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as store:
        await store.write([put("a/x")])
        for file in (path, tmp_path / "store.db-wal"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"Tiph"),)


async def test_an_acknowledgement_means_synchronous_full(tmp_path):
    # https://www.sqlite.org/pragma.html#pragma_synchronous: in WAL mode only FULL (2) syncs the log at every commit.
    statements = ["PRAGMA synchronous = FULL"]
    async with SqliteStore.open(tmp_path / "store.db", max_events=100) as store:
        connection = store._writer._connection
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        connection.set_trace_callback(statements.append)
        for _ in range(20):
            await put_all(store, [put(f"a/{number}") for number in range(100)])
    setting, committed = "", 0
    for statement in statements:
        if statement.startswith("PRAGMA synchronous"):
            setting = statement
        elif statement.startswith("INSERT"):
            assert setting == "PRAGMA synchronous = FULL"
            committed += 1
    assert committed
    assert "PRAGMA synchronous = NORMAL" in statements


def make_foreign(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (x)")


def make_text(path):
    path.write_text("This is a letter, not a database. " * 100)


def make_newer(path):
    asyncio.run(_make(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def make_damaged(path):
    asyncio.run(_make(path))
    content = bytearray(path.read_bytes())
    for page in range(4, len(content) // 4096):
        content[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    path.write_bytes(content)


def make_cut_off(path):
    asyncio.run(_make(path))
    path.write_bytes(path.read_bytes()[: 4096 * 10])


def make_orphan(path):
    asyncio.run(_make(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO version VALUES (1 << 40, 'pods', 'a/nowhere', 1, NULL)")
        connection.commit()


async def _make(path):
    async with SqliteStore.open(path) as store:
        await put_all(store, [put(f"a/{number}", "x" * 1000) for number in range(200)])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (make_foreign, "an SQLite file of another program"),
        (make_text, "not a database"),
        (make_newer, "format is version 99"),
        (make_damaged, "is damaged: .*restore it from a backup"),
        (make_cut_off, "malformed|damaged"),
        (make_orphan, "a/nowhere is deleted at revision .*, but was not there"),
    ],
)
def test_what_is_not_a_sound_store_is_refused_and_left_alone(tmp_path, make, told):
    path = tmp_path / "store.db"
    make(path)
    before = path.read_bytes()

    async def attempt():
        async with SqliteStore.open(path):
            pass

    with pytest.raises(UnusableFile, match=told):
        asyncio.run(attempt())
    assert path.read_bytes() == before


async def test_a_folder_that_is_missing_is_told(tmp_path):
    with pytest.raises(UnusableFile, match="No such file"):
        async with SqliteStore.open(tmp_path / "nowhere" / "store.db"):
            pass


async def test_two_processes_cannot_open_one_file(tmp_path):
    path = tmp_path / "store.db"
    attempt = f"""
import asyncio, pathlib
from tiphys.store.sqlite import SqliteStore
async def main():
    async with SqliteStore.open(pathlib.Path({str(path)!r})): pass
asyncio.run(main())
"""
    async with SqliteStore.open(path) as store:
        await store.write([put("a/x")])
        other = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", attempt], capture_output=True, text=True)
        assert "is in use by another process (pid" in other.stderr
        await store.write([put("a/y")])
    async with SqliteStore.open(path) as store:
        assert len((await store.list("pods")).records) == 2


async def test_a_closed_store_refuses_and_what_was_queued_is_written(tmp_path):
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as store, asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(store.write([put(f"a/{number}")]))
        await asyncio.sleep(0)
        await store._close()
    with pytest.raises(Unavailable, match="closed"):
        await store.write([put("a/late")])
    async with SqliteStore.open(path) as store:
        assert len((await store.list("pods")).records) == 20


async def test_a_mismatch_is_told_only_when_what_it_rests_on_is_durable(tmp_path):
    async with SqliteStore.open(tmp_path / "store.db") as store:

        async def second():
            with pytest.raises(Mismatch) as raised:
                await store.write([put("a/x", "2", expect=0)])
            assert store.revision >= raised.value.current.revision

        async with asyncio.TaskGroup() as group:
            group.create_task(store.write([put("a/x", "1", expect=0)]))
            group.create_task(second())


async def test_latest_sees_what_is_on_its_way_and_get_does_not(tmp_path):
    async with SqliteStore.open(tmp_path / "store.db") as store:
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(store.write([put("a/x", "1")]))
            await asyncio.sleep(0)
            assert await store.get("pods", "a/x") is None
            assert (await store.latest("pods", "a/x")).tree()["note"] == "1"
        assert (await store.get("pods", "a/x")).revision == writing.result()[0].revision


@contextmanager
def files_no_larger_than(size):
    """Writing beyond fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_when_the_disk_is_full_the_store_stops_and_has_lost_nothing(tmp_path):
    path = tmp_path / "store.db"
    acknowledged = set()
    refused = []
    async with SqliteStore.open(path) as store:

        async def work(writer):
            for number in range(1000):
                name = f"a/{writer}-{number}"
                try:
                    await store.write([put(name, "x" * 2000)])
                except Unavailable as error:
                    refused.append(str(error))
                    return
                acknowledged.add(name)

        with files_no_larger_than(1 << 20):
            async with asyncio.TaskGroup() as group:
                for writer in range(8):
                    group.create_task(work(writer))
        assert acknowledged
        assert len(refused) == 8
        assert "cannot write to" in refused[0]
        with pytest.raises(Unavailable):
            await store.failed()
        with pytest.raises(Unavailable):
            await store.write([put("a/more")])
        assert {record.name for record in (await store.list("pods")).records} == acknowledged
    async with SqliteStore.open(path) as store:
        assert {record.name for record in (await store.list("pods")).records} >= acknowledged
        await store.write([put("a/more")])


@pytest.mark.slow  # A day is many writes, even when it is scaled down.
async def test_the_file_stays_small_through_a_day_of_churn(tmp_path):
    # 20 nodes renew their leases and 40 pods come and go, be it for a day: what lives is 100 KB, and 40 MB are written.
    path = tmp_path / "store.db"
    async with SqliteStore.open(path, max_events=500) as store:
        sizes = []
        for hour in range(24):
            await put_all(store, [put(f"a/{number % 20}", f"{hour:02}" * 1500, bucket="leases") for number in range(500)])
            await put_all(store, [put(f"a/{hour:02}-{number}", "x" * 2000) for number in range(40)])
            for record in (await store.list("pods")).records:
                await store.write([Delete("pods", record.name)])
            sizes.append(store.size())
        assert max(sizes) < 16 << 20
    assert path.stat().st_size < 8 << 20
    assert rows(path) < 500 + 1024 + 256 + 100


async def test_the_file_shrinks_when_much_is_deleted(tmp_path):
    path = tmp_path / "store.db"
    async with SqliteStore.open(path, max_events=10) as store:
        await put_all(store, [put(f"a/{number}", "x" * 3000) for number in range(3000)])
        await put_all(store, [Delete("pods", f"a/{number}") for number in range(3000)])
        until = asyncio.get_running_loop().time() + 20
        while path.stat().st_size > 3 << 20 and asyncio.get_running_loop().time() < until:
            await put_all(store, [put("a/x")] * 1100, writers=1)
    assert path.stat().st_size < 3 << 20


async def test_compaction_deletes_rows_and_lasts_over_a_restart(tmp_path):
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as store:
        await put_all(store, [put("a/x", number) for number in range(100)])
        await store.write([put("a/gone")])
        await store.write([Delete("pods", "a/gone")])
        revision = store.revision
        await store.compact(revision)
    assert rows(path) == 1
    async with SqliteStore.open(path) as store:
        assert (store.revision, store.oldest) == (revision, revision)
        with pytest.raises(Compacted):
            await store.list("pods", revision=revision - 1)


async def test_rows_that_an_interrupted_compaction_left_are_deleted_by_the_next_process(tmp_path):
    path = tmp_path / "store.db"
    async with SqliteStore.open(path) as store:
        await put_all(store, [put(f"a/{number % 5}", number) for number in range(100)])
        await store.write([Delete("pods", "a/0")])
        expected = [(record.name, record.data) for record in (await store.list("pods")).records]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE state SET value = ? WHERE key = 'compacted'", (store.revision,))
        connection.commit()
    async with SqliteStore.open(path) as store:
        assert store.oldest == store.revision
        assert [(record.name, record.data) for record in (await store.list("pods")).records] == expected
        # Housekeeping follows a write.
        await store.write([put("a/1", "new")])
    async with SqliteStore.open(path):
        pass
    assert rows(path) == 4 + 1


async def test_backup_under_load_and_restore(tmp_path):
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    async with SqliteStore.open(path) as store:
        await put_all(store, [put(f"a/{number}", "x" * 500) for number in range(500)])
        floor = store.revision
        async with asyncio.TaskGroup() as group:
            group.create_task(put_all(store, [put(f"b/{number}", "x" * 500) for number in range(2000)]))
            await store.backup(copy)
        with pytest.raises(UnusableFile, match="in use"):
            restore(copy, path)
        await store.write([put("a/after")])
        ceiling = store.revision
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    restore(copy, path)
    async with SqliteStore.open(path) as store:
        # Nothing that anybody has seen since the backup may be given again, and nobody can resume a watch across it.
        assert store.revision == store.oldest > ceiling
        found = [record.name for record in (await store.list("pods")).records]
        assert "a/after" not in found
        assert 500 <= len(found) <= ceiling - floor + 500
        (record,) = await store.write([put("a/0", "new")])
        assert record.revision == store.revision
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "store.db", "store.db-lock"]


@pytest.mark.parametrize("make", [make_text, make_foreign, make_newer, make_damaged, make_orphan, lambda path: None])
def test_restoring_what_is_not_a_backup_leaves_the_store_alone(tmp_path, make):
    path, source = tmp_path / "store.db", tmp_path / "source"
    asyncio.run(_make(path))
    make(source)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.name != "store.db-lock"}
    with pytest.raises(UnusableFile, match=r"cannot restore .*source"):
        restore(source, path)
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.name != "store.db-lock"}
    assert after == before


def test_restoring_where_nothing_was(tmp_path):
    source, path = tmp_path / "source", tmp_path / "store.db"
    asyncio.run(_make(source))
    restore(source, path)

    async def count():
        async with SqliteStore.open(path) as store:
            return len((await store.list("pods")).records)

    assert asyncio.run(count()) == 200
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
