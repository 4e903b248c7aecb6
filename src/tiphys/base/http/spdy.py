"""SPDY/3.1 framing, as far as exec, attach and port-forward speak it: streams with headers, data, resets, pings, an end.

Without I/O: `feed` gives frames, the other methods give bytes. Flow control is left out, as in the library that both ends of
upstream use; window updates of a peer are taken and ignored.

https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack, unpack_from

Headers = Sequence[tuple[str, str]]

PROTOCOL = "SPDY/3.1"
MAX_DATA = (1 << 24) - 1

_VERSION = 0x8003
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY, _HEADERS = 1, 2, 3, 6, 7, 8
_FIN = 1
_MAX_HEADER_BYTES = 1 << 20

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length content-location "
    "content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match "
    "if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range "
    "referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get "
    "status"
)
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    """The text that both ends prime their compression with (the draft's section 2.6.10.1)."""
    words = [*_WORDS.split(), "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin"]
    return b"".join(pack("!I", len(word)) + word.encode() for word in words) + _TAIL.encode()


DICTIONARY = _dictionary()


class SpdyError(Exception):
    """The peer broke the protocol; the connection cannot go on."""


@dataclass(frozen=True, slots=True)
class Opened:
    """SYN_STREAM: the peer opens a stream."""

    stream: int
    headers: dict[str, str]
    last: bool


@dataclass(frozen=True, slots=True)
class Replied:
    """SYN_REPLY: the peer takes our stream."""

    stream: int
    headers: dict[str, str]
    last: bool


@dataclass(frozen=True, slots=True)
class MoreHeaders:
    stream: int
    headers: dict[str, str]
    last: bool


@dataclass(frozen=True, slots=True)
class Data:
    stream: int
    data: bytes
    last: bool
    """The peer will send no more on this stream."""


@dataclass(frozen=True, slots=True)
class Reset:
    stream: int
    status: int


@dataclass(frozen=True, slots=True)
class Ping:
    """To be answered with `ping(id)` where the id is the peer's."""

    id: int


@dataclass(frozen=True, slots=True)
class GoAway:
    last_stream: int
    status: int


Frame = Opened | Replied | MoreHeaders | Data | Reset | Ping | GoAway


class Spdy:
    """One connection's framing; the compression of headers goes on from frame to frame, each way."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._compress = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zdict=DICTIONARY)
        self._decompress = zlib.decompressobj(zdict=DICTIONARY)

    # What the peer sent.

    def feed(self, data: bytes) -> list[Frame]:
        self._buffer += data
        buffer = self._buffer
        frames: list[Frame] = []
        at = 0
        while len(buffer) - at >= 8:
            first, second = unpack_from("!II", buffer, at)
            end = at + 8 + (second & 0xFFFFFF)
            if len(buffer) < end:
                break
            body = bytes(buffer[at + 8 : end])
            at = end
            last = bool(second >> 24 & _FIN)
            if first & 0x80000000 == 0:
                frames.append(Data(first, body, last))
                continue
            if first >> 16 != _VERSION:
                raise SpdyError(f"version {first >> 16 & 0x7FFF} of SPDY is not spoken")
            frame = self._control(first & 0xFFFF, body, last)
            if frame is not None:
                frames.append(frame)
        del buffer[:at]
        return frames

    def _control(self, kind: int, body: bytes, last: bool) -> Frame | None:
        need = {_SYN_STREAM: 10, _SYN_REPLY: 4, _HEADERS: 4, _RST_STREAM: 8, _GOAWAY: 8, _PING: 4}.get(kind)
        if need is None:
            # SETTINGS and WINDOW_UPDATE ask for nothing that is done here.
            return None
        if len(body) < need:
            raise SpdyError("a control frame is too short")
        stream: int = unpack_from("!I", body)[0] & 0x7FFFFFFF
        if kind == _SYN_STREAM:
            return Opened(stream, self._headers(body[10:]), last)
        if kind == _SYN_REPLY:
            return Replied(stream, self._headers(body[4:]), last)
        if kind == _HEADERS:
            return MoreHeaders(stream, self._headers(body[4:]), last)
        if kind == _PING:
            return Ping(unpack_from("!I", body)[0])
        status: int = unpack_from("!I", body, 4)[0]
        return Reset(stream, status) if kind == _RST_STREAM else GoAway(stream, status)

    def _headers(self, block: bytes) -> dict[str, str]:
        """Lower-case names; values of a repeated one joined by a comma."""
        try:
            plain = self._decompress.decompress(block, _MAX_HEADER_BYTES)
        except zlib.error as error:
            raise SpdyError(f"headers cannot be read: {error}") from error
        if self._decompress.unconsumed_tail:
            raise SpdyError("headers are too large")
        headers: dict[str, str] = {}
        at = 4
        for _ in range(int.from_bytes(plain[:4], "big")):
            name, at = _text(plain, at)
            value, at = _text(plain, at)
            headers[name.lower()] = value.replace("\x00", ",")
        return headers

    # What we send.

    def open(self, stream: int, headers: Headers, *, last: bool = False) -> bytes:
        return self._frame(_SYN_STREAM, pack("!IIBB", stream, 0, 0, 0) + self._block(headers), last=last)

    def reply(self, stream: int, headers: Headers = (), *, last: bool = False) -> bytes:
        return self._frame(_SYN_REPLY, pack("!I", stream) + self._block(headers), last=last)

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        if len(data) <= MAX_DATA:
            return pack("!II", stream, _FIN << 24 | len(data) if last else len(data)) + data
        return self.data(stream, data[:MAX_DATA]) + self.data(stream, data[MAX_DATA:], last=last)

    def reset(self, stream: int, status: int) -> bytes:
        return self._frame(_RST_STREAM, pack("!II", stream, status))

    def ping(self, ping_id: int) -> bytes:
        return self._frame(_PING, pack("!I", ping_id))

    def go_away(self, last_stream: int, status: int = 0) -> bytes:
        return self._frame(_GOAWAY, pack("!II", last_stream, status))

    def _frame(self, kind: int, body: bytes, *, last: bool = False) -> bytes:
        return pack("!HHI", _VERSION, kind, (_FIN << 24 if last else 0) | len(body)) + body

    def _block(self, headers: Headers) -> bytes:
        joined: dict[str, str] = {}
        for name, value in headers:
            known = name.lower()
            joined[known] = f"{joined[known]}\x00{value}" if known in joined else value
        parts = [pack("!I", len(joined))]
        for name, value in joined.items():
            for text in (name.encode(), value.encode()):
                parts += (pack("!I", len(text)), text)
        return self._compress.compress(b"".join(parts)) + self._compress.flush(zlib.Z_SYNC_FLUSH)


def _text(plain: bytes, at: int) -> tuple[str, int]:
    end = at + 4 + int.from_bytes(plain[at : at + 4], "big")
    if end > len(plain):
        raise SpdyError("headers are cut short")
    return plain[at + 4 : end].decode(errors="replace"), end
