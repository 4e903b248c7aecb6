"""Event: something that happened to an object, as components report it and people read it.

core/v1 and events.k8s.io/v1 show the same stored objects; what is stored is this one's shape.
"""

from collections.abc import Iterator
from typing import Any

from tiphys.api import unset_times
from tiphys.api.core.cells import UNKNOWN
from tiphys.api.kind import Column, Kind, Strategy
from tiphys.machinery import duration, times
from tiphys.machinery.fields import FieldError, invalid, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1123_subdomain, path_segment, qualified_name

_MAX_NAME = 128
_MAX_REASON = 128
_MAX_NOTE = 1024


def default(event: Obj) -> None:
    """Fields that upstream always sends."""
    for part in ("involvedObject", "source"):
        if event.get(part) is None:
            event[part] = {}
    for part in ("reportingComponent", "reportingInstance"):
        if event.get(part) is None:
            event[part] = ""
    default_times(event, "eventTime", "firstTimestamp", "lastTimestamp")


def default_times(event: Obj, *names: str) -> None:
    """Also those that nobody has set; `names` are what this version calls the event's own."""
    unset_times.show([event], names)
    if event.get("series") is not None:
        unset_times.show([event["series"]], ("lastObservedTime",))


def validate(event: Obj) -> Iterator[FieldError]:
    yield from validate_shared(event, "reportingComponent")


def validate_shared(event: Obj, controller_at: str) -> Iterator[FieldError]:
    """What every event has to keep to, whichever way it came in; `controller_at` is what its version calls the reporter."""
    namespace = event.get("metadata", {}).get("namespace", "")
    concerned = get(event, ("involvedObject", "namespace"), "")
    astray = invalid("involvedObject.namespace", concerned, "does not match event.namespace")
    if not event.get("eventTime"):
        if (concerned and concerned != namespace) or (not concerned and namespace not in ("", "default")):
            yield astray
    else:
        if not concerned and namespace not in ("default", "kube-system"):
            yield astray
        yield from _validate_new(event, controller_at)
    for problem in dns1123_subdomain(namespace):
        yield invalid("namespace", namespace, problem)


def _validate_new(event: Obj, controller_at: str) -> Iterator[FieldError]:
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required(controller_at)
    for problem in qualified_name(controller):
        yield invalid(controller_at, controller, problem)
    for part, limit in (("reportingInstance", _MAX_NAME), ("action", _MAX_NAME), ("reason", _MAX_REASON)):
        value = event.get(part) or ""
        if not value:
            yield required(part)
        yield from _validate_length(value, part, limit)
    yield from _validate_length(event.get("message") or "", "message", _MAX_NOTE)


def _validate_length(value: str, at: str, limit: int) -> Iterator[FieldError]:
    if len(value.encode()) > limit:
        yield invalid(at, "", f"can have at most {limit} characters")


def last_told(event: Obj) -> float:
    """When somebody last had something to say about it; for one that tells no time at all, the beginning of time."""
    metadata, series = event.get("metadata") or {}, event.get("series") or {}
    said = [metadata.get("creationTimestamp"), event.get("lastTimestamp"), event.get("eventTime")]
    said.append(series.get("lastObservedTime"))
    said += [each.get("time") for each in metadata.get("managedFields") or ()]
    return max((times.parse(each) for each in said if each), default=0.0)


def source(event: Obj) -> str:
    """Of the two names for who reported it, the one that is filled in."""
    return get(event, ("source", "component"), "") or event.get("reportingComponent") or ""


def _since(time: str | None, now: float) -> str:
    return duration.human(now - times.parse(time)) if time else UNKNOWN


def _first_seen(event: Obj, now: float) -> str:
    return _since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Obj, now: float) -> str:
    if (series := event.get("series")) is not None:
        return _since(series.get("lastObservedTime"), now)
    if last := event.get("lastTimestamp"):
        return _since(last, now)
    return _first_seen(event, now)


def _object(event: Obj, _: float) -> str:
    concerned = event.get("involvedObject") or {}
    kind, name = str(concerned.get("kind", "")).lower(), concerned.get("name")
    return f"{kind}/{name}" if name else kind


def _reporter(event: Obj, _: float) -> str:
    instance = get(event, ("source", "host"), "") or event.get("reportingInstance")
    return f"{source(event)}, {instance}" if instance else source(event)


def _message(event: Obj, _: float) -> str:
    return str(event.get("message", "")).strip()


def _count(event: Obj, _: float) -> Any:
    if (series := event.get("series")) is not None:
        return series.get("count", 0)
    return event.get("count") or 1


EVENTS = Kind(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    singular="event",
    schema="io.k8s.api.core.v1.Event",
    short=("ev",),
    default=default,
    validate=validate,
    # Nothing more was ever asked of their names.
    name=path_segment,
    metadata_last=True,
    strategy=Strategy(create_on_update=True),
    selectable=(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    field_of={"source": source},
    columns=(
        Column("Last Seen", _last_seen, description="When it was last reported."),
        Column("Type", "type"),
        Column("Reason", "reason"),
        Column("Object", _object, description="What it is about."),
        Column("Subobject", "involvedObject.fieldPath", wide=True),
        Column("Source", _reporter, wide=True, description="Who reported it."),
        Column("Message", _message),
        Column("First Seen", _first_seen, wide=True, description="When it was first reported."),
        Column("Count", _count, wide=True, description="How often it was reported."),
        Column("Name", "metadata.name", format="name", wide=True),
    ),
)
