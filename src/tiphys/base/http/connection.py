"""One connection of the server: bytes to requests, answers to bytes, in order.

An exchange (handler, answer, bookkeeping) is one coroutine. It is first stepped directly from `data_received`, as the
connection's own task (the calls that asyncio documents for other task implementations): most requests are answered from
memory and end within that step, without a turn of the loop. One that has to wait is handed, half run, to that task, which
carries it on; so `current_task`, timeouts, task groups and cancellation see one and the same task from the first line.
While an exchange waits, further requests of the connection queue up and the peer is held back.
"""

import asyncio
import contextvars
from asyncio.tasks import _enter_task, _leave_task
from collections import deque
from collections.abc import Coroutine, Generator, Sequence
from math import inf
from types import coroutine
from typing import TYPE_CHECKING, Any, cast

from tiphys.base.http import wire
from tiphys.base.http.channels import StreamChannel, UpgradeChannel
from tiphys.base.http.messages import Answer, Peer, Response, Stream, Upgrade
from tiphys.base.http.requests import Exchange, RequestParser

if TYPE_CHECKING:
    from tiphys.base.http.server import Server

_WRITE_AT_ONCE = 512 * 1024


class Connection(asyncio.Protocol):
    transport: asyncio.Transport
    task: asyncio.Task[None]

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.lost = False
        self.deadline = inf
        """When the sweeper ends this connection, on the loop's clock."""
        self._peer = Peer()
        self._parser = RequestParser(self, server.limits, self._peer)
        self._busy = False
        self._queue: deque[Exchange] = deque()
        self._early: list[bytes] = []
        """Bytes behind a request whose upgrade is not decided yet."""
        self._stream: StreamChannel | None = None
        self._upgraded: UpgradeChannel | None = None
        self._write_paused: asyncio.Future[None] | None = None
        self._gone: asyncio.Future[None] | None = None
        self._handed: tuple[Coroutine[Any, Any, None], Any] | None = None
        self._wake: asyncio.Future[None] = server.loop.create_future()
        self._context = contextvars.copy_context()

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        if isinstance(name, tuple):
            # A listener of both families shows IPv4 within IPv6.
            self._peer.address, self._peer.port = name[0].removeprefix("::ffff:"), name[1]
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self._peer.certificate = tls.getpeercert(True)
        loop = self.server.loop
        self.deadline = loop.time() + self.server.limits.header_seconds
        self.task = asyncio.Task(self._work(), loop=loop, context=self._context)
        self.server.connected(self)
        if self.server.stopping:
            self.transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost = True
        self._parser.release()
        for waiter in (self._write_paused, self._gone):
            if waiter is not None and not waiter.done():
                waiter.set_result(None)
        if self._upgraded is not None:
            # Its handler reads what is left, and then the end; but not for ever.
            self._upgraded.feed_end()
            self.server.loop.call_later(self.server.limits.linger_seconds, self.task.cancel)
        else:
            self.task.cancel()
        self.server.disconnected(self)

    def pause_writing(self) -> None:
        self._write_paused = self.server.loop.create_future()

    def resume_writing(self) -> None:
        if self._write_paused is not None and not self._write_paused.done():
            self._write_paused.set_result(None)
        self._write_paused = None

    def data_received(self, data: bytes) -> None:
        if self._upgraded is not None:
            self._upgraded.feed(data)
        elif self._early:
            self._early.append(data)
            self.hold()
        else:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        rest = self._parser.feed(data)
        if rest is None:
            return
        if self._upgraded is not None:
            if rest:
                self._upgraded.feed(rest)
        elif self._busy:
            # Kept even if empty: it marks that the parser has to begin anew.
            self._early.append(rest)
        else:
            self._parser.begin_anew()
            if rest:
                self._parse(rest)

    # The parser's side.

    def head_begins(self) -> None:
        if not self._busy:
            self.deadline = self.server.loop.time() + self.server.limits.header_seconds

    def body_begins(self) -> None:
        if not self._busy:
            self.deadline = self.server.loop.time() + self.server.limits.body_seconds

    def welcome(self) -> None:
        # Behind an answer that is still being sent the client has to go on unasked: answers keep their order.
        if not self._busy:
            self.transport.write(wire.CONTINUE)

    def too_large(self) -> Response:
        return self.server.too_large()

    # Requests to answers.

    def submit(self, exchange: Exchange) -> None:
        if self._busy:
            self._queue.append(exchange)
            self.hold()
            return
        self._busy = True
        self.deadline = inf
        work = self._run(exchange)
        loop = self.server.loop
        _enter_task(loop, self.task)
        try:
            waiting = self._context.run(work.send, None)
        except StopIteration:
            self._busy = False
            return
        except BaseException as error:  # noqa: BLE001 - told to the loop, as for every callback
            self.transport.abort()
            # A cancellation that nobody asked for is the handler's own; anything else is a bug in this module.
            if not isinstance(error, asyncio.CancelledError):
                loop.call_exception_handler({"message": "exchange failed", "exception": error, "protocol": self})
            return
        finally:
            _leave_task(loop, self.task)
        self._handed = (work, waiting)
        self._wake.set_result(None)

    async def _work(self) -> None:
        """Carry on the exchanges that have to wait, and those that queued up behind them."""
        try:
            while True:
                try:
                    await self._wake
                except asyncio.CancelledError as cancelled:
                    if self._handed is None:
                        raise
                    await _resume(*self._handed, cancelled)
                else:
                    assert self._handed is not None
                    await _resume(*self._handed)
                self._handed = None
                await self._run_queued()
                self._wake = self.server.loop.create_future()
                self._busy = False
                self.release()
        finally:
            self._busy = True
            self.transport.abort()

    async def _run_queued(self) -> None:
        while not self.lost:
            if self._early:
                rest = b"".join(self._early)
                self._early = []
                self._parser.begin_anew()
                if rest:
                    self._parse(rest)
            if not self._queue:
                break
            await self._run(self._queue.popleft())

    async def _run(self, exchange: Exchange) -> None:
        answer: Answer
        if exchange.refusal is not None:
            answer = exchange.refusal
        else:
            try:
                answer = await self.server.handler(exchange.request)
            except Exception as error:  # noqa: BLE001 - one request's bug is that request's answer
                answer = self.server.on_error(exchange.request, error)
        if self.lost:
            return
        if type(answer) is Response:
            await self._respond(exchange, answer)
        elif type(answer) is Stream:
            await self._run_stream(exchange, answer)
        elif type(answer) is Upgrade:
            await self._run_upgrade(exchange, answer)
        else:
            raise TypeError(f"a handler answered with {type(answer).__name__}")
        if not exchange.keep_alive or self.server.stopping:
            self._end(exchange)
        else:
            self.deadline = self.server.loop.time() + self.server.limits.idle_seconds

    async def _respond(self, exchange: Exchange, answer: Response) -> None:
        body = answer.body
        size = len(body) if isinstance(body, bytes) else sum(map(len, body))
        head = self._answer_head(exchange, answer.status, answer.content_type, answer.headers)
        if wire.has_body(answer.status):
            head += b"Content-Length: %d\r\n\r\n" % size
        else:
            head += b"\r\n"
            size = 0
        if size == 0 or exchange.request.method == "HEAD":
            self.transport.write(head)
        elif size <= _WRITE_AT_ONCE:
            self.transport.write(head + body if isinstance(body, bytes) else b"".join((head, *body)))
        else:
            self.transport.write(head)
            view = memoryview(body if isinstance(body, bytes) else b"".join(body))
            for start in range(0, size, _WRITE_AT_ONCE):
                self.transport.write(view[start : start + _WRITE_AT_ONCE])
                await self.drained()
        if self._write_paused is not None:
            await self.drained()

    def _answer_head(self, exchange: Exchange, status: int, content_type: str, headers: Sequence[tuple[str, str]]) -> bytes:
        head = wire.head(status, content_type) + self.server.date()
        if headers:
            head += wire.fields(headers)
        if not exchange.keep_alive or self.server.stopping:
            head += wire.CLOSE
        elif not exchange.http_11:
            head += b"Connection: keep-alive\r\n"
        return head

    async def _run_stream(self, exchange: Exchange, answer: Stream) -> None:
        chunked = exchange.http_11
        exchange.keep_alive = exchange.keep_alive and chunked
        head = self._answer_head(exchange, answer.status, answer.content_type, answer.headers)
        head += b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"\r\n"
        if exchange.request.method == "HEAD":
            self.transport.write(head)
            return
        channel = self._stream = StreamChannel(self, self.server.flusher, head, chunked=chunked)
        try:
            await answer.run(channel)
        except asyncio.CancelledError:
            if self.lost or not self.server.stopping:
                raise
            # The server is going down: the peer shall see a whole answer, not a broken one.
            self.task.uncancel()
        except Exception as error:  # noqa: BLE001 - the head is out: all that is left is to break off
            self.server.on_error(exchange.request, error)
            channel.flush()
            exchange.keep_alive = False
            self.transport.abort()
            return
        finally:
            self._stream = None
        channel.close()
        if self._write_paused is not None and channel.pending > self.server.limits.slow_bytes:
            # The peer has stopped reading; what it has not taken it will never see.
            self.transport.abort()

    async def _run_upgrade(self, exchange: Exchange, answer: Upgrade) -> None:
        exchange.keep_alive = False
        head = b"HTTP/1.1 101 Switching Protocols\r\n" + wire.fields(answer.headers)
        if not any(name.lower() == "connection" for name, _ in answer.headers):
            head += b"Connection: Upgrade\r\n"
        self.transport.write(head + b"\r\n")
        channel = self._upgraded = UpgradeChannel(self)
        for data in self._early:
            if data:
                channel.feed(data)
        self._early = []
        self.release()
        try:
            await answer.run(channel)
        except Exception as error:  # noqa: BLE001 - as for streams
            self.server.on_error(exchange.request, error)

    def _end(self, exchange: Exchange) -> None:
        """Close once everything is written."""
        self._parser.ignoring = True
        self._queue.clear()
        self._early = []
        self.deadline = self.server.loop.time() + self.server.limits.linger_seconds
        if exchange.refusal is not None:
            # Bytes that were never read would make the kernel reset the connection and lose the answer.
            self.server.loop.call_later(self.server.limits.reset_seconds, self.transport.close)
        else:
            self.transport.close()

    # For channels and for the server.

    @property
    def idle(self) -> bool:
        return not self._busy and not self._parser.in_head

    def stop(self) -> None:
        """The server goes down: idle connections and streams end now, requests finish first."""
        if self._stream is not None or self._upgraded is not None:
            self.task.cancel()
        elif self.idle:
            self.transport.close()

    async def drained(self) -> None:
        while self._write_paused is not None and not self.lost:
            await asyncio.shield(self._write_paused)

    async def gone(self) -> None:
        if not self.lost:
            if self._gone is None:
                self._gone = self.server.loop.create_future()
            await asyncio.shield(self._gone)

    def hold(self) -> None:
        if not self.lost and not self.transport.is_closing():
            self.transport.pause_reading()

    def release(self) -> None:
        if not self.lost and not self.transport.is_closing():
            self.transport.resume_reading()


@coroutine
def _resume(work: Coroutine[Any, Any, None], waiting: Any, error: BaseException | None = None) -> Generator[Any, Any, None]:
    """Carry on `work`, whose first step ended waiting for `waiting`."""
    while True:
        try:
            if error is None:
                yield waiting
        except BaseException as thrown:  # noqa: BLE001 - whatever it is, it is for the work
            error = thrown
        if error is None:
            yield from work
            return
        try:
            waiting = work.throw(error)
        except StopIteration:
            return
        error = None
