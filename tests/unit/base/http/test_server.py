"""The server over real loopback sockets, byte by byte."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream, Upgrade
from tiphys.base.http.server import Limits, Server

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
Talk = Callable[[Server, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(params=sorted(LOOPS))
def serve(request):
    """Run `talk` against a server of `handler`; returns when the talk is over and the server is down."""

    def run(handler, talk: Talk, **options) -> None:
        async def main() -> None:
            server = Server(handler, **options)
            host, port = await server.listen("127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(host, port)
            try:
                async with asyncio.timeout(10):
                    await talk(server, reader, writer)
            finally:
                writer.close()
                await server.shutdown(1)
            assert server.connections == 0

        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            runner.run(main())

    return run


async def head_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    return int(lines[0].split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:-2])}


async def answer_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    status, headers = await head_of(reader)
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readexactly(2)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return status, headers, body


async def echo(request: Request) -> Answer:
    return Response(200, f"{request.method} {request.path} {request.query} ".encode() + request.body)


async def slow_echo(request: Request) -> Answer:
    await asyncio.sleep(0)
    return await echo(request)


@pytest.mark.parametrize("handler", [echo, slow_echo])
def test_answers_keep_the_order_of_pipelined_requests(serve, handler):
    # RFC 9112, section 9.3.2
    async def talk(_server, reader, writer):
        writer.write(
            b"GET /a?x=1 HTTP/1.1\r\nHost: h\r\n\r\n"
            b"POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
            b"PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n1\r\nz\r\n0\r\nTrailer: no\r\n\r\n"
        )
        bodies = [(await answer_of(reader))[2] for _ in range(3)]
        assert bodies == [b"GET /a x=1 ", b"POST /b  abc", b"PUT /c  xyz"]

    serve(handler, talk)


def test_headers_arrive_lower_case_and_joined(serve):
    async def handler(request: Request) -> Answer:
        return Response(200, request.headers["x-one"].encode())

    async def talk(_server, reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nX-One: a\r\nx-ONE: b\r\n\r\n")
        assert (await answer_of(reader))[2] == b"a,b"

    serve(handler, talk)


def test_a_line_break_in_a_header_value_does_not_split_the_answer(serve):
    async def handler(_: Request) -> Answer:
        return Response(200, b"", headers=(("X-Told", "a\r\nSet-Cookie: b"),))

    async def talk(_server, reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        _, headers, _ = await answer_of(reader)
        assert headers["x-told"] == "a  Set-Cookie: b"
        assert "set-cookie" not in headers

    serve(handler, talk)


def test_head_tells_the_length_without_the_body(serve):
    async def talk(_server, reader, writer):
        writer.write(b"HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await head_of(reader))[1]["content-length"] == "9"
        assert (await answer_of(reader))[2] == b"GET /b  "

    serve(echo, talk)


def test_http_10_closes_unless_asked(serve):
    async def talk(_server, reader, writer):
        writer.write(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert (await answer_of(reader))[1]["connection"] == "keep-alive"
        writer.write(b"GET /b HTTP/1.0\r\n\r\n")
        assert (await answer_of(reader))[1]["connection"] == "close"
        assert await reader.read() == b""

    serve(echo, talk)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: tea\r\n\r\n", 417),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + b"x" * 101, 413),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 2000, 431),
    ],
)
def test_refuses(serve, sent, status):
    # net/http/server.go (400 with the missing Host header, 417, 431); 413 as apiserver's limited reader.
    async def talk(_server, reader, writer):
        writer.write(sent)
        got, headers, _ = await answer_of(reader)
        assert (got, headers["connection"]) == (status, "close")
        assert await reader.read() == b""

    serve(echo, talk, limits=Limits(header_bytes=1000, body_bytes=100, reset_seconds=0.01))


def test_the_rest_of_a_refused_body_is_swallowed(serve):
    async def talk(_server, reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n")
        assert (await answer_of(reader))[0] == 413
        writer.write(b"x" * 300000)
        await writer.drain()
        assert await reader.read() == b""

    serve(echo, talk, limits=Limits(body_bytes=100, reset_seconds=0.05))


def test_continue(serve):
    async def talk(_server, reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"ok")
        assert (await answer_of(reader))[2] == b"POST /  ok"

    serve(slow_echo, talk)


def test_a_failing_handler_is_that_requests_answer(serve):
    async def handler(request: Request) -> Answer:
        if request.path == "/late":
            await asyncio.sleep(0)
        raise ValueError(request.path)

    def told(_: Request, error: Exception) -> Response:
        return Response(500, str(error).encode())

    async def talk(_server, reader, writer):
        writer.write(b"GET /now HTTP/1.1\r\nHost: h\r\n\r\nGET /late HTTP/1.1\r\nHost: h\r\n\r\n")
        assert [(await answer_of(reader))[::2] for _ in range(2)] == [(500, b"/now"), (500, b"/late")]

    serve(handler, talk, on_error=told)


def test_handlers_may_use_timeouts_and_groups_from_their_first_line(serve):
    seen = contextvars.ContextVar("seen", default="")

    async def child() -> None:
        await asyncio.sleep(0)
        assert seen.get() == "set"

    async def handler(_: Request) -> Answer:
        seen.set("set")
        before = asyncio.current_task()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
        assert asyncio.current_task() is before
        assert seen.get() == "set"
        return Response(200, b"same")

    async def talk(_server, reader, writer):
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert (await answer_of(reader))[2] == b"same"

    serve(handler, talk)


def test_a_client_that_goes_cancels_its_handler(serve):
    ends: list[str] = []
    ended = asyncio.Event()
    started = asyncio.Event()

    async def handler(_: Request) -> Answer:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")
            ended.set()
        return Response()

    async def talk(_server, _reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await started.wait()
        writer.close()
        await ended.wait()
        assert ends == ["cancelled"]

    serve(handler, talk)


def test_a_stream_is_flushed_as_it_is_written(serve):
    go = asyncio.Event()

    async def run(channel: Channel) -> None:
        channel.write(b"one\n")
        channel.write(b"two\n")
        await go.wait()
        channel.write(b"three\n")

    async def handler(_: Request) -> Answer:
        return Stream(run)

    async def talk(_server, reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await head_of(reader)
        assert await reader.readexactly(18) == b"4\r\none\n\r\n4\r\ntwo\n\r\n"
        go.set()
        assert await reader.readexactly(16) == b"6\r\nthree\n\r\n0\r\n\r\n"
        assert (await answer_of(reader))[2] == b"one\ntwo\nthree\n"

    serve(handler, talk)


def test_a_slow_reader_is_seen_and_waited_for(serve):
    piled = asyncio.Event()
    size = 8 << 20

    async def run(channel: Channel) -> None:
        channel.write(b"x" * size)
        await asyncio.sleep(0)
        assert channel.pending > 1 << 20
        piled.set()
        await channel.drain()
        assert channel.pending < 1 << 20
        channel.write(b"end")

    async def handler(_: Request) -> Answer:
        return Stream(run)

    async def talk(_server, reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await piled.wait()
        assert len((await answer_of(reader))[2]) == size + 3

    serve(handler, talk)


def test_a_large_body_in_parts(serve):
    async def handler(_: Request) -> Answer:
        return Response(200, [b"x" * 1000] * 3000)

    async def talk(_server, reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 2)
        for _ in range(2):
            assert (await answer_of(reader))[2] == b"x" * 3_000_000

    serve(handler, talk)


@pytest.mark.parametrize("late", [False, True])
def test_an_upgrade_keeps_the_bytes_that_came_early(serve, late):
    async def run(channel: Channel) -> None:
        while data := await channel.read():
            channel.write(data.upper())
        channel.close()

    async def handler(request: Request) -> Answer:
        if late:
            await asyncio.sleep(0)
        if request.path == "/no":
            return Response(403, b"no")
        return Upgrade(run, (("Upgrade", "SPDY/3.1"),))

    async def talk(_server, reader, writer):
        ask = b"POST /%b HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
        writer.write(ask % b"no" + ask % b"yes" + b"early")
        assert (await answer_of(reader))[0] == 403
        status, headers = await head_of(reader)
        assert (status, headers["upgrade"], headers["connection"]) == (101, "SPDY/3.1", "Upgrade")
        assert await reader.readexactly(5) == b"EARLY"
        writer.write(b"later")
        assert await reader.readexactly(5) == b"LATER"

    serve(handler, talk)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHo", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"])
def test_idle_and_slow_connections_end(serve, sent):
    # apiserver/pkg/server/secure_serving.go sets both timeouts against clients that hold connections.
    async def talk(_server, reader, writer):
        writer.write(sent)
        await reader.read()

    serve(echo, talk, limits=Limits(header_seconds=0.02, idle_seconds=0.02))


@pytest.mark.parametrize("loop", sorted(LOOPS))
def test_all_addresses_are_those_of_both_families(loop):
    """As Go's net.Listen has it; and a client of IPv4 is known by its own address."""
    asked = []

    async def answer(request):
        asked.append(request.peer.address)
        return Response(204, b"")

    async def main() -> None:
        server = Server(answer)
        _, port = await server.listen("::", 0)
        for host in ("127.0.0.1", "::1"):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 204")
            writer.close()
        await server.shutdown(1)

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(main())
    assert asked == ["127.0.0.1", "::1"]


