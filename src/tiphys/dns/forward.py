"""Other names are asked of other resolvers (routes.py says of which), one after the other until one answers."""

import asyncio
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.dns.cache import Cache
from tiphys.dns.routes import PORT, Resolver, Routes
from tiphys.dns.wire import Query

RESOLV_CONF = Path("/etc/resolv.conf")
SECONDS = 2.0
_LARGEST = 65535


class Unanswered(Exception):
    """No resolver answered."""


def system_resolvers(own: Sequence[str], path: Path = RESOLV_CONF) -> list[Resolver]:
    """Those of the node, but for our own addresses: asking ourselves would never end."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return []
    words = [line.split() for line in lines]
    return [(each[1], PORT) for each in words if len(each) > 1 and each[0] == "nameserver" and each[1] not in own]


class Forwarder:
    def __init__(self, routes: Routes, clock: Clock) -> None:
        self._clock = clock
        self.follow(routes)

    def follow(self, routes: Routes) -> None:
        """From now on; what was heard up to now is forgotten."""
        self._routes = routes
        self._order: dict[bytes, list[Resolver]] = {}
        """By domain: who is asked first."""
        self._cache = Cache()

    async def ask(self, asked: Query, *, by_tcp: bool = False) -> bytes:
        """The whole answer, with the asker's number. Raises Unanswered."""
        known = self._cache.get(asked, self._clock.monotonic())
        if known is not None:
            return known
        domain = self._routes.domain(asked.name)
        order = self._order.setdefault(domain, list(self._routes.resolvers(domain)))
        cache = self._cache
        for resolver in tuple(order):
            try:
                async with asyncio.timeout(SECONDS):
                    said = await (_tcp if by_tcp else _udp)(resolver, asked)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                # The others are asked first from now on.
                order.remove(resolver)
                order.append(resolver)
                continue
            cache.put(asked, said, self._clock.monotonic())
            return asked.data[:2] + said[2:]
        raise Unanswered


def _answers(said: bytes, number: bytes, asked: Query) -> bool:
    return said[:2] == number and len(said) >= 12 and said[2] & 0x80 != 0 and said[12 : asked.end].lower() == asked.key


async def _udp(resolver: Resolver, asked: Query) -> bytes:
    """By a socket of its own: whoever wants to answer falsely has to guess its port as well as the number."""
    loop = asyncio.get_running_loop()
    number = secrets.token_bytes(2)
    with socket.socket(socket.AF_INET6 if ":" in resolver[0] else socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.setblocking(False)
        channel.connect(resolver)
        channel.send(number + asked.data[2:])
        while True:
            said = await loop.sock_recv(channel, _LARGEST)
            if _answers(said, number, asked):
                return said


async def _tcp(resolver: Resolver, asked: Query) -> bytes:
    number = secrets.token_bytes(2)
    reader, writer = await asyncio.open_connection(*resolver)
    try:
        message = number + asked.data[2:]
        writer.write(len(message).to_bytes(2, "big") + message)
        size = int.from_bytes(await reader.readexactly(2), "big")
        said = await reader.readexactly(size)
        if not _answers(said, number, asked):
            raise ConnectionError("an answer to another question")
        return said
    finally:
        writer.close()
