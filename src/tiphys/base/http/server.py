"""The HTTP/1.1 server: TLS, limits and timeouts, and an end that lets requests finish.

server = Server(handler, ssl_context=context)
host, port = await server.listen("127.0.0.1", 0)
...
await server.shutdown(grace=5)
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

from tiphys.base.clock import Clock, RealClock
from tiphys.base.http import wire
from tiphys.base.http.channels import Flusher
from tiphys.base.http.connection import Connection
from tiphys.base.http.liveness import watch_over
from tiphys.base.http.messages import Handler, Request, Response
from tiphys.base.http.requests import Limits

__all__ = ["ErrorHandler", "Limits", "Server"]

ErrorHandler = Callable[[Request, Exception], Response]


def _both_families(port: int) -> socket.socket | None:
    """All addresses means those of IPv4, too; None where the kernel cannot."""
    if not socket.has_dualstack_ipv6():
        return None
    return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)


def plain_error(_request: Request, _error: Exception) -> Response:
    return Response(500, b"500 Internal Server Error", "text/plain; charset=utf-8")


class Server:
    def __init__(
        self,
        handler: Handler,
        *,
        ssl_context: ssl.SSLContext | None = None,
        limits: Limits | None = None,
        on_error: ErrorHandler = plain_error,
        on_too_large: Callable[[int], Response] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`on_too_large` words the answer to a body above the limit that it is given."""
        self.handler = handler
        self.on_error = on_error
        self.limits = limits or Limits()
        self.loop: asyncio.AbstractEventLoop
        self.flusher: Flusher
        self.stopping = False
        self._on_too_large = on_too_large
        self._ssl_context = ssl_context
        self._clock = clock or RealClock()
        self._date_second = -1
        self._date = b""
        self._listeners: list[asyncio.AbstractServer] = []
        self._connections: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._empty: asyncio.Event

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Accept connections; port 0 takes a free one. Returns where it listens. May be called for several addresses."""
        if not self._listeners:
            self.loop = asyncio.get_running_loop()
            self.flusher = Flusher(self.loop.call_soon)
            self._empty = asyncio.Event()
            self._empty.set()
        secure = self._ssl_context is not None
        made = _both_families(port) if host == "::" else None
        where: dict[str, Any] = {"sock": made} if made is not None else {"host": host, "port": port}
        listener = await self.loop.create_server(
            lambda: Connection(self),
            **where,
            ssl=self._ssl_context,
            # As many as the kernel's own limit lets wait; whoever finds no room there tries again only after a second.
            backlog=4096,
            ssl_handshake_timeout=10.0 if secure else None,
            ssl_shutdown_timeout=2.0 if secure else None,
        )
        for each in listener.sockets:
            watch_over(each)
        self._listeners.append(listener)
        name = listener.sockets[0].getsockname()
        return name[0], name[1]

    async def shutdown(self, grace: float) -> None:
        """Accept no more, end idle connections and streams, give requests `grace` seconds, then cut what is left."""
        self.stopping = True
        for listener in self._listeners:
            listener.close()
        for connection in list(self._connections):
            connection.stop()
        try:
            async with asyncio.timeout(grace):
                await self._empty.wait()
        except TimeoutError:
            for connection in list(self._connections):
                connection.task.cancel()
                connection.transport.abort()
            await self._empty.wait()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._listeners.clear()

    @property
    def connections(self) -> int:
        return len(self._connections)

    # For its connections.

    def connected(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._empty.clear()
        if self._sweeper is None:
            self._sweep_later()

    def disconnected(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    def date(self) -> bytes:
        second = int(self._clock.now())
        if second != self._date_second:
            self._date_second = second
            self._date = wire.date(second)
        return self._date

    def too_large(self) -> Response:
        limit = self.limits.body_bytes
        if self._on_too_large is not None:
            return self._on_too_large(limit)
        return Response(413, b"Request entity too large: limit is %d" % limit, "text/plain; charset=utf-8")

    def _sweep_later(self) -> None:
        limits = self.limits
        shortest = min(limits.header_seconds, limits.idle_seconds, limits.body_seconds, limits.linger_seconds)
        self._sweeper = self.loop.call_later(min(5.0, shortest / 2), self._sweep)

    def _sweep(self) -> None:
        """One timer for all connections is cheaper than one a request."""
        self._sweeper = None
        now = self.loop.time()
        for connection in list(self._connections):
            if connection.deadline < now:
                if connection.transport.is_closing():
                    connection.transport.abort()
                else:
                    connection.transport.close()
                    connection.deadline = now + self.limits.linger_seconds
        if self._connections:
            self._sweep_later()
