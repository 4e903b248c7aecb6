"""Probes against real servers on the loopback (v1.36.4 pkg/probe/{http,tcp,grpc})."""

import asyncio
import contextlib
import socket

import grpc
import grpc.aio
import pytest

from tiphys.kubelet.probes.execute import Asked, Executor

ASKED = Asked({"name": "c", "ports": [{"name": "web", "containerPort": 1}]}, "c0", "127.0.0.1", {})


@contextlib.asynccontextmanager
async def serve(answer):
    """An HTTP server that says `answer` to one who comes; its port and the request."""
    requests, ended = [], asyncio.Event()

    async def handle(reader, writer):
        # Whoever only connects sends nothing.
        requests.append(await reader.read(4096))
        writer.write(answer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], requests
        await ended.wait()


def http(answer, **request):
    async def main():
        async with serve(answer) as (port, requests):
            found = await Executor(None, "1.36").probe(ASKED, {"httpGet": {"port": port, "path": "/x?y", **request}})
        return found, requests

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "succeeded"),
    [("200 OK", True), ("204 No Content", True), ("399 Odd", True), ("404 Not Found", False), ("500 Bad", False)],
)
def test_http(status, succeeded):
    found, requests = http(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
    assert found.succeeded is succeeded
    if not succeeded:
        assert found.output == f"HTTP probe failed with statuscode: {status[:3]}"
    assert requests[0].startswith(b"GET /x?y HTTP/1.1\r\n")
    assert b"User-Agent: kube-probe/1.36" in requests[0]


def test_headers_of_the_probe_replace_ours():
    headers = [{"name": "Host", "value": "example.com"}, {"name": "User-Agent", "value": "me"}]
    _, requests = http(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", httpHeaders=headers)
    assert requests[0].count(b"Host: ") == 1
    assert b"Host: example.com" in requests[0]
    assert b"User-Agent: me" in requests[0]


def test_a_redirect_to_another_host_is_a_success():
    found, _ = http(b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n")
    assert found.succeeded
    assert found.output.startswith("Probe terminated redirects")


@contextlib.contextmanager
def closed_port():
    """Nobody listens there, and nobody else gets it meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_http_where_nobody_listens():
    with closed_port() as port:
        found = asyncio.run(Executor(None, "1.36").probe(ASKED, {"httpGet": {"port": port}}))
    where = f"127.0.0.1:{port}"
    assert found.output == f'Get "http://{where}/": dial tcp {where}: connect: connection refused'


def test_tcp():
    async def main(port):
        return await Executor(None, "1.36").probe(ASKED, {"tcpSocket": {"port": port}})

    with closed_port() as port:
        found = asyncio.run(main(port))
    assert (found.succeeded, found.output) == (False, f"dial tcp 127.0.0.1:{port}: connect: connection refused")

    async def open_one():
        async with serve(b"") as (port, _):
            return await main(port)

    assert asyncio.run(open_one()).succeeded


@pytest.mark.parametrize(
    ("status", "succeeded", "words"), [(1, True, ""), (2, False, 'service unhealthy (responded with "NOT_SERVING")')]
)
def test_grpc(status, succeeded, words):
    # https://github.com/grpc/grpc/blob/master/doc/health-checking.md
    async def main():
        asked = []

        async def check(request, _):
            asked.append(request)
            return bytes([8, status])

        server = grpc.aio.server()
        handlers = {"Check": grpc.unary_unary_rpc_method_handler(check)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            return await Executor(None, "1.36").probe(ASKED, {"grpc": {"port": port, "service": "s"}}), asked
        finally:
            await server.stop(0)

    found, asked = asyncio.run(main())
    assert (found.succeeded, found.output) == (succeeded, words)
    assert asked == [b"\n\x01s"]
