"""WebSocket framing (RFC 6455), both sides, without I/O: bytes in, messages out; messages in, bytes out."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha1
from struct import pack, unpack_from

from tiphys.base.http.messages import Request

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Op(IntEnum):
    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


_KNOWN = {op.value: op for op in Op}


class WebSocketError(Exception):
    """The peer broke the protocol; `code` goes into our close frame."""

    def __init__(self, code: int, told: str) -> None:
        super().__init__(told)
        self.code = code


@dataclass(frozen=True, slots=True)
class Message:
    op: Op
    data: bytes

    @property
    def close_code(self) -> int:
        """Of a CLOSE: 1005 where the peer gave none (RFC 6455, section 7.1.5)."""
        code: int = unpack_from("!H", self.data)[0] if len(self.data) >= 2 else 1005
        return code


def is_websocket(request: Request) -> bool:
    """Whether the client asks for a WebSocket."""
    tokens = [token.strip() for token in request.headers.get("connection", "").lower().split(",")]
    return "upgrade" in tokens and request.headers.get("upgrade", "").lower() == "websocket"


def offered(request: Request) -> list[str]:
    """The subprotocols that the client offers, its favourite first."""
    return [each.strip() for each in request.headers.get("sec-websocket-protocol", "").split(",") if each.strip()]


def accept(key: str) -> str:
    return b64encode(sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()


def handshake(request: Request, supported: Sequence[str] = ()) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The chosen subprotocol (the client's first that is supported; empty: none) and the headers of the 101.

    Raises WebSocketError where the request is no opening handshake.
    """
    key = request.headers.get("sec-websocket-key", "")
    if not is_websocket(request) or not key:
        raise WebSocketError(1002, "not a websocket handshake")
    if request.headers.get("sec-websocket-version") != "13":
        raise WebSocketError(1002, "unsupported websocket version")
    chosen = next((each for each in offered(request) if each in supported), "")
    headers = (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept(key)))
    return chosen, (*headers, ("Sec-WebSocket-Protocol", chosen)) if chosen else headers


def ask(key: str, protocols: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A client's headers. `key`: 16 random bytes in base64."""
    return (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
        *((("Sec-WebSocket-Protocol", ", ".join(protocols)),) if protocols else ()),
    )


def frame(op: Op, data: bytes, mask: bytes = b"") -> bytes:
    """A whole message in one frame. Clients have to give four random bytes as `mask`."""
    size = len(data)
    flag = 0x80 if mask else 0
    if size < 126:
        head = pack("!BB", 0x80 | op, flag | size)
    elif size < 65536:
        head = pack("!BBH", 0x80 | op, flag | 126, size)
    else:
        head = pack("!BBQ", 0x80 | op, flag | 127, size)
    return head + mask + masked(data, mask) if mask else head + data


def close_frame(code: int, told: str = "", mask: bytes = b"") -> bytes:
    return frame(Op.CLOSE, pack("!H", code) + told.encode()[:123], mask)


def masked(data: bytes, mask: bytes) -> bytes:
    """Each byte xor the mask's, as one large number: some hundred times faster than byte by byte."""
    size = len(data)
    if not size:
        return b""
    key = int.from_bytes((mask * (size // 4 + 1))[:size], "little")
    return (int.from_bytes(data, "little") ^ key).to_bytes(size, "little")


class FrameReader:
    """Takes bytes as they come, gives whole messages; fragments are put together."""

    __slots__ = ("_buffer", "_from_client", "_limit", "_op", "_parts", "_size")

    def __init__(self, *, from_client: bool, limit: int = 16 << 20) -> None:
        """`limit`: bytes of one message."""
        self._buffer = bytearray()
        self._from_client = from_client
        self._limit = limit
        self._op: Op | None = None
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[Message]:
        """Raises WebSocketError; nothing that follows can be read then."""
        self._buffer += data
        messages: list[Message] = []
        while (step := self._next()) is not None:
            if step is not _FRAGMENT:
                messages.append(step)
        return messages

    def _next(self) -> Message | None:
        """One frame: a message, or _FRAGMENT where the message goes on; None until it is all there."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        op = _KNOWN.get(first & 0x0F)
        if op is None or first & 0x70:
            raise WebSocketError(1002, "reserved bits or an unknown opcode")
        if bool(second & 0x80) != self._from_client:
            raise WebSocketError(1002, "frames of a client are masked, those of a server are not")
        size, start = self._length(second & 0x7F)
        if size < 0:
            return None
        final = bool(first & 0x80)
        if op >= Op.CLOSE and (size > 125 or not final):
            raise WebSocketError(1002, "a control frame is short and whole")
        if self._size + size > self._limit:
            raise WebSocketError(1009, "the message is too big")
        if self._from_client:
            start += 4
        end = start + size
        if len(buffer) < end:
            return None
        data = bytes(buffer[start:end])
        if self._from_client:
            data = masked(data, bytes(buffer[start - 4 : start]))
        del buffer[:end]
        return Message(op, data) if op >= Op.CLOSE else self._gather(op, data, final=final)

    def _length(self, short: int) -> tuple[int, int]:
        """The payload's size and where what follows it begins; -1 until it is there."""
        if short < 126:
            return short, 2
        wide = 2 if short == 126 else 8
        if len(self._buffer) < 2 + wide:
            return -1, 0
        return int.from_bytes(self._buffer[2 : 2 + wide], "big"), 2 + wide

    def _gather(self, op: Op, data: bytes, *, final: bool) -> Message:
        if (op is Op.CONTINUATION) == (self._op is None):
            raise WebSocketError(1002, "a continuation out of place")
        if self._op is None and final:
            return Message(op, data)
        self._op = self._op or op
        self._parts.append(data)
        self._size += len(data)
        if not final:
            return _FRAGMENT
        whole = Message(self._op, b"".join(self._parts))
        self._op = None
        self._parts = []
        self._size = 0
        return whole


_FRAGMENT = Message(Op.CONTINUATION, b"")
