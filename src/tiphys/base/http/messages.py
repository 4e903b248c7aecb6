"""A request and the three shapes of an answer, as handlers see them. No framework, no socket."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(slots=True)
class Peer:
    """Who is at the other end of a connection; made once a connection."""

    address: str = ""
    port: int = 0
    certificate: bytes | None = None
    """DER of the verified client certificate, if one was shown."""
    memo: dict[str, Any] = field(default_factory=dict)
    """For what a handler derives once a connection (the certificate's user)."""


@dataclass(slots=True)
class Request:
    method: str
    path: str
    """As sent, without the query; still percent-encoded."""
    query: str
    headers: Mapping[str, str]
    """Lower-case names; repeated ones joined by a comma."""
    body: bytes = b""
    peer: Peer = field(default_factory=Peer)


@dataclass(slots=True)
class Response:
    status: int = 200
    body: bytes | Sequence[bytes] = b""
    content_type: str = "application/json"
    headers: Sequence[tuple[str, str]] = ()


class Channel(Protocol):
    """What is left of a connection once the head of a stream has been sent, or the protocol was switched."""

    def write(self, data: bytes) -> None:
        """Queue bytes; never waits. Watch `pending` and end the stream of a reader that is too slow."""
        ...

    @property
    def pending(self) -> int:
        """Bytes written that the peer has not taken yet."""
        ...

    async def drain(self) -> None:
        """Wait until `pending` is small again, or the connection is gone."""
        ...

    async def read(self) -> bytes:
        """Bytes from the peer (upgraded connections); empty at the end."""
        ...

    async def closed(self) -> None:
        """Wait until the peer has gone."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Stream:
    """A body of unknown length, sent chunk by chunk: watch, logs. Each `Channel.write` is one chunk, flushed at once."""

    run: Callable[[Channel], Awaitable[None]]
    status: int = 200
    content_type: str = "application/json"
    headers: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class Upgrade:
    """101, then raw bytes both ways: WebSocket, SPDY."""

    run: Callable[[Channel], Awaitable[None]]
    headers: Sequence[tuple[str, str]] = ()


Answer = Response | Stream | Upgrade
Handler = Callable[[Request], Awaitable[Answer]]
