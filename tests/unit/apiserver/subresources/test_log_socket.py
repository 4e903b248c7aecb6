"""Logs over WebSockets (v1.36.4 test/e2e/common/node/pods.go, "retrieving logs from the container over websockets")."""

import asyncio

import pytest

from tiphys.apiserver.subresources.remote.log_socket import over_websocket
from tiphys.base.http.messages import Peer, Request
from tiphys.base.http.websocket import FrameReader, Op
from tiphys.machinery.errors import ApiError


class Source:
    def __init__(self, *parts):
        self._parts = [*parts, b""]
        self.closed = False

    async def read(self):
        return self._parts.pop(0)

    def close(self):
        self.closed = True


class Written:
    def __init__(self):
        self.data = b""
        self.ended = False

    def write(self, data):
        self.data += data

    async def drain(self):
        pass

    def close(self):
        self.ended = True


def request(protocol="", version="13"):
    headers = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "x", "sec-websocket-version": version}
    return Request("GET", "/log", "", {**headers, "sec-websocket-protocol": protocol}, b"", Peer("1.2.3.4", None))


@pytest.mark.parametrize(
    ("protocol", "op", "first"),
    [("", Op.BINARY, b"one\n"), ("binary.k8s.io", Op.BINARY, b"one\n"), ("base64.binary.k8s.io", Op.TEXT, b"b25lCg==")],
)
def test_a_message_for_each_part_and_a_close_at_the_end(protocol, op, first):
    source, written = Source(b"one\n", b"two\n"), Written()
    answer = over_websocket(request(protocol), source, [])
    assert dict(answer.headers).get("Sec-WebSocket-Protocol", "") == protocol
    asyncio.run(answer.run(written))
    messages = FrameReader(from_client=False).feed(written.data)
    assert [each.op for each in messages] == [op, op, Op.CLOSE]
    assert messages[0].data == first
    assert messages[-1].close_code == 1000
    assert source.closed
    assert written.ended


def test_what_is_no_handshake_is_refused():
    source = Source()
    with pytest.raises(ApiError, match="unsupported websocket version"):
        over_websocket(request(version="8"), source, [])
    assert source.closed
