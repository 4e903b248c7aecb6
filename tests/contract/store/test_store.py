"""What every store promises.

Authority: https://etcd.io/docs/v3.5/learning/api/ (revisions, transactions, watches, compaction) and
https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions; the interface is store/interface.py.
"""

import asyncio

import orjson
import pytest

from tiphys.machinery.record import encode
from tiphys.store.interface import Compacted, Delete, Future, Guard, Mismatch, Put


def pod(name, note=""):
    return encode({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "note": note})


def put(name, note="", expect=None, bucket="pods"):
    return Put(bucket, name, pod(name, note), expect)


class Told:
    """A watcher that remembers."""

    def __init__(self):
        self.calls = []

    def __call__(self, events, revision):
        self.calls.append((list(events), revision))

    @property
    def events(self):
        return [event for events, _ in self.calls for event in events]

    @property
    def short(self):
        return [(event.record.name, event.revision, event.deleted) for event in self.events]


def names(listing):
    return [record.name for record in listing.records]


async def test_a_write_takes_the_next_revision_and_stamps_the_object_with_it(open_store):
    async with open_store() as store:
        before = store.revision
        assert before >= 1
        (record,) = await store.write([put("a/x", "1")])
        assert record.revision == record.created == before + 1 == store.revision
        expected = {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(before + 1), "name": "a/x"},
            "note": "1",
        }
        assert orjson.loads(record.data) == expected
        assert (record.bucket, record.name, record.namespace) == ("pods", "a/x", "a")
        for found in (await store.get("pods", "a/x"), await store.latest("pods", "a/x"), store.peek("pods", "a/x")):
            assert found is not None
            assert (found.data, found.revision, found.created) == (record.data, record.revision, record.created)


async def test_what_is_not_there(open_store):
    async with open_store() as store:
        await store.write([put("a/x")])
        for bucket, name in (("pods", "a/y"), ("nodes", "a/x")):
            assert await store.get(bucket, name) is None
            assert await store.latest(bucket, name) is None
            assert store.peek(bucket, name) is None
        empty = await store.list("nodes")
        assert (list(empty.records), empty.revision, empty.remaining) == ([], store.revision, 0)


async def test_created_lasts_over_updates_and_begins_anew_after_a_deletion(open_store):
    async with open_store() as store:
        (first,) = await store.write([put("a/x", "1")])
        (second,) = await store.write([put("a/x", "2")])
        assert (second.created, second.revision) == (first.revision, first.revision + 1)
        (gone,) = await store.write([Delete("pods", "a/x")])
        assert (gone.created, gone.revision) == (first.revision, second.revision + 1)
        assert gone.tree()["note"] == "2"
        assert gone.tree()["metadata"]["resourceVersion"] == str(gone.revision)
        (again,) = await store.write([put("a/x", "3", expect=0)])
        assert again.created == again.revision == gone.revision + 1


async def test_guards(open_store):
    async with open_store() as store:
        (record,) = await store.write([put("a/x", "1", expect=0)])
        before = store.revision
        wrong = [
            [put("a/x", "2", expect=0)],
            [put("a/x", "2", expect=record.revision + 1)],
            [put("a/y", "2", expect=record.revision)],
            [Delete("pods", "a/x", record.revision - 1)],
            [Delete("pods", "a/y")],
            [Delete("pods", "a/y", 0)],
            [Guard("pods", "a/x", 0)],
            [Guard("pods", "a/y", 7)],
            [put("a/y", "2"), Guard("pods", "a/x", record.revision + 1)],
            [put("a/y", "2"), put("a/z", "2"), Delete("pods", "a/nowhere")],
        ]
        for ops in wrong:
            with pytest.raises(Mismatch) as raised:
                await store.write(ops)
            current = raised.value.current
            assert raised.value.op in ops
            if raised.value.op.name == "a/x":
                assert current is not None
                assert (current.data, current.revision) == (record.data, record.revision)
            else:
                assert current is None
        assert store.revision == before
        assert names(await store.list("pods")) == ["a/x"]
        (second,) = await store.write([put("a/x", "2", expect=record.revision), Guard("pods", "a/y", 0)])
        await store.write([Delete("pods", "a/x", second.revision)])
        assert names(await store.list("pods")) == []


