"""Events counted, combined, dropped. v1.36.4 client-go/tools/record/events_cache.go: 10 similar in 600 s, 25 in a burst."""

from tiphys.client.correlation import Correlator


def event(name, message="m", about="pod"):
    return {
        "metadata": {"name": name},
        "source": {"component": "test"},
        "involvedObject": {"kind": "Pod", "name": about, "uid": about},
        "reason": "Testing",
        "message": message,
        "type": "Normal",
        "firstTimestamp": "2027-01-15T08:00:00Z",
        "count": 1,
    }


def test_the_same_event_is_counted():
    correlator = Correlator()
    assert correlator.correlate(event("a"), 0).patch is None
    again = correlator.correlate(event("b"), 60)
    assert (again.name, again.patch) == ("a", {"count": 2, "lastTimestamp": "1970-01-01T00:01:00Z"})


def test_the_tenth_message_of_a_kind_and_those_after_it_are_combined():
    correlator = Correlator()
    writes = [correlator.correlate(event(f"e{number}", f"message {number}"), number) for number in range(12)]
    assert all(write.patch is None for write in writes[:10])
    assert writes[9].event["message"] == "(combined from similar events): message 9"
    assert (writes[11].name, writes[11].patch["count"]) == ("e9", 3)
    assert writes[11].patch["message"] == "(combined from similar events): message 11"


def test_one_object_may_not_drown_the_others():
    correlator = Correlator()
    assert sum(correlator.correlate(event("a"), 0) is not None for _ in range(40)) == 25
    assert correlator.correlate(event("b", about="other"), 0) is not None
    assert correlator.correlate(event("a"), 299) is None
    assert correlator.correlate(event("a"), 301) is not None
