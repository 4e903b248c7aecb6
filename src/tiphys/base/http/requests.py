"""Bytes of a connection to requests: a machine without I/O around the parser, with the limits that a server sets.

It tells its sink of each request, of the first input that has to be refused (after which it ignores the rest), and when a
client wants to hear that its body is welcome.
"""

from dataclasses import dataclass
from typing import Protocol

import httptools

from tiphys.base.http import wire
from tiphys.base.http.messages import Peer, Request, Response

_NAMES_KEPT = 512

_names: dict[bytes, str] = {}


@dataclass(frozen=True, slots=True)
class Limits:
    """Upstream's numbers where it has them (apiserver/pkg/server/secure_serving.go and config.go; net/http)."""

    header_bytes: int = 1 << 20
    body_bytes: int = 3 * 1024 * 1024
    header_seconds: float = 32.0
    body_seconds: float = 60.0
    idle_seconds: float = 90.0
    linger_seconds: float = 5.0
    """How long a connection that is closing may take to flush."""
    reset_seconds: float = 0.5
    """How long the rest of a refused body is read and dropped."""
    slow_bytes: int = 1 << 20
    """A stream that ends with more than this unsent is cut off."""


class Exchange:
    """A request and how it is to be answered."""

    __slots__ = ("http_11", "keep_alive", "refusal", "request", "upgrade")

    def __init__(self, request: Request, *, keep_alive: bool, http_11: bool, upgrade: bool) -> None:
        self.request = request
        self.keep_alive = keep_alive
        self.http_11 = http_11
        self.upgrade = upgrade
        self.refusal: Response | None = None
        """The answer, where the handler is not asked; the connection ends with it."""


class Sink(Protocol):
    def submit(self, exchange: Exchange) -> None: ...

    def head_begins(self) -> None: ...

    def body_begins(self) -> None: ...

    def welcome(self) -> None:
        """The client waits for 100 Continue."""
        ...

    def too_large(self) -> Response: ...


class RequestParser:
    def __init__(self, sink: Sink, limits: Limits, peer: Peer) -> None:
        self._sink = sink
        self._limits = limits
        self._peer = peer
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self.in_head = False
        self.ignoring = False
        """The connection is about to end: what still comes is dropped."""
        self._head_size = 0
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head: dict[str, str] = {}
        self._body: list[bytes] = []
        self._body_size = 0

    def feed(self, data: bytes) -> bytes | None:
        """Take bytes. Where they hold a request that asks for an upgrade: what stands behind it."""
        if self.ignoring or self._parser is None:
            return None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return data[upgrade.args[0] :]
        except httptools.HttpParserError:
            self.refuse(plain(400))
        else:
            if self.in_head:
                self._head_size += len(data)
                if self._head_size > self._limits.header_bytes:
                    self.refuse(plain(431))
        return None

    def begin_anew(self) -> None:
        """After a request whose upgrade was not granted."""
        self._parser = httptools.HttpRequestParser(self)

    def release(self) -> None:
        """Break the cycle with the parser: the connection is gone."""
        self.ignoring = True
        self._parser = None

    def refuse(self, answer: Response) -> None:
        if not self.ignoring:
            self.ignoring = True
            exchange = Exchange(Request("", "", "", {}), keep_alive=False, http_11=True, upgrade=False)
            exchange.refusal = answer
            self._sink.submit(exchange)

    # Called by the parser.

    def on_message_begin(self) -> None:
        self.in_head = True
        self._head_size = 0
        self._url = b""
        self._headers = {}
        self._body = []
        self._body_size = 0
        self._sink.head_begins()

    def on_url(self, url: bytes) -> None:
        self._url = self._url + url if self._url else url

    def on_header(self, name: bytes, value: bytes) -> None:
        known = _names.get(name)
        if known is None:
            known = name.decode("latin-1").lower()
            if len(_names) < _NAMES_KEPT:
                _names[name] = known
        headers = self._headers
        text = value.decode("latin-1")
        headers[known] = text if known not in headers else f"{headers[known]},{text}"

    def on_headers_complete(self) -> None:
        self.in_head = False
        self._head = headers = self._headers
        length = headers.get("content-length")
        if "transfer-encoding" in headers:
            # Trailers come as headers too, and are not for handlers.
            self._headers = {}
        elif length is None:
            return
        elif int(length) > self._limits.body_bytes:
            self.refuse(self._sink.too_large())
            return
        self._sink.body_begins()
        expect = headers.get("expect")
        if expect is not None:
            if expect.lower() != "100-continue":
                self.refuse(plain(417))
            elif length != "0":
                self._sink.welcome()

    def on_body(self, data: bytes) -> None:
        if not self.ignoring:
            self._body.append(data)
            self._body_size += len(data)
            if self._body_size > self._limits.body_bytes:
                self.refuse(self._sink.too_large())

    def on_message_complete(self) -> None:
        parser = self._parser
        if self.ignoring or parser is None:
            return
        url = self._url.decode("latin-1")
        path, _, query = url.partition("?")
        if path[:1] != "/" and "://" in path:
            path = "/" + path.partition("://")[2].partition("/")[2]
        body = self._body
        whole = b"" if not body else body[0] if len(body) == 1 else b"".join(body)
        request = Request(parser.get_method().decode("latin-1"), path, query, self._head, whole, self._peer)
        upgrade = parser.should_upgrade()
        http_11 = parser.get_http_version() == "1.1"
        if http_11 and "host" not in self._head:
            self.refuse(plain(400, "missing required Host header"))
            return
        keep_alive = upgrade or parser.should_keep_alive()
        self._sink.submit(Exchange(request, keep_alive=keep_alive, http_11=http_11, upgrade=upgrade))


def plain(status: int, told: str = "") -> Response:
    """What Go's server answers to a request that it cannot read."""
    text = f"{status} {wire.reason(status)}" + (f": {told}" if told else "")
    return Response(status, text.encode(), "text/plain; charset=utf-8")
