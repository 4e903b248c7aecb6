"""A log over a WebSocket: what comes from the node is told in messages, until the log ends or the client goes.

apimachinery/pkg/util/httpstream/wsstream/stream.go: binary messages, or text in base64 where the client asks for that.
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tiphys.base.http.messages import Channel, Request, Upgrade
from tiphys.base.http.websocket import Op, WebSocketError, close_frame, frame, handshake
from tiphys.machinery import errors

_BASE64 = "base64.binary.k8s.io"
_PROTOCOLS = ("binary.k8s.io", _BASE64)
_NORMAL = 1000


class Source(Protocol):
    async def read(self) -> bytes: ...

    def close(self) -> None: ...


def over_websocket(request: Request, source: Source, headers: Sequence[tuple[str, str]]) -> Upgrade:
    try:
        chosen, told = handshake(request, _PROTOCOLS)
    except WebSocketError as wrong:
        source.close()
        raise errors.bad_request(str(wrong)) from None
    return Upgrade(_passing(source, text=chosen == _BASE64), [*told, *headers])


def _passing(source: Source, *, text: bool) -> Callable[[Channel], Awaitable[None]]:
    async def run(channel: Channel) -> None:
        try:
            while data := await source.read():
                channel.write(frame(Op.TEXT, b64encode(data)) if text else frame(Op.BINARY, data))
                await channel.drain()
            channel.write(close_frame(_NORMAL))
        except ConnectionError:
            return  # the node has gone; what came of the log stays valid
        finally:
            source.close()
            channel.close()

    return run
