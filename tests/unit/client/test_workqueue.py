"""The queue of keys. v1.36.4 client-go/util/workqueue: queue.go, delaying_queue.go, default_rate_limiters.go."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.client.workqueue import WorkQueue


def test_a_key_waits_once_and_is_never_at_two_workers():
    queue = WorkQueue()
    queue.add("a", 0)
    queue.add("a", 1)
    assert queue.take(2) == ("a", 2)
    queue.add("a", 3)
    assert queue.take(3) is None
    queue.done("a")
    assert queue.take(5) == ("a", 2)


def test_the_earlier_of_two_delays_counts():
    queue = WorkQueue()
    queue.add_after("a", 10, 0)
    queue.add_after("a", 5, 0)
    queue.add_after("a", 20, 0)
    assert queue.next_at() == 5
    assert queue.take(4.9) is None
    assert queue.take(5) == ("a", 0)
    queue.done("a")
    assert queue.next_at() is None


def test_failures_of_a_key_double_its_delay_until_it_is_forgotten():
    queue = WorkQueue()
    assert [queue.retry("a", 0) for _ in range(4)] == [0.005, 0.01, 0.02, 0.04]
    queue.forget("a")
    assert queue.retry("a", 0) == 0.005


def test_all_retries_share_a_bucket():
    queue = WorkQueue()
    for number in range(100):
        queue.retry(str(number), 0)
    assert queue.retry("one more", 0) == 0.1
    assert queue.retry("and one", 0) == 0.2
    assert queue.retry("after a while", 60) == 0.005


@given(st.lists(st.tuples(st.sampled_from(["add", "later", "retry", "take", "done"]), st.integers(0, 4))))
def test_nothing_is_lost_and_nothing_runs_twice_at_a_time(actions):
    queue, now = WorkQueue(), 0.0
    working: set[str] = set()
    owed: set[str] = set()
    for action, number in actions:
        key, now = f"k{number}", now + 0.5
        if action == "take":
            taken = queue.take(now)
            if taken is not None:
                assert taken[0] not in working
                working.add(taken[0])
                owed.discard(taken[0])
        elif action == "done":
            if key in working:
                working.discard(key)
                queue.done(key)
        else:
            owed.add(key)
            match action:
                case "add":
                    queue.add(key, now)
                case "later":
                    queue.add_after(key, number, now)
                case "retry":
                    queue.retry(key, now)
    for key in working:
        queue.done(key)
    seen = set()
    while (taken := queue.take(now + 10_000)) is not None:
        seen.add(taken[0])
        queue.done(taken[0])
    assert owed <= seen
