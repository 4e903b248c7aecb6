"""What becomes of an event before it is written: repeated ones are counted, similar ones combined, too many dropped.

Upstream's numbers: of one object and reason, ten different messages in ten minutes are told apart, later ones become one
event "(combined from similar events)"; of one object a source may tell 25 events, and one more every five minutes.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from tiphys.machinery import times
from tiphys.machinery.tree import Obj

KEPT = 4096
SIMILAR = 10
SIMILAR_SECONDS = 600.0
BURST = 25
SECONDS_PER_EVENT = 300.0

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Create `event`, or where `name` is given, patch the one that is there with `patch`."""

    event: Obj
    name: str = ""
    patch: Obj | None = None


V = TypeVar("V")


class _Recent(Generic[V]):
    """The most recently used values."""

    def __init__(self) -> None:
        self._values: OrderedDict[Key, V] = OrderedDict()

    def get(self, key: Key) -> V | None:
        found = self._values.get(key)
        if found is not None:
            self._values.move_to_end(key)
        return found

    def put(self, key: Key, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > KEPT:
            self._values.popitem(last=False)


@dataclass(slots=True)
class _Similar:
    messages: set[str]
    last: float


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


@dataclass(slots=True)
class _Told:
    name: str
    count: int
    first: str


class Correlator:
    def __init__(self) -> None:
        self._similar: _Recent[_Similar] = _Recent()
        self._buckets: _Recent[_Bucket] = _Recent()
        self._told: _Recent[_Told] = _Recent()

    def correlate(self, event: Obj, now: float) -> Write | None:
        """None: drop it. `event` is a new core/v1 Event, which belongs to the correlator from here on."""
        who = _about(event)
        combined, key = self._combine(event, who, now)
        if not self._allowed(who, now):
            return None
        told = self._told.get(key)
        if told is None:
            self._told.put(key, _Told(event["metadata"]["name"], 1, event["firstTimestamp"]))
            return Write(event)
        told.count += 1
        event["metadata"]["name"] = told.name
        event["firstTimestamp"], event["count"] = told.first, told.count
        patch: Obj = {"count": told.count, "lastTimestamp": times.rfc3339(now)}
        if combined:
            patch["message"] = event["message"]
        return Write(event, told.name, patch)

    def _combine(self, event: Obj, who: Key, now: float) -> tuple[bool, Key]:
        kind = (*who, event["type"], event["reason"])
        message = event["message"]
        similar = self._similar.get(kind)
        if similar is None or now - similar.last > SIMILAR_SECONDS:
            similar = _Similar(set(), now)
        similar.last = now
        similar.messages.add(message)
        self._similar.put(kind, similar)
        if len(similar.messages) < SIMILAR:
            return False, (*kind, message)
        # One more is enough to stay over the limit; the set does not grow with every message.
        similar.messages.pop()
        event["message"] = f"(combined from similar events): {message}"
        return True, kind

    def _allowed(self, who: Key, now: float) -> bool:
        bucket = self._buckets.get(who)
        if bucket is None:
            bucket = _Bucket(float(BURST), now)
            self._buckets.put(who, bucket)
        bucket.tokens = min(float(BURST), bucket.tokens + (now - bucket.filled_at) / SECONDS_PER_EVENT)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _about(event: Obj) -> Key:
    source, concerned = event["source"], event["involvedObject"]
    return (
        source.get("component", ""),
        source.get("host", ""),
        *(concerned.get(part, "") for part in ("kind", "namespace", "name", "uid", "apiVersion", "fieldPath")),
    )
