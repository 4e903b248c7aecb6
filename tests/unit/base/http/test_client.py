"""The client against our server, and against bytes that our server would not send."""

import asyncio
from pathlib import Path

import pytest
import uvloop

from tiphys.base.http.client import HttpClient, Incoming, Upgraded
from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream, Upgrade
from tiphys.base.http.server import Limits, Server


def run(main) -> None:
    async def limited() -> None:
        async with asyncio.timeout(10):
            await main

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(limited())


async def handler(request: Request) -> Answer:
    async def events(channel: Channel) -> None:
        for text in (b"one\ntw", b"o\n", b"three"):
            channel.write(text)
            await asyncio.sleep(0)

    async def shout(channel: Channel) -> None:
        while data := await channel.read():
            channel.write(data.upper())

    match request.path:
        case "/watch":
            return Stream(events)
        case "/big":
            return Stream(lambda channel: flood(channel, 300))
        case "/break":
            return Stream(broken)
        case "/up":
            return Upgrade(shout, (("Upgrade", "x"),))
    told = f"{request.method} {request.path}?{request.query} {request.headers.get('x-a')} {request.peer.port} "
    return Response(201, told.encode() + request.body, headers=(("X-B", "b"),))


async def flood(channel: Channel, count: int) -> None:
    for _ in range(count):
        channel.write(b"x" * 65536)
        await channel.drain()


async def broken(channel: Channel) -> None:
    channel.write(b"half")
    await channel.drain()
    raise ValueError("broken")


def with_server(talk, **options) -> None:
    async def main() -> None:
        server = Server(handler, **options)
        host, port = await server.listen("127.0.0.1", 0)
        client = HttpClient(host, port, headers=(("X-A", "a"),))
        try:
            await talk(client, server)
        finally:
            client.close()
            await server.shutdown(1)

    run(main())


def test_one_connection_serves_one_request_after_the_other():
    async def talk(client, server):
        ports = set()
        for method, body in (("GET", b""), ("POST", b"x" * 100_000), ("DELETE", b"")):
            reply = await client.request(method, "/p?q=1", (("X-C", "c"),), body, timeout=5)
            assert (reply.status, reply.headers["x-b"]) == (201, "b")
            what, path, a, port, rest = reply.body.decode().split(" ", 4)
            assert (what, path, a, rest) == (method, "/p?q=1", "a", body.decode())
            ports.add(port)
        assert (await client.request("HEAD", "/p")).body == b""
        assert len(ports) == 1

    with_server(talk)


def test_requests_at_once_take_connections_of_their_own():
    async def talk(client, server):
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(client.request("GET", "/p")) for _ in range(5)]
        assert len({task.result().body for task in asked}) == 5
        assert server.connections == 5

    with_server(talk)


def test_streamed_lines_come_whole():
    async def talk(client, server):
        async with await client.stream("GET", "/watch") as incoming:
            assert [line async for line in incoming.lines()] == [b"one", b"two", b"three"]
        assert server.connections == 1
        assert (await client.request("GET", "/p")).status == 201
        assert server.connections == 1

    with_server(talk)


def test_a_stream_nobody_reads_holds_its_server_back():
    async def talk(client, server):
        incoming = await client.stream("GET", "/big")
        assert len(await incoming.read_all()) == 300 * 65536

    with_server(talk)


def test_a_broken_answer_is_an_error():
    async def talk(client, server):
        incoming = await client.stream("GET", "/break")
        with pytest.raises(ConnectionError):
            await incoming.read_all()

    with_server(talk)


def test_upgrade():
    async def talk(client, server):
        headers = (("Connection", "Upgrade"), ("Upgrade", "x"))
        refused = await client.upgrade("GET", "/p", headers)
        assert isinstance(refused, Incoming)
        assert refused.status == 201
        await refused.read_all()
        upgraded = await client.upgrade("GET", "/up", headers)
        assert isinstance(upgraded, Upgraded)
        assert upgraded.headers["upgrade"] == "x"
        upgraded.write(b"abc")
        assert await upgraded.read() == b"ABC"
        upgraded.close()

    with_server(talk)


