"""Slow watchers are dropped: one that is too far behind, and whoever falls behind while all together are."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.apiserver.unread import ALONE, SLOW, Unread


def test_one_that_is_too_far_behind_goes():
    reader = Unread().reader()
    assert reader.keeps_up(ALONE)
    assert not reader.keeps_up(ALONE + 1)


def test_many_that_are_behind_share_what_there_is():
    everybody = Unread(together=10 * SLOW)
    readers = [everybody.reader() for _ in range(8)]
    assert [reader.keeps_up(2 * SLOW) for reader in readers] == [True] * 5 + [False] * 3
    # Who keeps up is not made to pay for it, and who has caught up leaves room.
    assert everybody.reader().keeps_up(SLOW)
    for reader in readers[:4]:
        assert reader.keeps_up(0)
    assert readers[7].keeps_up(2 * SLOW)


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 2 * ALONE)))))
def test_what_is_counted_is_what_those_who_are_behind_have_left(said):
    everybody = Unread()
    readers = [everybody.reader() for _ in range(4)]
    last = [0] * 4
    for which, pending in said:
        if pending is None:
            readers[which].left()
        else:
            readers[which].keeps_up(pending)
        last[which] = pending if pending is not None and pending > SLOW else 0
        assert everybody.total == sum(last)
