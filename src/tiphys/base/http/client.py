"""An HTTP/1.1 client for one server: a pool of kept connections, whole answers, streamed answers, and upgrades.

client = HttpClient("127.0.0.1", 6443, ssl_context=context)
reply = await client.request("GET", "/api/v1/pods", timeout=30)
async with await client.stream("GET", "/api/v1/pods?watch=1") as incoming: ...
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from weakref import WeakSet

from tiphys.base.http import wire
from tiphys.base.http.client_connection import ClientConnection, ConnectionEnded
from tiphys.base.http.dialing import words
from tiphys.base.http.liveness import watch_over
from tiphys.base.http.messages import Channel
from tiphys.base.tasks import first_done

Headers = Sequence[tuple[str, str]]

IDLE_SECONDS = 30.0
"""Longer than between two renewals of a Lease, so that who does nothing else opens no connection for each."""
CLOSING_SECONDS = 5.0
_IDEMPOTENT = frozenset(("GET", "HEAD", "OPTIONS"))


@dataclass(slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    """Lower-case names; repeated ones joined by a comma."""
    body: bytes


class Incoming:
    """An answer whose body is still coming. Reading holds the server back when nobody reads."""

    def __init__(self, client: "HttpClient", connection: ClientConnection) -> None:
        self.status = connection.status
        self.headers = connection.headers
        self._client = client
        self._connection = connection
        self._ended = False

    async def read(self) -> bytes:
        """What has come since; empty at the end. Raises ConnectionError if the answer breaks off."""
        if self._ended:
            return b""
        data = await self._connection.read()
        if not data:
            self._ended = True
            self._client.give_back(self._connection)
        return data

    async def read_all(self) -> bytes:
        parts = []
        while data := await self.read():
            parts.append(data)
        return b"".join(parts)

    async def lines(self) -> AsyncIterator[bytes]:
        """Line by line, without the line ends: the frames of a JSON watch."""
        rest = b""
        while data := await self.read():
            if rest:
                data = rest + data
            lines = data.split(b"\n")
            rest = lines.pop()
            for line in lines:
                yield line
        if rest:
            yield rest

    def close(self) -> None:
        if not self._ended:
            self._ended = True
            self._connection.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Upgraded:
    """Raw bytes both ways, after a 101: the same calls as a server's Channel."""

    def __init__(self, connection: ClientConnection) -> None:
        self.headers = connection.headers
        self._connection = connection

    def write(self, data: bytes) -> None:
        self._connection.write(data)

    @property
    def pending(self) -> int:
        return self._connection.pending

    async def drain(self) -> None:
        await self._connection.drained()

    async def read(self) -> bytes:
        """Empty at the end, however it came."""
        try:
            return await self._connection.read()
        except ConnectionError:
            return b""

    def close(self) -> None:
        self._connection.close()

    async def join(self, other: Channel) -> None:
        """Copy both ways; when one side ends, so does the other, once what was underway has been written."""
        try:
            await first_done(_copy(other, self), _copy(self, other))
        finally:
            self.close()


async def _copy(source: "Channel | Upgraded", sink: "Channel | Upgraded") -> None:
    while data := await source.read():
        sink.write(data)
        await sink.drain()


