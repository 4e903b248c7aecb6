"""The API for components in the same process: the whole pipeline of verbs, without HTTP, encoding or TLS.

Requests go through admission, validation and the store exactly as over the wire; watches hand out the trees that all
watchers share, so they are read-only.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import orjson

from tiphys.api.kind import Kind
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.call import Call
from tiphys.apiserver.pipeline import Pipeline
from tiphys.apiserver.request import RequestInfo
from tiphys.apiserver.rest import answers, read
from tiphys.apiserver.rest.list_options import parse_revision
from tiphys.apiserver.rest.selection import Selection, selection_of
from tiphys.apiserver.watch_cache import added, bookmark
from tiphys.base.http.messages import Request, Response
from tiphys.client.interface import Listed, PatchType, Watched, listed
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError, Details
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Compacted, Event, Future, Unavailable

_PATCH_MEDIA = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
SLOW_EVENTS = 100_000
"""A reader this far behind is told to start over, like a slow watcher on the wire."""


class LocalClient:
    """Implements client.interface.Client. `user` is who the component is, `agent` what managedFields call it."""

    def __init__(self, pipeline: Pipeline, user: User, agent: str) -> None:
        self._pipeline = pipeline
        self._user = user
        self._headers = {"user-agent": agent}

    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "", params: Mapping[str, str] = {}
    ) -> Obj:
        return await self._send("GET", "get", kind, namespace, name, subresource, params)

    async def list(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", params: Mapping[str, str] = {}
    ) -> Listed:
        params = _selected(params, labels, fields)
        served = self._pipeline.backend.catalogue.at(kind.group, kind.version, kind.plural)
        if served is None or served.kind.reported:
            # Nothing of it is in the store: whoever answers for it, or says that there is no such thing, is behind the routes.
            return listed(await self._send("GET", "list", kind, namespace, "", "", params))
        with _as_the_server_answers():
            call = self._call("list", kind, namespace, params)
            selected = await read.select(call)
        items = [answers.from_store(call, record) for record in selected.records]
        return Listed(items, str(selected.revision), selected.continue_token)

    async def watch(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", params: Mapping[str, str] = {}
    ) -> AsyncIterator[Watched]:
        with _as_the_server_answers():
            call = self._call("watch", kind, namespace, _selected(params, labels, fields))
            follower = _Follower(call, selection_of(call))
        try:
            with _as_the_server_answers():
                await follower.begin()
            while True:
                for event in await follower.next():
                    yield event
        finally:
            follower.close()

    async def create(
        self,
        kind: Kind,
        obj: Obj,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        params: Mapping[str, str] = {},
    ) -> Obj:
        where = namespace or obj.get("metadata", {}).get("namespace", "")
        return await self._send("POST", "create", kind, where, name, subresource, params, obj)

    async def update(self, kind: Kind, obj: Obj, *, subresource: str = "", params: Mapping[str, str] = {}) -> Obj:
        metadata = obj["metadata"]
        return await self._send(
            "PUT", "update", kind, metadata.get("namespace", ""), metadata["name"], subresource, params, obj
        )

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        patch_type: PatchType = "merge",
        subresource: str = "",
        params: Mapping[str, str] = {},
    ) -> Obj:
        media = _PATCH_MEDIA[patch_type]
        return await self._send("PATCH", "patch", kind, namespace, name, subresource, params, patch, media)

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", *, options: Obj | None = None, params: Mapping[str, str] = {}
    ) -> Obj:
        verb = "delete" if name else "deletecollection"
        return await self._send("DELETE", verb, kind, namespace, name, "", params, options or {})

    async def _send(
        self,
        method: str,
        verb: str,
        kind: Kind,
        namespace: str,
        name: str,
        subresource: str,
        params: Mapping[str, str],
        tree: Any = None,
        media: str = "application/json",
    ) -> Obj:
        info = RequestInfo(verb, "", True, kind.group, kind.version, namespace, kind.plural, subresource, name)
        headers = {**self._headers, "content-type": media}
        request = Request(method, "", urlencode(params), headers)
        query = {key: [value] for key, value in params.items()}
        clock = self._pipeline.backend.clock
        with _as_the_server_answers():
            answer = await self._pipeline.serve(request, info, query, self._user, clock.now(), tree)
        assert isinstance(answer, Response)
        body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        result: Obj = orjson.loads(body)
        return result

    def _call(self, verb: str, kind: Kind, namespace: str, params: Mapping[str, str]) -> Call:
        backend = self._pipeline.backend
        info = RequestInfo(verb, "", True, kind.group, kind.version, namespace, kind.plural)
        query = {key: [value] for key, value in params.items()}
        request = Request("GET", "", "", self._headers)
        return Call(backend, request, info, query, self._user, backend.catalogue.of(kind), backend.clock.now())


@contextmanager
def _as_the_server_answers() -> Iterator[None]:
    """A store that is away is an error of the API to its clients, wherever they are."""
    try:
        yield
    except Unavailable as problem:
        raise errors.service_unavailable(str(problem)) from None


def _selected(params: Mapping[str, str], labels: str, fields: str) -> Mapping[str, str]:
    if not labels and not fields:
        return params
    return {**params, **({"labelSelector": labels} if labels else {}), **({"fieldSelector": fields} if fields else {})}


def _in_version(call: Call, obj: Obj) -> Obj:
    conversion = call.served.kind.conversion
    return conversion.from_stored(obj) if conversion is not None else obj


class _Follower:
    """A watch whose events wait in a list until the reader takes them."""

    def __init__(self, call: Call, selection: Selection) -> None:
        self._call = call
        self._selection = selection
        self._waiting: list[Watched] = []
        self._more = asyncio.Event()
        self._overrun = False
        self._retired = False
        self._close: Callable[[], None] = lambda: None

    async def begin(self) -> None:
        call = self._call
        store, version = call.backend.store, call.option("resourceVersion")
        since = parse_revision(version) if version else 0
        if since == 0 or call.flag("sendInitialEvents"):
            since = await self._present()
        try:
            subscription = store.watch(call.served.kind.prefix, call.namespace, since, self._deliver)
        except Compacted as gone:
            raise errors.expired(f"too old resource version: {since} ({gone.oldest})") from None
        except Future as ahead:
            raise errors.too_large_resource_version(ahead.current, since) from None
        unfollow = call.served.follow(self._retire)

        def close() -> None:
            unfollow()
            subscription.close()

        self._close = close

    def _retire(self) -> None:
        self._retired = True
        self._more.set()

    async def _present(self) -> int:
        call = self._call
        listing = await call.backend.store.list(call.served.kind.prefix, call.namespace)
        matches = self._selection.matcher(call.backend.watches.labels_of)
        for record in listing.records:
            if matches is None or matches(record):
                self._waiting.append(Watched("ADDED", _in_version(call, added(record).record.tree())))
        if call.flag("sendInitialEvents"):
            self._waiting.append(Watched("BOOKMARK", bookmark(call.served, listing.revision, initial_end=True)))
        self._more.set()
        return listing.revision

    def _deliver(self, events: Sequence[Event], revision: int) -> None:  # noqa: ARG002 - a Watcher is told
        for event in events:
            shared = self._call.backend.watches.share(event)
            kind = shared.decide(self._selection)
            if kind is not None:
                self._waiting.append(Watched(kind, _in_version(self._call, shared.object(kind))))
        self._overrun = len(self._waiting) > SLOW_EVENTS
        self._more.set()

    async def next(self) -> list[Watched]:
        await self._more.wait()
        self._more.clear()
        if self._overrun:
            raise ApiError(410, "Expired", "the reader is too slow", Details())
        taken, self._waiting = self._waiting, []
        if self._retired:
            # What happened before is told first.
            if not taken:
                raise ApiError(410, "Expired", "the kind is served in another way now", Details())
            self._more.set()
        return taken

    def close(self) -> None:
        self._close()
