"""Audit events sent to a server, many at a time: whoever is asked for something never waits for that server."""

import asyncio
from base64 import b64encode
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from tiphys.base.clock import Clock
from tiphys.base.http.client import HttpClient
from tiphys.base.log import Logger
from tiphys.base.tls_context import client_context
from tiphys.client.kubeconfig import Access
from tiphys.machinery.tree import Obj

_TIMEOUT = 30.0
_ATTEMPTS = 5
_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class BatchSettings:
    buffer: int = 10000
    """So many events wait at most; those that come after are lost."""
    size: int = 400
    seconds: float = 30.0
    """An event waits at most so long for company."""
    a_second: float = 10.0
    """So many batches are sent."""
    first_pause: float = 10.0
    """Before a batch that failed is sent again."""


class Webhook:
    """Implements auditor.Backend; `run` is its service."""

    def __init__(self, access: Access, clock: Clock, log: Logger, settings: BatchSettings | None = None) -> None:
        parts = urlsplit(access.server)
        secure = parts.scheme == "https"
        self._settings = settings or BatchSettings()
        self._clock = clock
        self._log = log
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._waiting: deque[bytes] = deque()
        self._came = asyncio.Event()
        self._enough = asyncio.Event()
        self.dropped = 0
        authorities = (access.authority,) if access.authority else ()
        self._http = HttpClient(
            parts.hostname or "",
            parts.port or (443 if secure else 80),
            ssl_context=client_context(authorities, access.pair, insecure=access.insecure) if secure else None,
            server_name=access.server_name,
            headers=(("Content-Type", "application/json"), *_credentials(access)),
        )

    def put(self, event: Obj) -> None:
        if len(self._waiting) >= self._settings.buffer:
            self.dropped += 1
            return
        self._waiting.append(orjson.dumps(event))
        self._came.set()
        if len(self._waiting) >= self._settings.size:
            self._enough.set()

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        try:
            while True:
                await self._collect()
                await self._send(self._take())
                await self._clock.sleep(1 / self._settings.a_second)
        finally:
            self._http.close()

    async def _collect(self) -> None:
        """Wait for a first event, then for a full batch, but not for long."""
        await self._came.wait()
        try:
            async with asyncio.timeout(self._settings.seconds):
                await self._enough.wait()
        except TimeoutError:
            return

    def _take(self) -> list[bytes]:
        batch = [self._waiting.popleft() for _ in range(min(self._settings.size, len(self._waiting)))]
        if not self._waiting:
            self._came.clear()
        if len(self._waiting) < self._settings.size:
            self._enough.clear()
        return batch

    async def _send(self, batch: list[bytes]) -> None:
        items = b",".join(batch)
        body = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[%b]}' % items
        pause = self._settings.first_pause
        for attempt in range(_ATTEMPTS):
            problem = await self._once(body)
            if not problem:
                return
            if attempt < _ATTEMPTS - 1:
                await self._clock.sleep(pause)
                pause *= _GROWTH
        self.dropped += len(batch)
        self._log.warning("audit events were not taken", problem=problem, events=len(batch))

    async def _once(self, body: bytes) -> str:
        try:
            reply = await self._http.request("POST", self._path, (), body, timeout=_TIMEOUT)
        except (OSError, TimeoutError) as error:
            return str(error) or type(error).__name__
        return "" if 200 <= reply.status < 300 else f"the server answered {reply.status}"


def _credentials(access: Access) -> tuple[tuple[str, str], ...]:
    if access.token:
        return (("Authorization", f"Bearer {access.token}"),)
    if access.basic is not None:
        return (("Authorization", f"Basic {b64encode(':'.join(access.basic).encode()).decode()}"),)
    return ()
