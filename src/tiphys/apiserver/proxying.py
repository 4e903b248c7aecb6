"""Requests that the API server hands on: to nodes (exec, attach, port-forward, logs), pods, services, other API servers.

    answer = await forwarder.forward(request, Target("https", "10.0.0.7", 10250, "/exec/default/web/c", ssl_context=context))

The request has been authorized; the target is decided. Plain requests are passed on with their bodies streamed back; a
request for another protocol (WebSocket, SPDY) is passed on as it is, and after the target's 101 bytes are copied both ways.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from ssl import SSLContext
from urllib.parse import urlsplit, urlunsplit

from tiphys.apiserver import html_links
from tiphys.base.http.client import HttpClient, Incoming, Upgraded
from tiphys.base.http.dialing import bracketed, failure
from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream, Upgrade
from tiphys.machinery import errors

_HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_OURS = frozenset(("authorization", "content-length", "expect", "x-forwarded-for"))
"""What is for this server, or is written anew. Upstream's filters take credentials off a request once they are checked."""
_OF_THE_ANSWER = frozenset(("content-length", "content-type", "date"))
_CLIENTS = 256

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Target:
    scheme: str
    host: str
    port: int
    path: str
    query: str | None = None
    """None: the request's own."""
    ssl_context: SSLContext | None = None
    """For https."""
    server_name: str = ""
    headers: tuple[Header, ...] = ()
    """In addition to the client's, and before them: a user's identity for another API server, say."""
    prefix: str = ""
    """The path under which the target appears to the client. Given: redirects are rewritten to it, and the target is told."""
    own_host: bool = False
    """The target sees its own name as the host, not the one that the client used."""
    follow_slash: bool = True
    """Whether a request for the bare target is redirected to the path with a slash."""