async def test_one_write_of_many_is_one_revision_and_all_or_nothing(open_store):
    async with open_store() as store:
        await store.write([put("a/old")])
        before = store.revision
        records = await store.write([put("a/x"), Delete("pods", "a/old"), put("node", bucket="minions"), Guard("pods", "b", 0)])
        assert [(record.bucket, record.name, record.revision) for record in records] == [
            ("pods", "a/x", before + 1),
            ("pods", "a/old", before + 1),
            ("minions", "node", before + 1),
        ]
        with pytest.raises(ValueError, match="twice"):
            await store.write([put("a/x"), Delete("pods", "a/x")])
        assert store.revision == before + 1


async def test_guards_alone_change_nothing(open_store):
    async with open_store() as store:
        (record,) = await store.write([put("a/x")])
        assert list(await store.write([Guard("pods", "a/x", record.revision)])) == []
        assert store.revision == record.revision


async def test_objects_are_counted(open_store):
    async with open_store() as store:
        assert store.count("pods") == 0
        await store.write([put("a/x"), put("b/y")])
        await store.write([put("a/x", "again")])
        assert (store.count("pods"), store.count("nodes")) == (2, 0)
        await store.write([Delete("pods", "a/x")])
        assert store.count("pods") == 1


async def test_lists_are_sorted_and_keep_to_their_namespace(open_store):
    async with open_store() as store:
        for name in ("a/z", "a/b", "a-b/c", "a0/c", "b/a", "a/a"):
            await store.write([put(name)])
        await store.write([put("a/svc", bucket="services/specs")])
        await store.write([put("a/svc", bucket="services/endpoints")])
        assert names(await store.list("pods")) == ["a-b/c", "a/a", "a/b", "a/z", "a0/c", "b/a"]
        assert names(await store.list("pods", "a")) == ["a/a", "a/b", "a/z"]
        assert names(await store.list("pods", "a", revision=0)) == ["a/a", "a/b", "a/z"]
        assert names(await store.list("pods", "c")) == []
        assert names(await store.list("services/specs", "a")) == ["a/svc"]


async def test_pages(open_store):
    async with open_store() as store:
        for number in range(7):
            await store.write([put(f"a/{number}")])
        await store.write([put("b/0")])
        page = await store.list("pods", "a", limit=3)
        assert (names(page), page.remaining, page.revision) == (["a/0", "a/1", "a/2"], 4, store.revision)
        await store.write([Delete("pods", "a/5")])
        await store.write([put("a/45")])
        await store.write([put("a/6", "new")])
        for limit, remaining in ((3, 1), (4, 0), (0, 0)):
            rest = await store.list("pods", "a", revision=page.revision, limit=limit, after="a/2")
            assert names(rest) == ["a/3", "a/4", "a/5", "a/6"][: limit or None]
            assert (rest.remaining, rest.revision) == (remaining, page.revision)
        assert rest.records[-1].tree()["note"] == ""
        assert names(await store.list("pods", "a", after="a/2", limit=10)) == ["a/3", "a/4", "a/45", "a/6"]


async def test_a_list_does_not_change_afterwards(open_store):
    async with open_store() as store:
        await store.write([put("a/x", "1")])
        listing = await store.list("pods")
        await store.write([put("a/x", "2"), put("a/y")])
        assert [record.tree()["note"] for record in listing.records] == ["1"]


async def test_watch_tells_the_past_at_once_and_then_each_batch(open_store):
    async with open_store() as store:
        start = store.revision
        await store.write([put("a/x", "1")])
        await store.write([put("b/x", "1")])
        await store.write([put("a/x", "2")])
        told, elsewhere = Told(), Told()
        store.watch("pods", "a", start, told)
        store.watch("minions", "", start, elsewhere)
        assert told.short == [("a/x", start + 1, False), ("a/x", start + 3, False)]
        assert [revision for _, revision in told.calls] == [start + 3]
        await store.write([Delete("pods", "a/x")])
        # The writer comes after the watchers.
        assert told.short[2:] == [("a/x", start + 4, True)]
        await store.write([put("b/x", "2")])
        await store.write([put("a/y"), put("b/y"), put("a/z")])
        assert told.short[3:] == [("a/y", start + 6, False), ("a/z", start + 6, False)]
        first, second, deleted = told.events[:3]
        assert first.previous is None
        assert second.previous is not None
        assert (second.previous.revision, second.previous.tree()["note"]) == (start + 1, "1")
        assert deleted.previous is not None
        assert (deleted.previous.revision, deleted.record.tree()["note"]) == (start + 3, "2")
        assert deleted.record.tree()["metadata"]["resourceVersion"] == str(start + 4)
        assert elsewhere.calls == []