def test_a_kept_connection_that_the_server_closed_is_replaced():
    # net/http/transport.go, shouldRetryRequest
    async def main() -> None:
        served = 0

        async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal served
            served += 1
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            if served == 1:
                # Answers once, then hangs up on the next request.
                await reader.read(1)
            writer.close()

        async with await asyncio.start_server(once, "127.0.0.1", 0) as server:
            client = HttpClient(*server.sockets[0].getsockname())
            assert [(await client.request("GET", "/")).body for _ in range(2)] == [b"ok", b"ok"]
            assert served == 2
            client.close()

    run(main())


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", b"a"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", None),
        (b"nonsense\r\n\r\n", None),
        (b"", None),
    ],
)
def test_other_servers(sent, body):
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(sent)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            client = HttpClient(*server.sockets[0].getsockname())
            if body is None:
                with pytest.raises(ConnectionError):
                    await client.request("GET", "/")
            else:
                assert (await client.request("GET", "/")).body == body
            client.close()

    run(main())


def test_a_time_limit_ends_the_request():
    async def never(_: Request) -> Answer:
        await asyncio.Event().wait()
        return Response()

    async def main() -> None:
        server = Server(never, limits=Limits())
        client = HttpClient(*await server.listen("127.0.0.1", 0))
        with pytest.raises(TimeoutError):
            await client.request("GET", "/", timeout=0.01)
        await server.shutdown(1)

    run(main())


def timers(port: int) -> list[str]:
    """The kernel's timer of each end of the established connections at a port; 02: it will ask the other end."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [each[5][:2] for each in lines if f":{port:04X}" in each[1] + each[2] and each[3] == "01"]


def test_both_ends_ask_whether_the_other_is_still_there():
    async def main() -> None:
        async def wait(channel: Channel) -> None:
            await channel.read()

        async def answer(_: Request) -> Answer:
            return Stream(wait)

        server = Server(answer)
        host, port = await server.listen("127.0.0.1", 0)
        client = HttpClient(host, port)
        async with await client.stream("GET", "/"):
            # What was sent is acknowledged a moment later.
            while timers(port) != ["02", "02"]:  # noqa: ASYNC110 - the kernel tells nobody
                await asyncio.sleep(0.01)
        client.close()
        await server.shutdown(1)

    run(main())


def test_nobody_there():
    async def main() -> None:
        server = Server(handler)
        address = await server.listen("127.0.0.1", 0)
        await server.shutdown(0)
        with pytest.raises(ConnectionError, match="cannot connect"):
            await HttpClient(*address).request("GET", "/")

    run(main())


def test_connections_that_nobody_uses_any_more_are_closed():
    async def main() -> None:
        ports = set()

        async def seen(request: Request) -> Answer:
            ports.add(request.peer.port)
            return await handler(request)

        server = Server(seen)
        host, port = await server.listen("127.0.0.1", 0)
        client = HttpClient(host, port, idle_seconds=0.05)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(5):
                    group.create_task(client.request("GET", "/p", timeout=5))
            assert len(ports) == 5
            while server.connections:  # noqa: ASYNC110 - until the timer has come round; `run` gives up at some time
                await asyncio.sleep(0.01)
            assert (await client.request("GET", "/p", timeout=5)).status == 201
        finally:
            client.close()
            await server.shutdown(1)

    run(main())


def test_whoever_closes_may_wait_until_all_has_ended():
    async def talk(client: HttpClient, server: Server) -> None:
        await client.request("GET", "/p")
        async with await client.stream("GET", "/big") as incoming:
            closing = asyncio.create_task(client.closed())  # noqa: TID251
            for _ in range(100):
                await asyncio.sleep(0)
            assert not closing.done()
            assert len(await incoming.read_all()) == 300 * 65536
        await closing
        assert (await client.request("GET", "/p")).status == 201

    with_server(talk)
