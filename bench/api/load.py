"""Connections that keep a server busy, each with requests made beforehand: far less work than answering them is."""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast
from urllib.parse import urlsplit

import httptools

from tiphys.base.tls_context import client_context
from tiphys.client.kubeconfig import Access

ProtocolT = TypeVar("ProtocolT", bound=asyncio.Protocol)


_MARK = b'"type":"MODIFIED"'


@dataclass
class Result:
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failures: dict[int, int] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)
    """Of the body of the last answer."""

    @property
    def count(self) -> int:
        return len(self.latencies)

    @property
    def rate(self) -> float:
        return self.count / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class Endpoint:
    """Where the server is, and the bytes that each request to it shares."""

    def __init__(self, access: Access) -> None:
        self._access = access
        parts = urlsplit(access.server)
        self.host = parts.hostname or ""
        self.port = parts.port or 443
        self.ssl: ssl.SSLContext | None = None
        if parts.scheme == "https":
            trusted = [access.authority] if access.authority else []
            self.ssl = client_context(trusted, access.pair, insecure=access.insecure)
        self.server_name = (access.server_name or self.host) if self.ssl else None
        lines = [f"Host: {self.host}:{self.port}", "User-Agent: bench", "Accept: application/json"]
        if access.token:
            lines.append(f"Authorization: Bearer {access.token}")
        self._shared = "\r\n".join(lines).encode() + b"\r\n"

    def of(self, token: str) -> "Endpoint":
        """The same server, for whoever has this token."""
        return Endpoint(replace(self._access, pair=None, token=token))

    def request(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        head = f"{method} {path} HTTP/1.1\r\n".encode() + self._shared
        if body:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n".encode()
        return head + b"\r\n" + body

    async def connect(self, factory: "Callable[[], ProtocolT]") -> "ProtocolT":
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(
            factory, self.host, self.port, ssl=self.ssl, server_hostname=self.server_name
        )
        return protocol


class Busy(asyncio.Protocol):
    """Sends the next request as soon as the last is answered."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._requests: Iterator[bytes] = iter(())
        self._result = Result()
        self._until = float("inf")
        self._sent = 0.0
        self._done: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def run(self, requests: Iterator[bytes], result: Result, until: float) -> "asyncio.Future[None]":
        self._requests, self._result, self._until = requests, result, until
        self._done = self._loop.create_future()
        self._next()
        return self._done

    def _next(self) -> None:
        self._sent = self._loop.time()
        request = next(self._requests, None) if self._sent < self._until else None
        if request is None:
            self._done.set_result(None)
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._result.pieces = []

    def on_body(self, body: bytes) -> None:
        self._result.pieces.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        self._result.latencies.append(self._loop.time() - self._sent)
        if status >= 300:
            self._result.failures[status] = self._result.failures.get(status, 0) + 1
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("the server closed the connection"))


class Tally:
    """Events that all watches together have seen."""

    def __init__(self, expected: int) -> None:
        self.events = 0
        self.complete = asyncio.Event()
        self._expected = expected

    def add(self, events: int) -> None:
        self.events += events
        if self.events >= self._expected:
            self.complete.set()


class Counting(asyncio.Protocol):
    """A watch: counts the events that arrive."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self.opened.done():
            self.opened.set_result(None)
        # A mark may be cut in two by the end of what came.
        data = self._tail + data
        events = data.count(_MARK)
        if events:
            self._tally.add(events)
        self._tail = data[1 - len(_MARK) :]

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(ConnectionError("the watch was refused"))


async def drive(endpoint: Endpoint, requests: Iterable[bytes], connections: int, seconds: float) -> Result:
    """All of `requests`, or as many as `seconds` allow, over some connections at once."""
    result = Result()
    shared = iter(requests)
    busy = [await endpoint.connect(Busy) for _ in range(connections)]
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await asyncio.wait([each.run(shared, result, begin + seconds) for each in busy])
    result.seconds = loop.time() - begin
    for each in busy:
        each.transport.close()
    return result