async def test_watch_from_now_of_a_bucket_and_of_everything(open_store):
    async with open_store() as store:
        await store.write([put("a/x")])
        bucket, everything = Told(), Told()
        store.watch("pods", "", store.revision, bucket)
        store.watch("", "", store.revision, everything)
        assert (bucket.calls, everything.calls) == ([], [])
        await store.write([put("node", bucket="minions")])
        await store.write([put("b/x")])
        assert [name for name, _, _ in bucket.short] == ["b/x"]
        assert [name for name, _, _ in everything.short] == ["node", "b/x"]


async def test_a_closed_subscription_hears_nothing_more(open_store):
    async with open_store() as store:
        told, other = Told(), Told()
        subscription = store.watch("pods", "", store.revision, told)
        store.watch("pods", "", store.revision, other)
        await store.write([put("a/x")])
        subscription.close()
        subscription.close()
        await store.write([put("a/y")])
        assert (len(told.events), len(other.events)) == (1, 2)


async def test_subscriptions_made_and_closed_while_being_told(open_store):
    async with open_store() as store:
        late, closed = Told(), Told()

        def deliver(events, revision):
            opened.append(store.watch("minions", "", start, late))
            victim.close()

        opened = []
        start = store.revision
        store.watch("pods", "", start, deliver)
        victim = store.watch("minions", "", start, closed)
        await store.write([put("a/x"), put("node", bucket="minions")])
        assert late.short == [("node", start + 1, False)]
        assert closed.calls == []


async def test_compaction(open_store):
    async with open_store() as store:
        for number in range(5):
            await store.write([put("a/x", str(number))])
        now = store.revision
        await store.compact(now - 2)
        assert store.oldest == now - 2
        for attempt in (store.list("pods", revision=now - 3), _watching(store, now - 3)):
            with pytest.raises(Compacted) as raised:
                await attempt
            assert (raised.value.asked, raised.value.oldest) == (now - 3, now - 2)
        listing = await store.list("pods", revision=now - 2)
        assert [record.tree()["note"] for record in listing.records] == ["2"]
        told = Told()
        store.watch("pods", "", now - 2, told)
        assert [revision for _, revision, _ in told.short] == [now - 1, now]
        assert [record.tree()["note"] for record in (await store.list("pods")).records] == ["4"]
        await store.compact(now - 3)
        assert store.oldest == now - 2
        await store.compact(now)
        assert names(await store.list("pods", revision=now)) == ["a/x"]


async def test_the_future(open_store):
    async with open_store() as store:
        now = store.revision
        for attempt in (store.list("pods", revision=now + 5), _watching(store, now + 5)):
            with pytest.raises(Future) as raised:
                await attempt
            assert (raised.value.asked, raised.value.current) == (now + 5, now)


async def _watching(store, since):
    store.watch("pods", "", since, Told())


async def test_history_is_bounded_in_number_and_in_bytes(open_store):
    for options in ({"max_events": 20}, {"max_bytes": 20_000}):
        async with open_store(**options) as store:
            start = store.revision
            for number in range(60):
                await store.write([put("a/x", f"{number:0500}")])
            assert start < store.oldest < store.revision - 5
            told = Told()
            store.watch("pods", "", store.oldest, told)
            assert [revision for _, revision, _ in told.short] == list(range(store.oldest + 1, store.revision + 1))
            assert store.size() > 500


async def test_no_update_is_lost_between_concurrent_writers(open_store):
    async with open_store() as store:
        await store.write([put("a/counter", "0")])
        told = Told()
        start = store.revision
        store.watch("pods", "", start, told)

        async def count(times):
            while times:
                record = await store.latest("pods", "a/counter")
                assert record is not None
                value = str(int(record.tree()["note"]) + 1)
                try:
                    (written,) = await store.write([put("a/counter", value, expect=record.revision)])
                except Mismatch:
                    continue
                else:
                    assert store.revision >= written.revision
                    times -= 1

        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(count(10))
        final = await store.get("pods", "a/counter")
        assert final is not None
        assert final.tree()["note"] == "80"
        assert [event.record.tree()["note"] for event in told.events] == [str(number) for number in range(1, 81)]
        assert [event.revision for event in told.events] == list(range(start + 1, start + 81))


async def test_a_write_that_nobody_waits_for_any_more_harms_nobody(open_store):
    async with open_store() as store:
        async with asyncio.TaskGroup() as group:
            hasty = group.create_task(store.write([put("a/x")]))
            patient = group.create_task(store.write([put("a/y")]))
            await asyncio.sleep(0)
            hasty.cancel()
        (record,) = patient.result()
        assert store.revision >= record.revision
        assert await store.get("pods", "a/y") is not None
