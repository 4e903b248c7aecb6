"""Any sequence of operations does to a store what it does to a dict that is copied at every revision.

Authority: https://etcd.io/docs/v3.5/learning/api_guarantees/ (atomicity, ordered and gapless watches, linearizable reads).
"""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tiphys.machinery.record import encode
from tiphys.store.interface import Compacted, Delete, Future, Guard, Mismatch, Put

NAMES = ("a/0", "a/1", "a/2", "b/0", "b/1")
BUCKETS = ("pods", "services/specs")

places = st.tuples(st.sampled_from(BUCKETS), st.sampled_from(NAMES))
# What a condition says about the object: nothing, the truth, that it is absent, or something wrong.
conditions = st.sampled_from(("none", "none", "right", "right", "absent", "wrong"))
operations = st.tuples(st.sampled_from(("put", "put", "put", "delete", "guard")), places, conditions)
steps = st.one_of(
    st.tuples(st.just("write"), st.lists(operations, min_size=1, max_size=3, unique_by=lambda operation: operation[1])),
    st.tuples(st.just("concurrent"), st.lists(operations, min_size=2, max_size=6)),
    st.tuples(
        st.just("list"),
        st.sampled_from(BUCKETS),
        st.sampled_from(("", "a", "b")),
        st.integers(-1, 12),
        st.integers(0, 3),
        st.sampled_from(("", *NAMES)),
    ),
    st.tuples(st.just("watch"), st.sampled_from(("", *BUCKETS)), st.sampled_from(("", "a")), st.integers(-1, 12)),
    st.tuples(st.just("compact"), st.integers(-1, 12)),
    st.tuples(st.just("restart")),
)


class Watch:
    def __init__(self, bucket, namespace, since):
        self.bucket, self.namespace, self.since = bucket, namespace, since
        self.events = []
        self.reached = since

    def __call__(self, events, revision):
        assert events
        assert self.reached < events[0].revision
        assert revision >= events[-1].revision
        self.reached = revision
        self.events.extend(events)


class Model:
    """Every revision's whole state: (bucket, name) -> (note, revision, created)."""

    def __init__(self, revision):
        self.states = {revision: {}}
        self.events = []
        self.oldest = self.revision = revision

    @property
    def now(self):
        return self.states[self.revision]

    def refuses(self, ops):
        for op in ops:
            held = self.now.get((op.bucket, op.name))
            if op.expect is not None and op.expect != (held[1] if held else 0):
                return True
            if isinstance(op, Delete) and held is None:
                return True
        return False

    def write(self, ops, revision):
        state = dict(self.now)
        for op in ops:
            place = (op.bucket, op.name)
            before = state.get(place)
            if isinstance(op, Put):
                state[place] = (op.value, revision, before[2] if before else revision)
                self.events.append((place, revision, before[1] if before else None, False))
            elif isinstance(op, Delete):
                del state[place]
                self.events.append((place, revision, before[1], True))
        self.states[revision] = state
        self.revision = revision

    def list(self, bucket, namespace, revision, limit, after):
        found = sorted(
            (name, *held)
            for (its_bucket, name), held in self.states[revision].items()
            if its_bucket == bucket and name.startswith(namespace + "/" if namespace else "") and name > after
        )
        page = found[: limit or None]
        return page, len(found) - len(page)

    def since(self, watch):
        return [
            event
            for event in self.events
            if event[1] > watch.since
            and watch.bucket in ("", event[0][0])
            # A watch of everything knows no namespaces.
            and (not watch.namespace or not watch.bucket or event[0][1].startswith(watch.namespace + "/"))
        ]


