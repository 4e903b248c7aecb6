"""The state by itself; what all stores promise is in tests/contract/store.

Authority: https://etcd.io/docs/v3.5/learning/data_model/ (revisions, compaction).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery.record import encode
from tiphys.store.interface import Compacted, Delete, Future, Put
from tiphys.store.mvcc import Mvcc, prepare


def write(mvcc, *ops):
    revision = mvcc.revision + 1
    events = prepare(ops, mvcc.get, revision)
    mvcc.apply(events, revision)
    return events


def put(name, note="", bucket="pods"):
    return Put(bucket, name, encode({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "note": note}))


def held(mvcc, revision, bucket="pods"):
    return {record.name: record.tree()["note"] for record in mvcc.list(bucket, "", revision).records}


names = st.sampled_from(["a", "b", "c", "n/a", "n/b"])


@given(
    changes=st.lists(st.tuples(names, st.booleans()), max_size=30),
    compact_at=st.integers(0, 30),
    limit=st.integers(0, 4),
)
def test_every_kept_revision_reads_as_it_was(changes, compact_at, limit):
    mvcc = Mvcc()
    states = {mvcc.revision: {}}
    for number, (name, delete) in enumerate(changes):
        state = dict(states[mvcc.revision])
        if delete and name in state:
            write(mvcc, Delete("pods", name))
            del state[name]
        else:
            write(mvcc, put(name, number))
            state[name] = number
        states[mvcc.revision] = state
    oldest = min(compact_at + 1, mvcc.revision)
    mvcc.compact(oldest)
    for revision, state in states.items():
        if revision < oldest:
            with pytest.raises(Compacted):
                mvcc.list("pods", "", revision)
            with pytest.raises(Compacted):
                mvcc.get_at("pods", "a", revision)
            continue
        assert held(mvcc, revision) == state
        assert {name: mvcc.get_at("pods", name, revision).tree()["note"] for name in state} == state
        walked, after = [], ""
        while limit:
            page = mvcc.list("pods", "", revision, limit, after)
            walked.extend(record.name for record in page.records)
            assert len(walked) + page.remaining == len(state)
            if not page.remaining:
                assert walked == sorted(state)
                break
            after = walked[-1]


def test_events_of_one_revision_are_forgotten_together():
    mvcc = Mvcc(max_events=3)
    for number in range(4):
        write(mvcc, put("a", number), put("b", number))
        mvcc.trim()
    kept = mvcc.since("", "", mvcc.oldest)
    assert [event.revision for event in kept] == [5, 5]
    assert mvcc.oldest == 4


def test_history_is_bounded_by_bytes_and_size_follows():
    mvcc = Mvcc(max_bytes=100_000)
    for number in range(1000):
        write(mvcc, put("a", f"{number:0900}"))
        mvcc.trim()
    assert 50_000 < mvcc.size() < 110_000
    mvcc.compact(mvcc.revision)
    assert mvcc.size() == len(mvcc.get("pods", "a").data)
    write(mvcc, Delete("pods", "a"))
    mvcc.compact(mvcc.revision)
    assert mvcc.size() == 0


def test_trimming_drops_what_it_says():
    mvcc = Mvcc(max_events=32)
    dropped = []
    for number in range(100):
        write(mvcc, put(f"{number % 7}", number))
        dropped.extend(mvcc.trim())
    assert [event.revision for event in dropped] == list(range(2, mvcc.oldest + 1))
    assert [event.revision for event in mvcc.since("pods", "", mvcc.oldest)] == list(range(mvcc.oldest + 1, 102))


def test_revisions_of_one_object_share_their_strings():
    mvcc = Mvcc()
    write(mvcc, put("".join(["a", "b"])))
    first = mvcc.get("pods", "ab")
    write(mvcc, put("".join(["a", "b"])))
    assert mvcc.get("pods", "ab").name is first.name


def test_compaction_of_the_future_is_refused():
    with pytest.raises(Future):
        Mvcc().compact(2)


def test_compaction_of_the_past_changes_nothing():
    mvcc = Mvcc()
    write(mvcc, put("a"))
    assert mvcc.compact(1) == ()
    assert len(mvcc.compact(2)) == 1
    assert mvcc.compact(1) == ()
    assert mvcc.oldest == 2


def test_events_of_one_revision():
    mvcc = Mvcc()
    write(mvcc, put("a"))
    write(mvcc, put("a"), put("b"))
    write(mvcc, put("a"))
    assert [event.record.name for event in mvcc.at_revision(3)] == ["a", "b"]
    assert mvcc.at_revision(9) == []
