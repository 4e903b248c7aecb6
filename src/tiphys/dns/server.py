"""The sockets of the DNS server. What is known is answered on the spot; what has to be asked elsewhere, by a task."""

import asyncio
import errno
import secrets
import socket
from collections.abc import Callable
from functools import partial
from typing import cast

from tiphys.dns import alias, wire
from tiphys.dns.forward import Forwarder, Unanswered
from tiphys.dns.wire import Answer, Malformed, Query
from tiphys.dns.zone import Alias, Elsewhere, Zone

AT_ONCE = 64
"""Datagrams taken in one turn of the event loop."""
UNDER_WAY = 1000
"""Questions to others; further ones are dropped, and clients ask again."""
TCP_SECONDS = 30.0
TCP_LIMIT = 65535
_BUFFER = 1 << 20

Reply = Callable[[bytes], None]
Told = tuple[int, int, bytes]
"""What the kernel says of a datagram, besides its bytes."""

_IP_PKTINFO = 8
"""Linux's number; Python 3.11 has no name for it."""
_EVERYWHERE = ("0.0.0.0", "::")
_TELL = {
    socket.AF_INET: (socket.IPPROTO_IP, _IP_PKTINFO),
    socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO),
}
"""The option of a socket that makes it say to which address a datagram came."""


class DnsServer:
    """Answers from `open` until `close`; `group` owns what takes longer."""

    def __init__(self, zone: Zone, forwarder: Forwarder, group: asyncio.TaskGroup) -> None:
        self.answered = 0
        self._zone = zone
        self._forwarder = forwarder
        self._group = group
        self._under_way = 0
        self._sockets: list[socket.socket] = []
        self._listeners: list[asyncio.Server] = []

    async def open(self, host: str, port: int) -> int:
        """UDP and TCP on one port; 0 takes a free one. Raises OSError."""
        while True:
            channel = _bound(host, port)
            self._sockets.append(channel)
            bound: int = channel.getsockname()[1]
            try:
                listener = await asyncio.get_running_loop().create_server(lambda: _Stream(self), host, bound)
            except OSError as problem:
                self._sockets.remove(channel)
                channel.close()
                # What is free for datagrams may be somebody's connection.
                if port or problem.errno != errno.EADDRINUSE:
                    raise
            else:
                self._serve(channel, listener, host)
                return bound

    def _serve(self, channel: socket.socket, listener: asyncio.Server, host: str) -> None:
        self._listeners.append(listener)
        loop = asyncio.get_running_loop()
        if host in _EVERYWHERE:
            channel.setsockopt(*_TELL[channel.family], 1)
            loop.add_reader(channel.fileno(), self._datagrams_to_any, channel)
        else:
            loop.add_reader(channel.fileno(), self._datagrams, channel)

    def close(self) -> None:
        loop = asyncio.get_running_loop()
        for channel in self._sockets:
            loop.remove_reader(channel.fileno())
            channel.close()
        for listener in self._listeners:
            listener.close()
        self._sockets.clear()
        self._listeners.clear()

    def _datagrams(self, channel: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                data, peer = channel.recvfrom(4096)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                continue  # the kernel tells of an earlier answer that nobody took
            said = self.immediate(data)
            if said is None:
                self.later(data, partial(_send, channel, peer), wire.SMALLEST_LIMIT)
            elif said:
                _send(channel, peer, said)

    def _datagrams_to_any(self, channel: socket.socket) -> None:
        """An answer has to come from the address that was asked; with several, the kernel would choose by its routes."""
        for _ in range(AT_ONCE):
            try:
                data, told, _flags, peer = channel.recvmsg(4096, 64)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                continue
            said = self.immediate(data)
            if said is None:
                self.later(data, partial(_send_from, channel, told, peer), wire.SMALLEST_LIMIT)
            elif said:
                _send_from(channel, told, peer, said)

    def immediate(self, data: bytes, limit: int = 0) -> bytes | None:
        """None: it takes longer. Empty: no answer at all."""
        self.answered += 1
        try:
            asked = wire.query(data)
        except Malformed:
            return b""
        if asked is None:
            return wire.refusal(data, wire.NOT_IMPLEMENTED if data[2] & 0x78 else wire.FORMAT_ERROR)
        found = self._zone.answer(asked)
        if isinstance(found, Answer):
            return wire.reply(asked, found, limit or asked.limit)
        return None

    def later(self, data: bytes, send: Reply, limit: int) -> None:
        asked = wire.query(data)
        if asked is None or self._under_way >= UNDER_WAY:
            return
        self._under_way += 1
        self._group.create_task(self._ask(asked, send, limit))

    async def _ask(self, asked: Query, send: Reply, limit: int) -> None:
        by_tcp = limit == TCP_LIMIT
        try:
            send(await self.complete(asked, by_tcp=by_tcp))
        finally:
            self._under_way -= 1

    async def complete(self, asked: Query, *, by_tcp: bool) -> bytes:
        limit = TCP_LIMIT if by_tcp else asked.limit
        found = self._zone.answer(asked)
        try:
            match found:
                case Answer():
                    return wire.reply(asked, found, limit)
                case Elsewhere():
                    return await self._forwarder.ask(asked, by_tcp=by_tcp)
                case Alias(target):
                    further = alias.question(asked, target, secrets.token_bytes(2))
                    said = await self._further(further)
                    return alias.answer(asked, target, said, limit)
        except Unanswered:
            return wire.failure(asked)

    async def _further(self, further: Query) -> bytes | None:
        found = self._zone.answer(further)
        if isinstance(found, Answer):
            return wire.reply(further, found, TCP_LIMIT)
        if isinstance(found, Alias):
            return None  # an alias of an alias: the client may go on by itself
        try:
            return await self._forwarder.ask(further)
        except Unanswered:
            return None


def _bound(host: str, port: int) -> socket.socket:
    channel = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        channel.setblocking(False)
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        channel.bind((host, port))
    except BaseException:
        channel.close()
        raise
    return channel


def _send(channel: socket.socket, peer: tuple[str, int], said: bytes) -> None:
    try:
        channel.sendto(said, peer)
    except OSError:
        return  # a client that cannot be reached, or a full buffer: it asks again


def _send_from(channel: socket.socket, told: list[Told], peer: tuple[str, int], said: bytes) -> None:
    """From the address that `told` says the question went to, by whatever interface leads back."""
    back = []
    for level, kind, data in told:
        if kind == _IP_PKTINFO:
            back.append((level, kind, bytes(4) + data[4:8] + bytes(4)))
        elif kind == socket.IPV6_PKTINFO:
            back.append((level, kind, data[:16] + bytes(4)))
    try:
        channel.sendmsg([said], back, 0, peer)
    except OSError:
        return  # as for _send


class _Stream(asyncio.Protocol):
    """A client by TCP: messages with their length before them, several one after the other."""

    def __init__(self, server: DnsServer) -> None:
        self._server = server
        self._buffer = b""
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._timer = asyncio.get_running_loop().call_later(TCP_SECONDS, transport.close)

    def connection_lost(self, _: Exception | None) -> None:
        self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 2 and len(self._buffer) >= 2 + (size := int.from_bytes(self._buffer[:2], "big")):
            message, self._buffer = self._buffer[2 : 2 + size], self._buffer[2 + size :]
            said = self._server.immediate(message, TCP_LIMIT)
            if said is None:
                self._server.later(message, self._write, TCP_LIMIT)
            elif said:
                self._write(said)

    def _write(self, said: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(len(said).to_bytes(2, "big") + said)
