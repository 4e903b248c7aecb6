"""One connection of the client: one request at a time, its answer parsed as it comes."""

import asyncio
from typing import cast

import httptools

READ_AHEAD = 1 << 20
"""Bytes of a streamed body that may wait to be read before the server is held back."""


class ConnectionEnded(ConnectionError):
    """The connection ended before the answer did."""


class ClientConnection(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[str, str] = {}
        self.answered = False
        """Some byte of an answer to the present request has come."""
        self._parts: list[bytes] = []
        self._size = 0
        self._whole = True
        self._head_only = False
        self._head_done = False
        self._complete = True
        self._keep_alive = True
        self._raw = False
        self._lost = False
        self.ended = asyncio.Event()
        """Nothing goes over it any more, either way."""
        self._held = False
        self._broken: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._write_paused: asyncio.Future[None] | None = None

    # For the client.

    @property
    def reusable(self) -> bool:
        return self._complete and not self._raw and not self._lost and self._keep_alive and not self._transport.is_closing()

    async def exchange(self, data: bytes, *, head_only: bool, whole: bool) -> None:
        """Send a request; return when its answer is complete (`whole`), or its head is."""
        self.answered = False
        self._parts = []
        self._size = 0
        self._whole = whole
        self._head_only = head_only
        self._head_done = False
        self._complete = False
        if self._lost:
            raise ConnectionEnded("the server closed the connection")
        self._transport.write(data)
        while not (self._complete if whole else self._head_done):
            await self._wait()
        if not whole and self._size > READ_AHEAD:
            self._hold()

    def take(self) -> bytes:
        parts = self._parts
        self._parts = []
        self._size = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def read(self) -> bytes:
        while not self._parts and not self._complete:
            await self._wait()
        data = self.take()
        if self._held and not self._lost:
            self._held = False
            self._transport.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        if not self._lost:
            self._transport.write(data)

    @property
    def pending(self) -> int:
        return 0 if self._lost else self._transport.get_write_buffer_size()

    async def drained(self) -> None:
        while self._write_paused is not None and not self._lost:
            await asyncio.shield(self._write_paused)

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    async def _wait(self) -> None:
        if self._broken is not None:
            raise ConnectionEnded(f"the answer cannot be read: {self._broken}") from self._broken
        if self._lost:
            raise ConnectionEnded("the server closed the connection")
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _hold(self) -> None:
        if not self._held and not self._lost and not self._transport.is_closing():
            self._held = True
            self._transport.pause_reading()

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.answered = True
        if self._raw:
            self._gather(data)
            return
        if self._parser is None:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._raw = True
            rest = data[upgrade.args[0] :]
            if rest:
                self._gather(rest)
        except httptools.HttpParserError as error:
            self._broken = error
            self._wake()
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self.ended.set()
        until_close = "content-length" not in self.headers and "transfer-encoding" not in self.headers
        if self._raw or (self._head_done and until_close and error is None):
            self._complete = True
        self._parser = None
        if self._write_paused is not None and not self._write_paused.done():
            self._write_paused.set_result(None)
        self._wake()

    def pause_writing(self) -> None:
        self._write_paused = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._write_paused is not None and not self._write_paused.done():
            self._write_paused.set_result(None)
        self._write_paused = None

    # Called by the parser.

    def on_message_begin(self) -> None:
        self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_done:
            known = name.decode("latin-1").lower()
            text = value.decode("latin-1")
            if known in self.headers:
                # A cookie may hold commas: the one header that cannot be joined by them.
                text = self.headers[known] + ("\n" if known == "set-cookie" else ",") + text
            self.headers[known] = text

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if 100 <= status < 101 or 102 <= status < 200:
            return
        self.status = status
        self._head_done = True
        self._keep_alive = self._parser.should_keep_alive()
        if status == 101:
            self._raw = True
        elif self._head_only:
            # The parser does not know that no body follows: it would take the next head for one.
            self._complete = True
            self._keep_alive = False
        if not self._whole or self._complete:
            self._wake()

    def on_body(self, data: bytes) -> None:
        self._gather(data)

    def on_message_complete(self) -> None:
        if self._head_done and not self._raw:
            self._complete = True
            self._wake()

    def _gather(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if not self._whole:
            self._wake()
            if self._size > READ_AHEAD:
                self._hold()
