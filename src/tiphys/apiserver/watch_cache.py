"""Watch events, framed once and shared: the same bytes go to every watcher that wants them.

The store tells each watcher of a bucket about a batch of events. What is derived from an event (its frame, its decoded tree)
is kept here for the moment it takes to go round, so that two hundred watchers cost one encoding.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import orjson

from tiphys.apiserver.catalogue import Served
from tiphys.apiserver.rest.selection import Selection
from tiphys.apiserver.unread import Unread
from tiphys.base.metrics import Registry, Value
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Event

Type = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]

KEPT_EVENTS = 1024
"""How many recent events keep their frames and trees."""


def frame(kind: Type, body: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


class Shared:
    """One event, and what has been derived from it so far."""

    __slots__ = ("_forms", "_previous", "_tree", "event")

    def __init__(self, event: Event) -> None:
        self.event = event
        self._tree: Obj | None = None
        self._previous: Obj | None = None
        self._forms: dict[tuple[str, Type], bytes] = {}

    @property
    def tree(self) -> Obj:
        """The object, read-only."""
        if self._tree is None:
            self._tree = self.event.record.tree()
        return self._tree

    @property
    def previous(self) -> Obj | None:
        """The object before the event, with the event's revision: what upstream shows of an object that leaves a selection."""
        before = self.event.previous
        if before is None:
            return None
        if self._previous is None:
            tree = before.tree()
            tree["metadata"]["resourceVersion"] = str(self.event.revision)
            self._previous = tree
        return self._previous

    def form(self, name: str, kind: Type, make: Callable[[], bytes]) -> bytes:
        """The framed event in a form that several watchers may want."""
        found = self._forms.get((name, kind))
        if found is None:
            found = self._forms[name, kind] = frame(kind, make())
        return found

    def decide(self, selection: Selection) -> Type | None:
        """What a watcher with this selection sees: objects enter and leave it as their labels and fields change."""
        event = self.event
        if selection.everything:
            return "DELETED" if event.deleted else "ADDED" if event.previous is None else "MODIFIED"
        previous = self.previous
        was = previous is not None and selection.admits(previous)
        if event.deleted:
            return "DELETED" if was or (previous is None and selection.admits(self.tree)) else None
        now = selection.admits(self.tree)
        if now:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else None

    def plain(self, kind: Type) -> bytes:
        """The stored bytes of the object that goes with `kind`."""
        if kind == "DELETED" and not self.event.deleted:
            return orjson.dumps(self.previous)
        return self.event.record.data

    def object(self, kind: Type) -> Obj:
        if kind == "DELETED" and not self.event.deleted:
            assert self.previous is not None
            return self.previous
        return self.tree


_LONG = ("verb", "group", "version", "resource", "subresource", "scope", "component")
KEPT_LABELS = 8192
"""Of how many objects the labels are kept, so that lists with a selector need not decode what they let through."""


class WatchCaches:
    """The recent events of all buckets, the labels of what was listed lately, how many watch and what they have not read."""

    __slots__ = ("_labels", "_open", "_recent", "_sent", "unread")

    def __init__(self, metrics: Registry) -> None:
        self._open = metrics.gauge("apiserver_longrunning_requests", "Long-running requests that are being served", _LONG)
        self._sent = metrics.counter("apiserver_watch_events_total", "Events sent to watchers", _LONG[1:4])
        self._recent: OrderedDict[tuple[str, str, int], Shared] = OrderedDict()
        self._labels: dict[tuple[str, str, int], dict[str, str]] = {}
        self.unread = Unread()

    @contextmanager
    def watching(self, served: Served, scope: str) -> Iterator[Value]:
        """One more watcher; what it is given counts the events that are sent to it."""
        kind = served.kind
        count = self._open.labels("WATCH", kind.group, kind.version, kind.plural, "", scope, "apiserver")
        count.inc()
        try:
            yield self._sent.labels(kind.group, kind.version, kind.plural)
        finally:
            count.dec()

    def labels_of(self, record: Record) -> dict[str, str]:
        """Read-only."""
        key = (record.bucket, record.name, record.revision)
        found = self._labels.get(key)
        if found is None:
            if len(self._labels) >= KEPT_LABELS:
                self._labels.clear()
            found = self._labels[key] = record.tree()["metadata"].get("labels") or {}
        return found

    def share(self, event: Event) -> Shared:
        record = event.record
        key = (record.bucket, record.name, record.revision)
        found = self._recent.get(key)
        if found is None:
            found = self._recent[key] = Shared(event)
            if len(self._recent) > KEPT_EVENTS:
                self._recent.popitem(last=False)
        return found


def added(record: Record) -> Event:
    """An existing object as the first event of a watch that asks for the present state."""
    return Event(record, None)


def bookmark(served: Served, revision: int, *, initial_end: bool = False) -> Obj:
    metadata: Obj = {"resourceVersion": str(revision)}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"kind": served.kind.kind, "apiVersion": served.kind.api_version, "metadata": metadata}
