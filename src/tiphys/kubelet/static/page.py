"""Reads static pods at a URL, each time anew (pkg/kubelet/config/http.go)."""

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from tiphys.base.clock import Clock
from tiphys.base.http.client import HttpClient
from tiphys.base.log import Logger
from tiphys.base.tls_context import client_context
from tiphys.kubelet.static.manifests import BadManifest, fetched_pods
from tiphys.machinery.tree import Obj

_LONGEST = 10 << 20
_SECONDS = 10.0
_TOLD_AT_MOST = 3
"""So often it is said that it cannot be read: the first few get the point across."""


class Page:
    def __init__(
        self, url: str, headers: Mapping[str, Sequence[str]], every: float, node: str, clock: Clock, log: Logger
    ) -> None:
        self.every = every
        self._url = url
        self._node = node
        self._clock = clock
        self._log = log
        told = [(name, value) for name, values in headers.items() for value in values]
        at = urlsplit(url)
        secure = at.scheme == "https"
        self._path = (at.path or "/") + (f"?{at.query}" if at.query else "")
        port = at.port or (443 if secure else 80)
        self._http = HttpClient(at.hostname or "", port, ssl_context=client_context() if secure else None, headers=told)
        self._body = b""
        """As it was read last; what was wrong with it has been said."""
        self._pods: list[Obj] | None = None
        self._failures = 0

    async def look(self) -> list[Obj] | None:
        """Whatever goes wrong, it stays what it was; None: it has not been read yet."""
        try:
            async with asyncio.timeout(_SECONDS):
                await self._read()
        except (OSError, TimeoutError, BadManifest) as problem:
            self._failed(str(problem) or f"{self._url}: no answer in {_SECONDS:.0f}s")
        else:
            if self._failures:
                self._log.info("Successfully read pods from URL")
            self._failures = 0
        return self._pods

    async def _read(self) -> None:
        async with await self._http.stream("GET", self._path) as answer:
            body = b""
            while data := await answer.read():
                body += data
                if len(body) > _LONGEST:
                    raise BadManifest("the read limit is reached")
        if answer.status != HTTPStatus.OK:
            raise BadManifest(f"{self._url}: {answer.status} {_phrase(answer.status)}")
        if not body:
            self._pods, self._body = [], b""
            raise BadManifest(f"zero-length data received from {self._url}")
        if body != self._body:
            self._body = body
            self._pods = fetched_pods(body, self._url, self._node, self._clock.now())

    def _failed(self, problem: str) -> None:
        if self._failures <= _TOLD_AT_MOST:
            more = ". Dropping verbosity of this message to V(4)" if self._failures == _TOLD_AT_MOST else ""
            self._log.info(f"Failed to read pods from URL{more}", err=problem)
        else:
            self._log.debug(4, "Failed to read pods from URL", err=problem)
        self._failures += 1


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
