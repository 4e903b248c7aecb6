"""Connections whose other end has gone without a word (a cut cable, a lost power supply) end, instead of waiting for ever.

The kernel asks an idle other end whether it is still there. After three quarters of a minute without an answer the connection
is broken: as long as upstream's clients wait for the answer to a ping of HTTP/2.
"""

import socket
from typing import Protocol

IDLE_SECONDS = 30
BETWEEN_SECONDS = 5
QUESTIONS = 3

OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_SECONDS),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, BETWEEN_SECONDS),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, QUESTIONS),
)


class Settable(Protocol):
    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...


def watch_over(channel: Settable) -> None:
    """A listening socket passes it on to what it accepts."""
    for level, option, value in OPTIONS:
        channel.setsockopt(level, option, value)