class HttpClient:
    def __init__(
        self,
        host: str,
        port: int,
        *,
        ssl_context: ssl.SSLContext | None = None,
        server_name: str = "",
        headers: Headers = (),
        names_host: bool = True,
        keep: int = 32,
        connect_seconds: float = 30.0,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """`headers` go with every request; `server_name` is checked against the certificate in place of `host`;
        with `names_host` False the headers of each request have to name the host."""
        self._host = host
        self._port = port
        self._ssl = ssl_context
        self._server_name = server_name
        shown = f"[{host}]" if ":" in host else host
        named = (("Host", f"{shown}:{port}"),) if names_host else ()
        self._common = wire.fields((*named, *headers))
        self._keep = keep
        self._connect_seconds = connect_seconds
        self._idle_seconds = idle_seconds
        self._idle: list[tuple[float, ClientConnection]] = []
        """With when they were given back; the one that was used last is the first to be used again."""
        self._sweep: asyncio.TimerHandle | None = None
        self._made: WeakSet[ClientConnection] = WeakSet()

    async def request(
        self, method: str, path: str, headers: Headers = (), body: bytes = b"", *, timeout: float | None = None
    ) -> Reply:
        """`path` with its query. Raises ConnectionError where the server cannot be reached or breaks off, TimeoutError."""
        async with asyncio.timeout(timeout):
            connection = await self._exchange(method, path, headers, body, whole=True)
        reply = Reply(connection.status, connection.headers, connection.take())
        self.give_back(connection)
        return reply

    async def stream(
        self, method: str, path: str, headers: Headers = (), body: bytes = b"", *, timeout: float | None = None
    ) -> Incoming:
        """Returns when the head of the answer is there (within `timeout`)."""
        async with asyncio.timeout(timeout):
            return Incoming(self, await self._exchange(method, path, headers, body, whole=False))

    async def upgrade(
        self, method: str, path: str, headers: Headers, body: bytes = b"", *, timeout: float | None = None
    ) -> Upgraded | Incoming:
        """`headers` name the protocol (Connection, Upgrade, ...). Incoming: the server's answer where it is not 101."""
        async with asyncio.timeout(timeout):
            connection = await self._exchange(method, path, headers, body, whole=False)
        return Upgraded(connection) if connection.status == 101 else Incoming(self, connection)

    def give_back(self, connection: ClientConnection) -> None:
        if connection.reusable and len(self._idle) < self._keep:
            self._idle.append((asyncio.get_running_loop().time(), connection))
            self._sweep_later()
        else:
            connection.close()

    def _sweep_later(self) -> None:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._idle_seconds, self._close_unused)

    def _close_unused(self) -> None:
        """What a burst has opened costs memory, with TLS a quarter of a megabyte each: it is not kept for the next one."""
        self._sweep = None
        until = asyncio.get_running_loop().time() - self._idle_seconds
        while self._idle and self._idle[0][0] <= until:
            self._idle.pop(0)[1].close()
        if self._idle:
            self._sweep_later()

    def close(self) -> None:
        """Connections in use end with what they do."""
        self._keep = 0
        if self._sweep is not None:
            self._sweep.cancel()
        while self._idle:
            self._idle.pop()[1].close()

    async def closed(self, seconds: float = CLOSING_SECONDS) -> None:
        """Close, and wait until all connections have ended, which with TLS takes both sides: then the loop may end, too.
        A server that does not answer is not waited for any longer than this."""
        self.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for connection in tuple(self._made):
                    await connection.ended.wait()

    async def _exchange(self, method: str, path: str, headers: Headers, body: bytes, *, whole: bool) -> ClientConnection:
        head = f"{method} {path} HTTP/1.1\r\n".encode() + self._common
        if headers:
            head += wire.fields(headers)
        if body or method not in _IDEMPOTENT:
            head += b"Content-Length: %d\r\n" % len(body)
        data = head + b"\r\n" + body
        while True:
            connection, kept = await self._connection()
            try:
                await connection.exchange(data, head_only=method == "HEAD", whole=whole)
            except ConnectionEnded:
                # A kept connection may have been closed by the server just as the request went out.
                if not kept or connection.answered or method not in _IDEMPOTENT:
                    raise
                continue
            except BaseException:
                connection.abort()
                raise
            return connection

    async def _connection(self) -> tuple[ClientConnection, bool]:
        while self._idle:
            _, connection = self._idle.pop()
            if connection.reusable:
                return connection, True
        secure = self._ssl is not None
        try:
            async with asyncio.timeout(self._connect_seconds):
                transport, made = await asyncio.get_running_loop().create_connection(
                    ClientConnection,
                    self._host,
                    self._port,
                    ssl=self._ssl,
                    server_hostname=(self._server_name or self._host) if secure else None,
                )
        except TimeoutError:
            raise ConnectionError(f"connecting to {self._host}:{self._port} took too long") from None
        except (OSError, ssl.SSLError) as error:
            raise ConnectionError(f"cannot connect to {self._host}:{self._port}: {words(error)}") from error
        self._made.add(made)
        watch_over(transport.get_extra_info("socket"))
        return made, False
