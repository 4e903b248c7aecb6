"""Asking a container how it is: a command in it, an HTTP request, a connection. Also how its lifecycle hooks are run."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from tiphys.base.http.client import HttpClient
from tiphys.base.http.dialing import bracketed, failure, words
from tiphys.base.tls_context import client_context
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.pods.environment import expand
from tiphys.kubelet.probes.answer import Answer
from tiphys.kubelet.probes.grpc_health import grpc_health
from tiphys.kubelet.probes.verdict import port_number
from tiphys.machinery.tree import Obj

_BODY = 10 << 10
_REDIRECTS = 10
_LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


@dataclass(frozen=True, slots=True)
class Asked:
    """One container, as a probe or a hook reaches it."""

    container: Obj
    container_id: str
    address: str
    environment: Mapping[str, str]


class Executor:
    def __init__(self, runtime: Runtime, version: str) -> None:
        self._runtime = runtime
        self._agent = f"kube-probe/{version}"
        self._insecure = client_context(insecure=True)

    async def probe(self, asked: Asked, probe: Obj) -> Answer:
        seconds = float(probe.get("timeoutSeconds") or 1)
        if probe.get("exec"):
            return await self.command(asked, probe["exec"].get("command") or [], seconds)
        if probe.get("httpGet"):
            return await self.http(asked, probe["httpGet"], seconds)
        if probe.get("grpc"):
            return await grpc_health(asked.address, probe["grpc"]["port"], probe["grpc"].get("service") or "", seconds)
        return await self._tcp(asked, probe["tcpSocket"], seconds)

    async def command(self, asked: Asked, command: list[str], seconds: float) -> Answer:
        words = [expand(each, asked.environment) for each in command]
        try:
            done = await self._runtime.execute(asked.container_id, words, seconds)
        except RuntimeFailed as failed:
            if failed.late:
                return Answer(False, f"command timed out: {' '.join(words)!r} timed out after {seconds:g}s")
            return Answer(False, str(failed))
        return Answer(done.exit_code == 0, done.output[:_BODY].decode(errors="replace"))

    async def http(self, asked: Asked, request: Obj, seconds: float) -> Answer:
        scheme = (request.get("scheme") or "HTTP").lower()
        try:
            port = port_number(asked.container, request["port"])
        except ValueError as wrong:
            return Answer(False, str(wrong))
        host = request.get("host") or asked.address
        path = request.get("path") or "/"
        url = f"{scheme}://{bracketed(host)}:{port}{path if path.startswith('/') else '/' + path}"
        given = [(each["name"], each["value"]) for each in request.get("httpHeaders") or ()]
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(url, given)
        except TimeoutError:
            return Answer(False, f'Get "{url}": {_LATE}')
        except ConnectionError as error:
            return Answer(False, f'Get "{url}": {failure(error, host, port)}')

    async def _follow(self, url: str, given: list[tuple[str, str]]) -> Answer:
        """A redirect to another host counts as a success, and is not followed (pkg/probe/http/http.go)."""
        first = urlsplit(url)
        names = {name.lower() for name, _ in given}
        headers = list(given)
        if "user-agent" not in names:
            headers.append(("User-Agent", self._agent))
        if "accept" not in names:
            headers.append(("Accept", "*/*"))
        for _ in range(_REDIRECTS):
            parts = urlsplit(url)
            client = HttpClient(
                parts.hostname or "",
                parts.port or (443 if parts.scheme == "https" else 80),
                ssl_context=self._insecure if parts.scheme == "https" else None,
                names_host="host" not in names,
                keep=0,
            )
            target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            reply = await client.request("GET", target, [*headers, ("Connection", "close")])
            if reply.status not in (301, 302, 303, 307, 308) or not reply.headers.get("location"):
                break
            url = urljoin(url, reply.headers["location"])
            if urlsplit(url).hostname != first.hostname:
                return Answer(True, f"Probe terminated redirects, Response body: {reply.body[:_BODY].decode(errors='replace')}")
        else:
            return Answer(False, f'Get "{url}": stopped after {_REDIRECTS} redirects')
        if 200 <= reply.status < 400:
            return Answer(True, reply.body[:_BODY].decode(errors="replace"))
        return Answer(False, f"HTTP probe failed with statuscode: {reply.status}")

    async def _tcp(self, asked: Asked, socket: Obj, seconds: float) -> Answer:
        try:
            port = port_number(asked.container, socket["port"])
        except ValueError as wrong:
            return Answer(False, str(wrong))
        host = socket.get("host") or asked.address
        at = f"dial tcp {bracketed(host)}:{port}"
        try:
            async with asyncio.timeout(seconds):
                _, writer = await asyncio.open_connection(host, port)
        except TimeoutError:
            return Answer(False, f"{at}: i/o timeout")
        except OSError as error:
            return Answer(False, f"{at}: connect: {words(error)}")
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return Answer(True, "")

    async def hook(self, asked: Asked, hook: Obj, seconds: float) -> str:
        """Of a container's lifecycle: what went wrong, or nothing."""
        if hook.get("exec"):
            done = await self.command(asked, hook["exec"].get("command") or [], seconds)
            return "" if done.succeeded else f"command failed: {done.output}"
        if hook.get("httpGet"):
            got = await self.http(asked, hook["httpGet"], seconds or 30.0)
            return "" if got.succeeded else got.output
        if hook.get("sleep"):
            await asyncio.sleep(float(hook["sleep"]["seconds"]))
        return ""
