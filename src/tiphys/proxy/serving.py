"""The proxy's small HTTP servers: its own health, its metrics, and a port for each Service that load balancers ask about."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from tiphys.base.clock import Clock
from tiphys.base.http.messages import Answer, Request, Response
from tiphys.base.http.server import Server
from tiphys.base.log import Logger
from tiphys.base.metrics import CONTENT_TYPE
from tiphys.machinery.zpages import ZPages
from tiphys.proxy.health import Health, Told
from tiphys.proxy.metrics import ProxyMetrics
from tiphys.proxy.rules import HealthCheck

RETRY_SECONDS = 5.0
PATHS = ("/metrics", "/healthz", "/proxyMode")

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Serving:
    health: Place | None = None
    metrics: Place | None = None
    must: bool = False
    """Not to be able to listen is the end, instead of being tried again."""
    pages: ZPages | None = None


class Servers:
    def __init__(self, serving: Serving, health: Health, metrics: ProxyMetrics, mode: str, clock: Clock, log: Logger) -> None:
        self._serving = serving
        self._health = health
        self._metrics = metrics
        self._mode = mode
        self._clock = clock
        self._log = log
        self._servers: dict[Place, Server] = {}
        self._known: dict[int, HealthCheck] = {}

    async def run(self) -> NoReturn:
        """Health and metrics, until cancelled. Raises OSError where they must be served, and cannot be."""
        wanted: dict[Place, Callable[[Request], Response]] = {}
        if self._serving.health is not None:
            wanted[self._serving.health] = self._healthz
        if self._serving.metrics is not None:
            wanted[self._serving.metrics] = self._metricsz
        while True:
            for place in [each for each in wanted if each not in self._servers]:
                try:
                    await self._open(place, wanted[place])
                except OSError as error:
                    if self._serving.must:
                        raise
                    self._log.debug(1, "cannot listen", address=f"{place[0]}:{place[1]}", error=str(error))
            await self._clock.sleep(RETRY_SECONDS)
            if len(self._servers) >= len(wanted):
                await asyncio.get_running_loop().create_future()

    async def of_services(self, wanted: list[HealthCheck]) -> None:
        """A server for each port that some Service has for this."""
        before, self._known = self._known, {each.port: each for each in wanted}
        for port in [each for each in before if each not in self._known]:
            server = self._servers.pop(("0.0.0.0", port), None)
            if server is not None:
                await server.shutdown(0.1)
        for port in self._known:
            if ("0.0.0.0", port) not in self._servers:
                try:
                    await self._open(("0.0.0.0", port), self._asked_about(port))
                except OSError as error:
                    self._log.error("cannot serve a health check", port=port, error=str(error))

    async def close(self) -> None:
        while self._servers:
            await self._servers.popitem()[1].shutdown(0.1)

    async def _open(self, place: Place, answer: Callable[[Request], Response]) -> None:
        async def handle(request: Request) -> Answer:
            return answer(request)

        server = Server(handle)
        await server.listen(*place)
        self._servers[place] = server

    def _asked_about(self, port: int) -> Callable[[Request], Response]:
        return lambda _: _response(self._health.of_service(self._known[port], self._clock.now()))

    def _healthz(self, request: Request) -> Response:
        now = self._clock.now()
        match request.path:
            case "/healthz":
                said, count = self._health.ready(now), self._metrics.healthz
            case "/livez":
                said, count = self._health.alive(now), self._metrics.livez
            case _:
                return _missing()
        count.labels(str(said.status)).inc()
        return _response(said)

    def _metricsz(self, request: Request) -> Response:
        pages = self._serving.pages
        if pages is not None and (page := pages.answer(request, PATHS)) is not None:
            return page
        match request.path:
            case "/metrics":
                return Response(200, self._metrics.registry.render(), CONTENT_TYPE)
            case "/healthz":
                return Response(200, b"ok", "text/plain; charset=utf-8")
            case "/proxyMode":
                return Response(200, self._mode.encode(), "text/plain; charset=utf-8")
        return _missing()


def _response(said: Told) -> Response:
    return Response(said.status, said.body, "application/json", said.headers)


def _missing() -> Response:
    return Response(404, b"404 page not found\n", "text/plain; charset=utf-8")
