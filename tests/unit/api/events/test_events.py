import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.core.events import EVENTS as CORE
from tiphys.api.events.events import EVENTS, from_stored, to_stored

NOW = 1_600_000_100.0
THEN = "2020-09-13T12:26:40.000000Z"


def event(**fields):
    obj = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a", "namespace": "default"}, **fields}
    EVENTS.default(obj)
    return obj


def complete(**fields):
    sent = {
        "eventTime": THEN,
        "type": "Normal",
        "reason": "r",
        "action": "a",
        "reportingController": "c",
        "reportingInstance": "i",
    }
    return event(**{**sent, **fields})


def test_both_versions_show_the_same_event():
    # v1.36.4 pkg/apis/events/v1/conversion.go:28
    stored = to_stored(complete(regarding={"kind": "Pod"}, note="n", deprecatedCount=3, deprecatedSource={"component": "x"}))
    assert stored["apiVersion"] == "v1"
    assert (stored["involvedObject"], stored["message"], stored["count"]) == ({"kind": "Pod"}, "n", 3)
    assert (stored["source"], stored["reportingComponent"]) == ({"component": "x"}, "c")
    assert not {"regarding", "note", "reportingController"} & stored.keys()
    assert EVENTS.stored is CORE
    assert EVENTS.prefix == CORE.prefix == "events"


FIELDS = st.sampled_from(
    (
        "regarding",
        "note",
        "deprecatedSource",
        "deprecatedFirstTimestamp",
        "deprecatedCount",
        "reportingController",
        "type",
        "series",
    )
)


@given(st.dictionaries(FIELDS, st.text(max_size=3)))
def test_conversion_there_and_back(fields):
    # v1.36.4 pkg/api/testing/serialization_test.go: round trips lose nothing; an empty reporter is none.
    obj = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"}, **fields}
    reporters = ("reportingController", "reportingInstance")
    assert from_stored(to_stored(obj)) == {name: value for name, value in obj.items() if value or name not in reporters}


def told(problems):
    return [str(problem) for problem in problems]


# v1.36.4 pkg/apis/core/validation/events.go:45: only what comes in by this version must be complete.
@pytest.mark.parametrize(
    ("obj", "problems"),
    [
        (complete(), []),
        (complete(series={"count": 2, "lastObservedTime": THEN}), []),
        (complete(series={"count": 1, "lastObservedTime": THEN}), ['series.count: Invalid value: "": should be at least 2']),
        (complete(type="Odd"), ['type: Invalid value: "": has invalid value: Odd']),
        (complete(deprecatedCount=1), ['count: Invalid value: "": needs to be unset']),
        (complete(deprecatedSource={"host": "h"}), ['source: Invalid value: "": needs to be unset']),
        (event(type="Normal"), ["eventTime: Required value"]),
    ],
)
def test_new_events_must_be_complete(obj, problems):
    assert told(EVENTS.validate_create(obj)) == problems
    assert told(CORE.validate_create(to_stored(obj))) == []


def test_only_the_series_of_an_event_goes_on():
    # v1.36.4 pkg/apis/core/validation/events.go:77
    old = complete(note="n")
    assert told(EVENTS.validate_update(complete(note="n", series={"count": 5, "lastObservedTime": THEN}), old)) == []
    assert told(EVENTS.validate_update(complete(note="m"), old)) == ['message: Invalid value: "m": field is immutable']


def cells(obj, kind=CORE):
    return {column.name: column.value(obj, NOW) for column in kind.columns if callable(column.value)}


# v1.36.4 pkg/printers/internalversion/printers.go:2184
def test_columns_of_an_old_event():
    obj = {
        "involvedObject": {"kind": "Pod", "name": "web"},
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "2020-09-13T12:26:40Z",
        "lastTimestamp": "2020-09-13T12:27:40Z",
        "count": 4,
        "message": " pulled \n",
    }
    shown = cells(obj)
    assert (shown["Last Seen"], shown["First Seen"], shown["Count"]) == ("40s", "100s", 4)
    assert (shown["Object"], shown["Source"], shown["Message"]) == ("pod/web", "kubelet, n1", "pulled")


def test_columns_of_a_new_event():
    obj = to_stored(
        complete(regarding={"kind": "Node"}, series={"count": 7, "lastObservedTime": "2020-09-13T12:28:00.000000Z"})
    )
    shown = cells(obj)
    assert (shown["Last Seen"], shown["First Seen"], shown["Count"]) == ("20s", "100s", 7)
    assert (shown["Object"], shown["Source"]) == ("node", "c, i")
    assert cells(from_stored(obj), EVENTS) == shown
    assert cells(to_stored(complete()))["Count"] == 1


def test_source_is_whoever_reported():
    # v1.36.4 pkg/registry/core/event/strategy.go:107
    read = CORE.field_of["source"]
    assert read({"source": {"component": "a"}, "reportingComponent": "b"}) == "a"
    assert read({"source": {}, "reportingComponent": "b"}) == "b"
    assert read({}) == ""
