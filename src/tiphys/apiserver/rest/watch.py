"""GET ?watch=true: every change from a revision on, as a stream of framed events."""

import asyncio
from collections.abc import Callable, Sequence

import orjson

from tiphys.apiserver import table
from tiphys.apiserver.call import Call
from tiphys.apiserver.negotiate import JSON, STREAMED, Form
from tiphys.apiserver.rest import answers, list_options
from tiphys.apiserver.rest.list_options import parse_revision
from tiphys.apiserver.rest.selection import Selection, selection_of
from tiphys.apiserver.watch_cache import Shared, Type, added, bookmark, frame
from tiphys.base.http.messages import Channel, Stream
from tiphys.base.metrics import Value
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Compacted, Event, Future, Subscription, Watcher

BOOKMARK_EVERY = 45.0


async def watch(call: Call) -> Stream:
    selection = selection_of(call)
    form = answers.form_of(call)
    if form.yaml:
        raise errors.not_acceptable(STREAMED)
    stream = WatchStream(call, selection, form, _start(call))
    return Stream(stream.run, 200, JSON, answers.headers_of(call))


class _Start:
    """Where a watch begins."""

    __slots__ = ("bookmark", "initial", "since")

    def __init__(self, since: int, initial: bool, bookmark: bool) -> None:
        self.since = since
        self.initial = initial
        self.bookmark = bookmark


def _start(call: Call) -> _Start:
    list_options.check_watch(call)
    text = call.option("resourceVersion")
    asked = parse_revision(text) if text else 0
    if call.flag("sendInitialEvents"):
        return _Start(asked, True, call.flag("allowWatchBookmarks"))
    if "sendInitialEvents" in call.query:
        return _Start(asked or call.backend.store.revision, False, False)
    # Without a revision a watch begins with the present state; only sendInitialEvents is told where that ends.
    return _Start(asked, asked == 0, False)


class WatchStream:
    """One watcher: frames of what it is shown, written as they happen."""

    __slots__ = ("_call", "_channel", "_encode", "_form", "_gone", "_reader", "_selection", "_sent", "_start", "_subscription")

    def __init__(self, call: Call, selection: Selection, form: Form, start: _Start) -> None:
        self._call = call
        self._selection = selection
        self._form = form
        self._start = start
        self._encode = _encoder(call, form)
        self._subscription: Subscription | None = None
        self._gone = asyncio.Event()
        self._reader = call.backend.watches.unread.reader()
        self._channel: Channel
        self._sent: Value

    async def run(self, channel: Channel) -> None:
        self._channel = channel
        with self._call.backend.watches.watching(self._call.served, self._call.info.scope) as self._sent:
            # Clients come again, and find how the kind is served then.
            unfollow = self._call.served.follow(self._gone.set)
            try:
                await self._begin()
                if self._subscription is not None:
                    await self._stay()
            except ApiError as problem:
                channel.write(frame("ERROR", orjson.dumps(problem.to_status())))
            finally:
                unfollow()
                self._reader.left()
                if self._subscription is not None:
                    self._subscription.close()

    async def _begin(self) -> None:
        call, start = self._call, self._start
        store = call.backend.store
        if start.initial and start.since > store.revision:
            raise errors.too_large_resource_version(store.revision, start.since)
        since = await self._send_present() if start.initial else start.since
        try:
            self._subscribe(since, self._deliver)
        except Compacted as gone:
            told = f"too old resource version: {since} ({gone.oldest})"
            raise errors.expired(told) from None
        except Future:
            self._subscribe(store.revision, _after(since, self._deliver))

    def _subscribe(self, since: int, deliver: Watcher) -> None:
        call = self._call
        self._subscription = call.backend.store.watch(call.served.kind.prefix, call.namespace, since, deliver)

    async def _send_present(self) -> int:
        """Every object there is, as ADDED; then the revision at which that was so."""
        call = self._call
        listing = await call.backend.store.list(call.served.kind.prefix, call.namespace)
        matches = self._selection.matcher(call.backend.watches.labels_of)
        records = listing.records if matches is None else [each for each in listing.records if matches(each)]
        if records:
            # Not shared: these events are this watcher's alone.
            self._channel.write(b"".join([self._encode(Shared(added(record)), "ADDED") for record in records]))
            self._sent.inc(len(records))
        if self._start.bookmark:
            self._write_bookmark(listing.revision, initial_end=True)
        return listing.revision

    def _deliver(self, events: Sequence[Event], revision: int) -> None:  # noqa: ARG002 - a Watcher is told
        """Called by the store for every batch; must not wait."""
        share, selection = self._call.backend.watches.share, self._selection
        frames = []
        for event in events:
            shared = share(event)
            kind = shared.decide(selection)
            if kind is not None:
                frames.append(self._encode(shared, kind))
        if frames:
            self._channel.write(frames[0] if len(frames) == 1 else b"".join(frames))
            self._sent.value += len(frames)
            if not self._reader.keeps_up(self._channel.pending):
                self._gone.set()

    async def _stay(self) -> None:
        """Until the time is up, the client has gone or it reads too slowly; bookmarks in between."""
        call = self._call
        until = asyncio.get_running_loop().time() + self._seconds()
        bookmarks = call.flag("allowWatchBookmarks")
        while not self._gone.is_set():
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                return
            try:
                async with asyncio.timeout(min(left, BOOKMARK_EVERY) if bookmarks else left):
                    await self._gone.wait()
            except TimeoutError:
                if bookmarks and until - asyncio.get_running_loop().time() > 0:
                    self._write_bookmark(call.backend.store.revision)

    def _seconds(self) -> float:
        seconds = list_options.number(self._call, "timeoutSeconds")
        return float(seconds) if seconds > 0 else self._call.backend.watch_seconds * (1 + self._call.backend.chance())

    def _write_bookmark(self, revision: int, *, initial_end: bool = False) -> None:
        obj = bookmark(self._call.served, revision, initial_end=initial_end)
        if self._form.view == "Table":
            obj = table.of(self._call.served.kind, [], obj["metadata"], self._call.now, "None", self._form.view_version)
        elif self._form.view:
            obj = table.partial(obj, self._form.view_version)
        self._channel.write(frame("BOOKMARK", orjson.dumps(obj)))