def test_shutdown_lets_requests_finish_and_ends_streams_whole(serve):
    go = asyncio.Event()
    started = asyncio.Event()

    async def handler(request: Request) -> Answer:
        if request.path == "/watch":
            return Stream(lambda channel: asyncio.Event().wait())
        started.set()
        await go.wait()
        return Response(200, b"done")

    async def talk(server, reader, writer):
        host, port = writer.get_extra_info("peername")
        other_reader, other = await asyncio.open_connection(host, port)
        other.write(b"GET /watch HTTP/1.1\r\nHost: h\r\n\r\n")
        await head_of(other_reader)
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await started.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(server.shutdown(5))
            assert await other_reader.read() == b"0\r\n\r\n"
            go.set()
            assert (await answer_of(reader))[1:] == ({**(await _common()), "connection": "close"}, b"done")
        other.close()

    async def _common() -> dict[str, str]:
        return {"content-type": "application/json", "date": "Thu, 01 Jan 1970 00:00:00 GMT", "content-length": "4"}

    class Stopped:
        def now(self) -> float:
            return 0.0

    serve(handler, talk, clock=Stopped())


def test_shutdown_cuts_what_outlives_its_grace(serve):
    started = asyncio.Event()

    async def handler(_: Request) -> Answer:
        started.set()
        await asyncio.Event().wait()
        return Response()

    async def talk(server, reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await started.wait()
        await server.shutdown(0.01)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await answer_of(reader)

    serve(handler, talk)
