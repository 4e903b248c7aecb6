"""Authority: store/interface.py, Store.watch."""

from tiphys.machinery.record import Record
from tiphys.store.interface import Event
from tiphys.store.watchers import Watchers


def event(bucket, name, revision):
    return Event(Record(bucket, name, b"{}", revision, revision), None)


def collector(calls):
    return lambda events, revision: calls.append(([each.record.name for each in events], revision))


def test_each_watcher_is_told_once_of_what_concerns_it():
    watchers = Watchers()
    calls = {}
    for key in (("", ""), ("pods", ""), ("pods", "a"), ("pods", "b"), ("nodes", ""), ("", "a")):
        calls[key] = []
        watchers.add(*key, 1, collector(calls[key]))
    watchers.publish([event("pods", "a/x", 2), event("nodes", "n", 2), event("pods", "b/y", 3), event("pods", "a/z", 3)], 3)
    everything = [(["a/x", "n", "b/y", "a/z"], 3)]
    assert calls == {
        ("", ""): everything,
        ("", "a"): everything,
        ("pods", ""): [(["a/x", "b/y", "a/z"], 3)],
        ("pods", "a"): [(["a/x", "a/z"], 3)],
        ("pods", "b"): [(["b/y"], 3)],
        ("nodes", ""): [(["n"], 3)],
    }


def test_a_watcher_is_not_told_again_of_what_it_has_seen():
    watchers = Watchers()
    calls = []
    watchers.add("pods", "", 5, collector(calls))
    watchers.publish([event("pods", "a/x", 5)], 5)
    watchers.publish([event("pods", "a/y", 6)], 6)
    assert calls == [(["a/y"], 6)]


def test_nothing_is_left_of_closed_subscriptions():
    watchers = Watchers()
    calls = []
    subscriptions = [watchers.add("pods", "a", 1, collector(calls)) for _ in range(3)]
    for subscription in subscriptions:
        subscription.close()
        subscription.close()
    watchers.publish([event("pods", "a/x", 2)], 2)
    assert calls == []
    assert watchers._subscriptions == {}
