"""Our server in front, forwarding to a target that is a server of ours too."""

import asyncio

import pytest
import uvloop

from tiphys.apiserver.proxying import Forwarder, Target
from tiphys.base.http.client import HttpClient, Incoming, Upgraded
from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream, Upgrade
from tiphys.base.http.server import Server
from tiphys.machinery.errors import ApiError

left = asyncio.Event()


async def backend(request: Request) -> Answer:
    async def shout(channel: Channel) -> None:
        while (data := await channel.read()) and data != b"bye":
            channel.write(data.upper())
        left.set()
        channel.write(b"END")

    async def flow(channel: Channel) -> None:
        for _ in range(4):
            channel.write(b"x" * 50_000)
            await channel.drain()

    match request.path:
        case "/exec":
            return Upgrade(shout, (("Upgrade", request.headers["upgrade"]), ("X-Stream-Protocol-Version", "v4")))
        case "/flow":
            return Stream(flow, content_type="text/plain")
        case "/moved":
            return Response(302, b"", headers=(("Location", request.query),))
        case "/cookies":
            return Response(200, b"", headers=(("Set-Cookie", "a=1, 2"), ("Set-Cookie", "b=3")))
        case "/gone":
            return Response(410, b"gone", "text/plain")
    told = [f"{request.method} {request.path}?{request.query}", *(f"{k}: {v}" for k, v in sorted(request.headers.items()))]
    return Response(200, "\n".join(told).encode() + b"\n" + request.body, "text/plain", headers=(("X-Back", "1"),))


def through(talk, path: str = "/b", **target) -> None:
    async def main() -> None:
        behind = Server(backend)
        host, port = await behind.listen("127.0.0.1", 0)
        forwarder = Forwarder()

        async def front(request: Request) -> Answer:
            required = request.query == "must"
            try:
                return await forwarder.forward(request, Target("http", host, port, path, **target), upgrade_required=required)
            except ApiError as error:
                return Response(error.code, str(error).encode(), "text/plain")

        server = Server(front)
        client = HttpClient(*await server.listen("127.0.0.1", 0))
        try:
            async with asyncio.timeout(10):
                await talk(client, f"{host}:{port}", behind)
        finally:
            client.close()
            await server.shutdown(1)
            forwarder.close()
            await behind.shutdown(1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_what_reaches_the_target():
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go; net/http/httputil/reverseproxy.go
    async def talk(client, *_):
        headers = (
            ("Authorization", "Bearer secret"),
            ("Impersonate-User", "x"),
            ("Connection", "X-Hop"),
            ("X-Hop", "1"),
            ("X-Forwarded-For", "1.1.1.1"),
            ("X-Mine", "m"),
        )
        reply = await client.request("POST", "/front/?q=1", headers, b"body")
        first, *lines, body = reply.body.decode().split("\n")
        sent = dict(line.split(": ", 1) for line in lines)
        assert (first, body) == ("POST /b/?q=1", "body")
        assert sent.pop("host").startswith("127.0.0.1:")
        assert sent == {"x-mine": "m", "x-more": "y", "x-forwarded-for": "1.1.1.1, 127.0.0.1", "content-length": "4"}
        assert (reply.headers["x-back"], reply.headers["content-type"]) == ("1", "text/plain")

    through(talk, headers=(("X-More", "y"),))


def test_the_target_may_have_a_query_and_a_host_of_its_own():
    async def talk(client, address, _):
        lines = (await client.request("GET", "/front?q=1")).body.decode().split("\n")
        assert lines[0] == "GET /b?own=1"
        assert f"host: {address}" in lines

    through(talk, query="own=1", own_host=True)


def test_bodies_are_streamed():
    async def talk(client, *_):
        reply = await client.request("GET", "/f")
        assert (len(reply.body), reply.headers["transfer-encoding"]) == (200_000, "chunked")
        assert (await client.request("HEAD", "/f")).status == 200

    through(talk, "/flow")


def test_the_bare_target_is_redirected_to_its_slash():
    # https://issue.k8s.io/4958
    async def talk(client, *_):
        reply = await client.request("GET", "/pods/x/proxy?q=1")
        assert (reply.status, reply.headers["location"]) == (301, "/pods/x/proxy/?q=1")

    through(talk, "")


@pytest.mark.parametrize(
    ("location", "seen"),
    [
        ("/next?x", "/api/proxy/next"),
        ("/api/proxy/next", "/api/proxy/next"),
        ("http://{target}/next/", "/api/proxy/next/"),
        ("http://elsewhere/next", "http://elsewhere/next"),
        ("relative", "relative"),
    ],
)
def test_redirects_stay_below_the_prefix(location, seen):
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/proxy/transport.go, rewriteURL
    async def talk(client, address, _):
        sent = location.format(target=address)
        reply = await client.request("GET", f"/f?{sent}", (("X", "y"),))
        host = client_host(client)
        assert reply.headers["location"] == seen.format(host=host) + ("?x" if location.endswith("?x") else "")

    through(talk, "/moved", prefix="/api/proxy")


def client_host(client: HttpClient) -> str:
    return f"{client._host}:{client._port}"


def test_cookies_stay_apart():
    async def talk(client, *_):
        assert (await client.request("GET", "/f")).headers["set-cookie"] == "a=1, 2\nb=3"

    through(talk, "/cookies")


@pytest.mark.parametrize("protocol", ["SPDY/3.1", "websocket"])
def test_upgrades_are_tunnels(protocol):
    async def talk(client, _, behind):
        upgraded = await client.upgrade("POST", "/", (("Connection", "Upgrade"), ("Upgrade", protocol)))
        assert isinstance(upgraded, Upgraded)
        assert (upgraded.headers["upgrade"], upgraded.headers["x-stream-protocol-version"]) == (protocol, "v4")
        upgraded.write(b"hello")
        assert await upgraded.read() == b"HELLO"
        upgraded.write(b"bye")
        assert await upgraded.read() == b"END"
        assert await upgraded.read() == b""
        upgraded.close()

    through(talk, "/exec")


def test_a_client_that_goes_takes_the_tunnel_with_it():
    async def talk(client, _, behind):
        left.clear()
        upgraded = await client.upgrade("POST", "/", (("Connection", "Upgrade"), ("Upgrade", "x")))
        upgraded.write(b"a")
        await upgraded.read()
        assert behind.connections == 1
        upgraded.close()
        await left.wait()

    through(talk, "/exec")


def test_a_refused_upgrade_is_passed_on():
    async def talk(client, *_):
        answer = await client.upgrade("POST", "/", (("Connection", "Upgrade"), ("Upgrade", "x")))
        assert isinstance(answer, Incoming)
        assert (answer.status, await answer.read_all()) == (410, b"gone")

    through(talk, "/gone")


def test_an_upgrade_that_is_ignored_is_an_error():
    async def talk(client, *_):
        answer = await client.upgrade("POST", "/", (("Connection", "Upgrade"), ("Upgrade", "x")))
        assert (answer.status, await answer.read_all()) == (
            500,
            b"Internal error occurred: invalid upgrade response: status code 200",
        )
        assert (await client.request("GET", "/?must")).body == b"Upgrade request required"

    through(talk)


def test_nobody_there():
    async def talk(client, _, behind):
        await behind.shutdown(0)
        plain = await client.request("GET", "/")
        assert plain.status == 503
        assert plain.body.startswith(b"error trying to reach service: dial tcp 127.0.0.1:")
        assert plain.body.endswith(b": connect: connection refused")

    through(talk)