def _encoder(call: Call, form: Form) -> Callable[[Shared, Type], bytes]:
    """How this watcher's events are written; frames that others may want, too, are made once."""
    served = call.served
    if form.view == "Table":
        return _TableRows(call, form).encode
    if form.view:
        version = form.view_version
        name = f"{form.view}/{version}"
        return lambda shared, kind: shared.form(name, kind, lambda: orjson.dumps(table.partial(shared.object(kind), version)))
    if served.custom:
        # The same version of a kind may be served in another way tomorrow.
        name = f"{served.kind.api_version} {served.serial}"
        return lambda shared, kind: shared.form(name, kind, lambda: _as_shown(call, shared, kind))
    if served.converts:
        name = served.kind.api_version
        return lambda shared, kind: shared.form(name, kind, lambda: orjson.dumps(_converted(call, shared.object(kind))))
    return lambda shared, kind: shared.form("", kind, lambda: shared.plain(kind))


def _as_shown(call: Call, shared: Shared, kind: Type) -> bytes:
    stored = shared.object(kind)
    obj = _converted(call, stored)
    return shared.plain(kind) if obj is stored else orjson.dumps(obj)


def _converted(call: Call, obj: Obj) -> Obj:
    conversion = call.served.kind.conversion
    return conversion.from_stored(obj) if conversion is not None else obj


def _after(since: int, deliver: Watcher) -> Watcher:
    """For a watch from a revision that has not happened yet: nothing until then."""

    def filtered(events: Sequence[Event], revision: int) -> None:
        later = [event for event in events if event.revision > since]
        if later:
            deliver(later, revision)

    return filtered


class _TableRows:
    """Events as one-row tables; only the first carries the column definitions."""

    def __init__(self, call: Call, form: Form) -> None:
        self._call = call
        self._form = form
        self._first = True

    def encode(self, shared: Shared, kind: Type) -> bytes:
        call = self._call
        obj = _converted(call, shared.object(kind))
        meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        include = call.option("includeObject") or "Metadata"
        now = call.backend.clock.now()
        shown = table.of(call.served.kind, [obj], meta, now, include, self._form.view_version)
        if not self._first:
            shown["columnDefinitions"] = None
        self._first = False
        return frame(kind, orjson.dumps(shown))
