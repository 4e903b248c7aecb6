"""Event of events.k8s.io: the same stored objects as core/v1's, under the names of the newer version, more strictly checked."""

from collections.abc import Iterator

from tiphys.api.core.events import EVENTS as CORE_EVENTS
from tiphys.api.core.events import default_times, validate_shared
from tiphys.api.core.structs import spelled
from tiphys.api.kind import Column, Conversion, Kind, Strategy
from tiphys.api.pod_template.internal import internal
from tiphys.machinery.fields import FieldError, invalid, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE

_RENAMED = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_RENAMED_BACK = {theirs: ours for ours, theirs in _RENAMED.items()}
_SAID_IF_ANY = ("reportingComponent", "reportingInstance")
# In upstream's order, with the types of its source; it checks the reason twice.
_UNCHANGING = (
    ("involvedObject", "ObjectReference"),
    ("reason", "string"),
    ("message", "string"),
    ("source", "EventSource"),
    ("firstTimestamp", "*string"),
    ("lastTimestamp", "*string"),
    ("count", "int"),
    ("reason", "string"),
    ("type", "string"),
    ("eventTime", "*string"),
    ("action", "string"),
    ("related", "*ObjectReference"),
    ("reportingComponent", "string"),
    ("reportingInstance", "string"),
)


def to_stored(event: Obj) -> Obj:
    stored = {_RENAMED.get(part, part): value for part, value in event.items()}
    stored["apiVersion"] = "v1"
    # The older version always says them, the newer one only where there is something to say.
    for part in _SAID_IF_ANY:
        stored.setdefault(part, "")
    return stored


def from_stored(stored: Obj) -> Obj:
    said = {part: value for part, value in stored.items() if value or part not in _SAID_IF_ANY}
    event = {_RENAMED_BACK.get(part, part): value for part, value in said.items()}
    event["apiVersion"] = "events.k8s.io/v1"
    return event


def default(event: Obj) -> None:
    for part in ("regarding", "deprecatedSource"):
        if event.get(part) is None:
            event[part] = {}
    default_times(event, "eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")


def validate(event: Obj) -> Iterator[FieldError]:
    """Paths are the stored object's, as upstream reports them."""
    yield from validate_shared(to_stored(event), "reportingController")


def validate_create(event: Obj) -> Iterator[FieldError]:
    """Only new events must be complete; old ones may have come in by way of core/v1."""
    yield from _validate_series(event)
    if not event.get("eventTime"):
        yield required("eventTime")
    kind = event.get("type", "")
    if kind not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {kind}")
    stored = to_stored(event)
    for part in ("firstTimestamp", "lastTimestamp", "count"):
        if stored.get(part):
            yield invalid(part, "", "needs to be unset")
    if get(stored, ("source", "component")) or get(stored, ("source", "host")):
        yield invalid("source", "", "needs to be unset")


def _validate_series(event: Obj) -> Iterator[FieldError]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if new.get("series") != old.get("series"):
        yield from _validate_series(new)
    after, before = to_stored(new), to_stored(old)
    for part, kind in _UNCHANGING:
        now, was = (internal(event.get(part), kind) for event in (after, before))
        if now != was:
            yield invalid("reportingController" if part == "reportingComponent" else part, spelled(now), IMMUTABLE)


def _in_stored_shape(column: Column) -> Column:
    """Both versions print the same table."""
    value = column.value
    if not callable(value):
        path = {"involvedObject.fieldPath": "regarding.fieldPath"}.get(value, value)
        return Column(column.name, path, column.type, column.format, column.description, column.wide)
    read = value
    return Column(
        column.name,
        lambda event, now: read(to_stored(event), now),
        column.type,
        column.format,
        column.description,
        column.wide,
    )


EVENTS = Kind(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    singular="event",
    schema="io.k8s.api.events.v1.Event",
    short=("ev",),
    stored_as=CORE_EVENTS,
    conversion=Conversion(to_stored, from_stored),
    default=default,
    validate=validate,
    validate_create=validate_create,
    validate_update=validate_update,
    strategy=Strategy(create_on_update=True),
    selectable=(
        "reason",
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reportingController",
        "type",
    ),
    columns=tuple(_in_stored_shape(column) for column in CORE_EVENTS.columns),
)