class Forwarder:
    """Keeps connections to recent targets."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str, int, int, str], HttpClient] = {}

    async def forward(self, request: Request, target: Target, *, upgrade_required: bool = False) -> Answer:
        if _wants_upgrade(request):
            return await self._upgrade(request, target)
        if upgrade_required:
            raise errors.bad_request("Upgrade request required")
        if not target.path and target.follow_slash and request.method in ("GET", "HEAD"):
            query = f"?{request.query}" if request.query else ""
            return Response(301, b"", "", (("Location", f"{request.path}/{query}"),))
        path = target.path
        if request.path.endswith("/") and not path.endswith("/"):
            path += "/"
        headers = [*target.headers, *_passed_on(request, target, ())]
        if target.prefix:
            headers += _forwarded(target)
        try:
            incoming = await self._client(target).stream(
                request.method, _with_query(path or "/", request, target), headers, request.body
            )
        except ConnectionError as error:
            raise errors.service_unavailable(
                f"error trying to reach service: {failure(error, target.host, target.port)}"
            ) from error
        return await _answer(request, target, incoming)

    async def fetch(self, target: Target) -> Incoming:
        """A GET of this server's own, with nothing of a client's in it."""
        path = f"{target.path}?{target.query}" if target.query else target.path
        headers = [*target.headers, ("host", f"{bracketed(target.host)}:{target.port}")]
        try:
            return await self._client(target).stream("GET", path, headers)
        except ConnectionError as error:
            url = f"{target.scheme}://{bracketed(target.host)}:{target.port}{path}"
            raise errors.ApiError(500, "", f'Get "{url}": {failure(error, target.host, target.port)}') from error

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, target: Target) -> HttpClient:
        key = (target.scheme, target.host, target.port, id(target.ssl_context), target.server_name)
        client = self._clients.pop(key, None)
        if client is None:
            client = HttpClient(
                target.host,
                target.port,
                ssl_context=target.ssl_context if target.scheme == "https" else None,
                server_name=target.server_name,
                names_host=False,
                keep=4,
            )
            if len(self._clients) >= _CLIENTS:
                self._clients.pop(next(iter(self._clients))).close()
        self._clients[key] = client
        return client

    async def _upgrade(self, request: Request, target: Target) -> Answer:
        kept = (("Connection", "Upgrade"), ("Upgrade", request.headers["upgrade"]))
        headers = [*target.headers, *_passed_on(request, target, kept)]
        path = _with_query(target.path or "/", request, target)
        try:
            upgraded = await self._client(target).upgrade(request.method, path, headers, request.body)
        except ConnectionError as error:
            raise errors.internal(f"error dialing backend: {failure(error, target.host, target.port)}") from error
        if isinstance(upgraded, Upgraded):
            return Upgrade(upgraded.join, tuple(_answer_headers(upgraded.headers, keep_upgrade=True)))
        if upgraded.status < 400:
            upgraded.close()
            raise errors.internal(f"invalid upgrade response: status code {upgraded.status}")
        return await _answer(request, target, upgraded)


_PACKED = {"gzip": 31, "deflate": -15}
"""How zlib calls them: `wbits`."""


async def _page(request: Request, target: Target, incoming: Incoming, headers: list[Header]) -> Response:
    """An HTML page, whose links have to lead back here."""
    body = await incoming.read_all()
    encoding = incoming.headers.get("content-encoding", "")
    content_type = incoming.headers.get("content-type", "")
    try:
        text = (zlib.decompress(body, _PACKED[encoding]) if encoding else body).decode()
    except (KeyError, zlib.error, UnicodeDecodeError):
        return Response(incoming.status, body, content_type, headers)
    body = html_links.rewrite(text, lambda link: _relocated(link, request, target)).encode()
    if encoding:
        packer = zlib.compressobj(wbits=_PACKED[encoding])
        body = packer.compress(body) + packer.flush()
    return Response(incoming.status, body, content_type, headers)


async def _answer(request: Request, target: Target, incoming: Incoming) -> Answer:
    headers = list(_answer_headers(incoming.headers))
    content_type = incoming.headers.get("content-type", "")
    if target.prefix:
        # Which origins may read the answer is for this server to say, not for what is behind it.
        headers = [each for each in headers if not each[0].startswith("access-control-")]
        headers = [(name, _relocated(value, request, target) if name == "location" else value) for name, value in headers]
        is_page = content_type.partition(";")[0].strip() == "text/html" and "location" not in incoming.headers
        if is_page and request.method != "HEAD" and incoming.status not in (204, 304):
            return await _page(request, target, incoming, headers)
    length = incoming.headers.get("content-length", "")
    if length.isdecimal() and int(length) <= 65536 and request.method != "HEAD":
        body = await incoming.read_all()
        return Response(incoming.status, body, content_type, headers)

    async def run(channel: Channel) -> None:
        try:
            while data := await incoming.read():
                channel.write(data)
                await channel.drain()
        finally:
            incoming.close()

    if request.method == "HEAD" or incoming.status in (204, 304):
        incoming.close()
        if incoming.status in (204, 304):
            return Response(incoming.status, b"", content_type, headers)
    return Stream(run, incoming.status, content_type, headers)


def _wants_upgrade(request: Request) -> bool:
    tokens = request.headers.get("connection", "").lower().split(",")
    return "upgrade" in (token.strip() for token in tokens) and bool(request.headers.get("upgrade"))


def _with_query(path: str, request: Request, target: Target) -> str:
    query = request.query if target.query is None else target.query
    return f"{path}?{query}" if query else path


def _passed_on(request: Request, target: Target, kept: Iterable[Header]) -> Iterable[Header]:
    """The client's headers for the target."""
    named = {each.strip().lower() for each in request.headers.get("connection", "").split(",")}
    given = {name.lower() for name, _ in target.headers}
    for name, value in request.headers.items():
        if name in _HOP_BY_HOP or name in _OURS or name in named or name in given or name.startswith("impersonate-"):
            continue
        if name == "host" and target.own_host:
            continue
        yield name, value
    if target.own_host or "host" not in request.headers:
        yield "host", f"{bracketed(target.host)}:{target.port}"
    before = request.headers.get("x-forwarded-for")
    if request.peer.address:
        yield "x-forwarded-for", f"{before}, {request.peer.address}" if before else request.peer.address
    yield from kept


def _forwarded(target: Target) -> Iterable[Header]:
    uri = target.prefix.rstrip("/") + (target.path if target.path.startswith("/") else f"/{target.path}")
    yield "x-forwarded-uri", uri


def _answer_headers(headers: dict[str, str], *, keep_upgrade: bool = False) -> Iterable[Header]:
    for name, value in headers.items():
        if name in _OF_THE_ANSWER:
            continue
        if name in _HOP_BY_HOP and not (keep_upgrade and name in ("connection", "upgrade")):
            continue
        if name == "set-cookie":
            for cookie in value.split("\n"):
                yield name, cookie
        else:
            yield name, value


def _relocated(location: str, request: Request, target: Target) -> str:
    """A link within the target, as the client has to follow it: below the prefix, on whatever host it reached us by."""
    parts = urlsplit(location)
    asked = request.headers.get("host", "")
    elsewhere = parts.netloc and parts.netloc not in (f"{bracketed(target.host)}:{target.port}", target.host, asked)
    if elsewhere or not parts.path.startswith("/"):
        return location
    if parts.path.startswith(target.prefix):
        path = parts.path
    else:
        path = target.prefix.rstrip("/") + parts.path
    return urlunsplit(("", "", path, parts.query, parts.fragment))