class Run:
    def __init__(self, open_store, stack, max_events):
        self.open_store = open_store
        self.max_events = max_events
        self.stack = stack
        self.watches = []
        self.count = 0

    async def open(self):
        self.store = await self.stack.enter_async_context(self.open_store(max_events=self.max_events))

    async def begin(self):
        """Stores are shared between examples, since opening one takes long; their objects are not."""
        await self.open()
        for bucket in BUCKETS:
            for record in (await self.store.list(bucket)).records:
                await self.store.write([Delete(bucket, record.name)])
        await self.store.compact(self.store.revision)
        self.model = Model(self.store.revision)

    def operation(self, described):
        kind, (bucket, name), condition = described
        held = self.model.now.get((bucket, name))
        expect = {"none": None, "right": held[1] if held else 0, "absent": 0, "wrong": 1_000_000}[condition]
        if kind == "delete":
            return Delete(bucket, name, expect)
        if kind == "guard":
            return Guard(bucket, name, expect or 0)
        self.count += 1
        value = encode({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "note": self.count})
        return Put(bucket, name, value, expect)

    async def write(self, described):
        ops = [self.operation(each) for each in described]
        if self.model.refuses(ops):
            with pytest.raises(Mismatch):
                await self.store.write(ops)
            return
        records = await self.store.write(ops)
        changes = [op for op in ops if not isinstance(op, Guard)]
        assert [(record.bucket, record.name) for record in records] == [(op.bucket, op.name) for op in changes]
        if changes:
            assert {record.revision for record in records} == {self.model.revision + 1}
            self.model.write(ops, self.model.revision + 1)

    async def concurrent(self, described):
        """Whatever order the store chose, it is one in which each write's outcome is right."""
        ops = [self.operation(each) for each in described if each[0] != "guard"]
        done, refused = [], []

        async def write(op):
            try:
                (record,) = await self.store.write([op])
            except Mismatch:
                refused.append(op)
            else:
                done.append((record.revision, op))

        async with asyncio.TaskGroup() as group:
            for op in ops:
                group.create_task(write(op))
        possible = {op: self.model.refuses([op]) for op in refused}
        for revision, op in sorted(done, key=lambda each: each[0]):
            assert revision == self.model.revision + 1
            assert not self.model.refuses([op])
            self.model.write([op], revision)
            for other in refused:
                possible[other] = possible[other] or self.model.refuses([other])
        assert all(possible.values())

    async def list(self, bucket, namespace, back, limit, after):
        revision = max(1, self.model.revision - back)  # 0 is not a revision: it asks for no particular one
        listing = self.store.list(bucket, namespace, revision=revision, limit=limit, after=after)
        if self.refused(revision) is not None:
            with pytest.raises(self.refused(revision)):
                await listing
            return
        self.check_listing(await listing, bucket, namespace, revision, limit, after)
        self.check_listing(await self.store.list(bucket, namespace), bucket, namespace, self.model.revision, 0, "")

    def check_listing(self, found, bucket, namespace, revision, limit, after):
        page, remaining = self.model.list(bucket, namespace, revision, limit, after)
        short = [(record.name, record.revision, record.created) for record in found.records]
        assert short == [(name, *rest) for name, _, *rest in page]
        for record, (_, value, *_) in zip(found.records, page, strict=True):
            tree = record.tree()
            assert tree["metadata"].pop("resourceVersion") == str(record.revision)
            assert encode(tree) == value
        assert (found.remaining, found.revision) == (remaining, revision)

    async def watch(self, bucket, namespace, back):
        since = self.model.revision - back
        watch = Watch(bucket, namespace, since)
        if self.refused(since) is not None:
            with pytest.raises(self.refused(since)):
                self.store.watch(bucket, namespace, since, watch)
            return
        self.store.watch(bucket, namespace, since, watch)
        self.watches.append(watch)

    async def compact(self, back):
        revision = self.model.revision - back
        if back < 0:
            return
        await self.store.compact(revision)
        self.model.oldest = max(self.model.oldest, revision)

    async def restart(self):
        if not self.open_store.durable:
            return
        await self.stack.aclose()
        self.check_watches()
        self.watches.clear()
        await self.open()
        if not self.open_store.keeps_history:
            self.model.oldest = self.store.revision

    def note_trimming(self):
        """What a store forgets by itself is its own affair, as long as it keeps as much as it has been told to."""
        kept = [event for event in self.model.events if event[1] > self.store.oldest]
        if self.store.oldest > self.model.oldest:
            assert self.max_events * 31 // 32 - 6 <= len(kept) <= self.max_events
            self.model.oldest = self.store.oldest

    def refused(self, revision):
        if revision > self.model.revision:
            return Future
        return Compacted if revision < self.model.oldest else None

    def check_watches(self):
        for watch in self.watches:
            told = [
                (
                    (event.record.bucket, event.record.name),
                    event.revision,
                    event.previous.revision if event.previous else None,
                    event.deleted,
                )
                for event in watch.events
            ]
            assert told == self.model.since(watch)

    async def check(self):
        assert (self.store.revision, self.store.oldest) == (self.model.revision, self.model.oldest)
        for bucket in BUCKETS:
            for name in NAMES:
                found, held = await self.store.get(bucket, name), self.model.now.get((bucket, name))
                assert (found and (found.revision, found.created)) == (held and held[1:])
        for revision in range(self.model.oldest, self.model.revision + 1):
            for bucket in BUCKETS:
                self.check_listing(await self.store.list(bucket, revision=revision), bucket, "", revision, 0, "")


async def follow(open_store, program, max_events):
    async with AsyncExitStack() as stack:
        run = Run(open_store, stack, max_events)
        await run.begin()
        for name, *arguments in program:
            await getattr(run, name)(*arguments)
            run.note_trimming()
        await run.check()
        run.check_watches()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(program=st.lists(steps, min_size=5, max_size=40), max_events=st.sampled_from((12, 1000)))
def test_a_store_does_what_the_model_does(open_store, program, max_events):
    asyncio.run(follow(open_store, program, max_events))
