"""What a handler holds while it streams an answer, or speaks its own protocol over an upgraded connection.

Both write into the connection's transport. A stream's chunks wait for the end of the loop's turn, so that everything
written in one turn leaves in one TLS record and one system call: that record is what a watch event costs.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tiphys.base.http import wire

READ_AHEAD = 256 * 1024
"""Bytes of an upgraded connection that may wait to be read before the peer is held back."""


class Link(Protocol):
    """The side of a connection that channels use."""

    transport: asyncio.Transport
    lost: bool

    async def drained(self) -> None: ...

    async def gone(self) -> None: ...

    def hold(self) -> None:
        """Take no more from the peer for now."""
        ...

    def release(self) -> None: ...


class Flusher:
    """Writes what the streams of one server have gathered, once a turn of the loop."""

    __slots__ = ("_call_soon", "_waiting")

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._waiting: list[StreamChannel] = []

    def add(self, channel: "StreamChannel") -> None:
        if not self._waiting:
            self._call_soon(self._flush)
        self._waiting.append(channel)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for channel in waiting:
            channel.flush()


class _LastChunk:
    """The chunk framed last: watchers of one event are given the same bytes one after the other."""

    __slots__ = ("data", "framed")

    def __init__(self) -> None:
        self.data = b""
        self.framed = b""


_last = _LastChunk()


class StreamChannel:
    """A body of chunks."""

    __slots__ = ("_chunked", "_flusher", "_link", "_parts", "_size", "ended")

    def __init__(self, link: Link, flusher: Flusher, head: bytes, *, chunked: bool) -> None:
        self._link = link
        self._flusher = flusher
        self._chunked = chunked
        self._parts = [head]
        self._size = len(head)
        self.ended = False
        flusher.add(self)

    def write(self, data: bytes) -> None:
        if self.ended or self._link.lost or not data:
            return
        if self._chunked:
            if data is not _last.data:
                _last.data, _last.framed = data, wire.chunk(data)
            data = _last.framed
        if not self._parts:
            self._flusher.add(self)
        self._parts.append(data)
        self._size += len(data)

    @property
    def pending(self) -> int:
        return 0 if self._link.lost else self._size + self._link.transport.get_write_buffer_size()

    async def drain(self) -> None:
        self.flush()
        await self._link.drained()

    async def read(self) -> bytes:
        """A streamed answer has nothing to read: this is the end, once the peer has gone."""
        await self._link.gone()
        return b""

    async def closed(self) -> None:
        await self._link.gone()

    def close(self) -> None:
        """What has been written is the whole answer."""
        if not self.ended:
            self.ended = True
            if self._chunked and not self._link.lost:
                self._parts.append(wire.LAST_CHUNK)
            self.flush()

    def flush(self) -> None:
        parts = self._parts
        if parts:
            self._parts = []
            self._size = 0
            if not self._link.lost:
                self._link.transport.write(parts[0] if len(parts) == 1 else b"".join(parts))


class UpgradeChannel:
    """Raw bytes both ways."""

    __slots__ = ("_ended", "_held", "_link", "_parts", "_reader", "_size")

    def __init__(self, link: Link) -> None:
        self._link = link
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._held = False
        self._reader: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> None:
        """Bytes have come from the peer."""
        self._parts.append(data)
        self._size += len(data)
        self._wake()
        if self._size > READ_AHEAD and not self._held:
            self._held = True
            self._link.hold()

    def feed_end(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def write(self, data: bytes) -> None:
        if not self._link.lost and data:
            self._link.transport.write(data)

    @property
    def pending(self) -> int:
        return 0 if self._link.lost else self._link.transport.get_write_buffer_size()

    async def drain(self) -> None:
        await self._link.drained()

    async def read(self) -> bytes:
        while not self._parts and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if not self._parts:
            return b""
        data = self._parts.popleft() if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._held:
            self._held = False
            self._link.release()
        return data

    async def closed(self) -> None:
        await self._link.gone()

    def close(self) -> None:
        """What has been written still goes out."""
        self._link.transport.close()
