"""The servers as a service: the one with TLS, the read-only one, the one of health. They listen until they are cancelled."""

import asyncio
from collections.abc import Callable

from tiphys.base.http.messages import Handler
from tiphys.base.http.server import Server
from tiphys.base.tls import Pair
from tiphys.base.tls_context import Serving

_GRACE = 1.0


class KubeletServer:
    def __init__(self, handler: Handler, pair: Pair, client_authority: bytes) -> None:
        """`client_authority`: PEM; certificates that it signed say who a client is."""
        self._pair, self._authority = pair, client_authority
        self._serving = Serving(pair, [client_authority] if client_authority else [])
        self._servers = [Server(handler, ssl_context=self._serving.context)]

    def show(self, pair: Pair) -> None:
        """A new certificate, from the next connection on."""
        self._pair = pair
        self._serving.reload(pair, [self._authority] if self._authority else [])

    def trust(self, client_authority: bytes) -> None:
        """Others who say who a client is, from the next connection on. ValueError if it is no certificate."""
        self._serving.reload(self._pair, [client_authority])
        self._authority = client_authority

    async def listen(self, host: str, port: int) -> int:
        """The port."""
        return (await self._servers[0].listen(host, port))[1]

    async def listen_plainly(self, host: str, port: int, handler: Handler) -> None:
        """Without TLS, for what anybody on this machine may know."""
        server = Server(handler)
        await server.listen(host, port)
        self._servers.append(server)

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        try:
            await asyncio.Event().wait()
        finally:
            for each in self._servers:
                await each.shutdown(_GRACE)
