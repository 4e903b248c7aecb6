"""The API over HTTP: the client that every component can use against any API server."""

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from tiphys.api.kind import Kind
from tiphys.base.clock import Clock, RealClock
from tiphys.base.http.client import Headers, HttpClient, Reply
from tiphys.base.tls_context import client_context
from tiphys.client.interface import Listed, PatchType, Watched, listed
from tiphys.client.kubeconfig import Access
from tiphys.machinery.errors import ApiError, Details
from tiphys.machinery.tree import Obj

_JSON = ("Content-Type", "application/json")
_PATCHES: dict[PatchType, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_TRIES = 10
"""As often as client-go follows a server that asks to be tried again (rest/with_retry.go)."""
_TOKEN_SECONDS = 60.0
"""How long a token read from a file is used before it is read anew: the kubelet renews them."""


class _Credentials:
    """Authorization, read again where it comes from a file."""

    def __init__(self, access: Access, clock: Clock) -> None:
        self._clock = clock
        self._file = access.token_file
        self._read_at = float("-inf")
        self._headers: Headers = access.impersonate
        self._fixed = access.impersonate
        if access.token:
            self._headers = (*self._fixed, ("Authorization", f"Bearer {access.token}"))
        elif access.basic is not None:
            told = b64encode(":".join(access.basic).encode()).decode()
            self._headers = (*self._fixed, ("Authorization", f"Basic {told}"))

    def headers(self) -> Headers:
        if self._file and self._clock.monotonic() - self._read_at > _TOKEN_SECONDS:
            self._read_at = self._clock.monotonic()
            token = Path(self._file).read_text().strip()
            self._headers = (*self._fixed, ("Authorization", f"Bearer {token}"))
        return self._headers


class RestClient:
    """Implements `client.interface.Client`."""

    def __init__(
        self, access: Access, *, user_agent: str = "tiphys", clock: Clock | None = None, timeout: float | None = 60.0
    ) -> None:
        """`timeout` is for answers, not for watches."""
        self._base = urlsplit(access.server).path.rstrip("/")
        self._clock = clock or RealClock()
        self._timeout = timeout
        self._user_agent = user_agent
        self._credentials = _Credentials(access, self._clock)
        self.http = self._connections(access)

    def _connections(self, access: Access) -> HttpClient:
        parts = urlsplit(access.server)
        secure = parts.scheme == "https"
        return HttpClient(
            parts.hostname or "",
            parts.port or (443 if secure else 80),
            ssl_context=client_context([access.authority] if access.authority else (), access.pair, insecure=access.insecure)
            if secure
            else None,
            server_name=access.server_name,
            headers=(("User-Agent", self._user_agent), ("Accept", "application/json")),
        )

    def renew(self, access: Access) -> None:
        """New credentials for the same server, from the next request on; what is under way ends as it began."""
        old, self.http = self.http, self._connections(access)
        self._credentials = _Credentials(access, self._clock)
        old.close()

    def close(self) -> None:
        self.http.close()

    async def closed(self) -> None:
        """Close, and wait until the server has been told so."""
        await self.http.closed()

    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "", params: Mapping[str, str] = {}
    ) -> Obj:
        return await self._ask("GET", self._path(kind, namespace, name, subresource, params))

    async def list(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", params: Mapping[str, str] = {}
    ) -> Listed:
        found = listed(await self._ask("GET", self._path(kind, namespace, params=_selected(labels, fields, params))))
        for item in found.items:
            # Items of a list do not repeat what the list says.
            item.setdefault("apiVersion", kind.api_version)
            item.setdefault("kind", kind.kind)
        return found

    async def watch(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "", params: Mapping[str, str] = {}
    ) -> AsyncIterator[Watched]:
        asked = {"watch": "true", **_selected(labels, fields, params)}
        path = self._base + self._path(kind, namespace, params=asked)
        async with await self.http.stream("GET", path, self._credentials.headers(), timeout=self._timeout) as incoming:
            if incoming.status >= 400:
                raise error_of(Reply(incoming.status, incoming.headers, await incoming.read_all()))
            async for line in incoming.lines():
                if line:
                    event = orjson.loads(line)
                    yield Watched(event["type"], event["object"])

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
        return await self._ask("POST", self._path(kind, namespace, name, subresource, params), obj)

    async def update(self, kind: Kind, obj: Obj, *, subresource: str = "", params: Mapping[str, str] = {}) -> Obj:
        meta = obj["metadata"]
        path = self._path(kind, meta.get("namespace", ""), meta["name"], subresource, params)
        return await self._ask("PUT", path, obj)

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
        path = self._path(kind, namespace, name, subresource, params)
        return await self._ask("PATCH", path, patch, ("Content-Type", _PATCHES[patch_type]))

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        options: Obj | None = None,
        params: Mapping[str, str] = {},
    ) -> Obj:
        return await self._ask("DELETE", self._path(kind, namespace, name, params=params), options)

    async def raw(self, method: str, path: str, headers: Headers = (), body: bytes = b"") -> Reply:
        """Any path of the server, with this client's credentials; an error answer is returned, not raised."""
        reply: Reply
        for attempt in range(_TRIES):
            sent = (*self._credentials.headers(), *headers)
            reply = await self.http.request(method, self._base + path, sent, body, timeout=self._timeout)
            again = reply.headers.get("retry-after", "")
            if not again.isdecimal() or (reply.status != 429 and reply.status < 500) or attempt == _TRIES - 1:
                break
            await self._clock.sleep(int(again))
        return reply

    async def _ask(self, method: str, path: str, body: Any = None, content: tuple[str, str] = _JSON) -> Obj:
        if body is None:
            reply = await self.raw(method, path)
        else:
            reply = await self.raw(method, path, (content,), orjson.dumps(body))
        if reply.status >= 400:
            raise error_of(reply)
        tree: Obj = orjson.loads(reply.body) if reply.body else {}
        return tree

    @staticmethod
    def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "", params: Mapping[str, str] = {}) -> str:
        parts = ["", "apis", kind.group, kind.version] if kind.group else ["", "api", kind.version]
        if kind.namespaced and namespace:
            parts += ("namespaces", namespace)
        parts.append(kind.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        path = "/".join(parts)
        return f"{path}?{urlencode(params)}" if params else path


def _selected(labels: str, fields: str, params: Mapping[str, str]) -> dict[str, str]:
    asked = dict(params)
    if labels:
        asked["labelSelector"] = labels
    if fields:
        asked["fieldSelector"] = fields
    return asked


def error_of(reply: Reply) -> ApiError:
    """The error that an answer tells; made up where the answer is no Status (a proxy's, say)."""
    try:
        status = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return error_of_status(status, reply.status, reply.headers)
    told = reply.body.decode(errors="replace").strip() or f"the server responded with the status code {reply.status}"
    return ApiError(reply.status, _REASONS.get(reply.status, ""), told, Details(), dict(reply.headers))


def error_of_status(status: Obj, code: int = 500, headers: Mapping[str, str] = {}) -> ApiError:
    """Also for the object of an ERROR event."""
    details = status.get("details")
    return ApiError(
        status.get("code") or code,
        status.get("reason", ""),
        status.get("message", ""),
        None
        if details is None
        else Details(
            details.get("name", ""),
            details.get("group", ""),
            details.get("kind", ""),
            details.get("uid", ""),
            tuple(details.get("causes") or ()),
            details.get("retryAfterSeconds", 0),
        ),
        dict(headers),
        (status.get("metadata") or {}).get("continue", ""),
    )
