"""The requests that the kubelet answers, each by one function, for those who may."""

from collections.abc import Awaitable, Callable

from tiphys.base.clock import Clock
from tiphys.base.http.messages import Answer, Request, Response
from tiphys.client.interface import Client
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.loop import Kubelet
from tiphys.kubelet.server.access import Access, Forbidden, Unauthorized
from tiphys.kubelet.server.node import NodeRequests
from tiphys.kubelet.server.paths import DEBUGGING, Asked, parse
from tiphys.kubelet.server.pods import PodRequests
from tiphys.kubelet.server.refusal import Refused
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.machinery.zpages import ZPages

Handling = Callable[[Request, Asked], Awaitable[Answer]]
_TEXT = "text/plain; charset=utf-8"
_OPEN = frozenset(("pods", "stats/summary", "metrics", "metrics/cadvisor", "metrics/resource", "metrics/probes", "healthz"))
"""What the read-only port tells."""


class Handler:
    def __init__(
        self, kubelet: Kubelet, client: Client, runtime: Runtime, clock: Clock, settings: Obj, pages: ZPages | None = None
    ) -> None:
        self._access = Access(client, clock, kubelet.context.config.node, settings)
        self._debugging: bool = settings["enableDebuggingHandlers"]
        self._telemetry = kubelet.telemetry
        pods, node = PodRequests(kubelet, runtime, clock), NodeRequests(kubelet, pages)
        self._kinds: dict[str, Handling] = {
            "containerLogs": pods.logs,
            "exec": pods.exec,
            "attach": pods.attach,
            "portForward": pods.port_forward,
            "run": pods.run,
            "checkpoint": pods.checkpoint,
            "explain": pods.explain,
            "pods": node.pods,
            "runningpods": node.running_pods,
            "stats": node.summary,
            "stats/summary": node.summary,
            "metrics": node.metrics,
            "metrics/cadvisor": node.cadvisor,
            "metrics/resource": node.resource_metrics,
            "metrics/probes": node.probe_metrics,
            "configz": node.configz,
            "flagz": node.page,
            "statusz": node.page,
            "logs": node.logs,
            "debug": node.debug,
            **dict.fromkeys(("healthz", "healthz/ping", "healthz/log", "healthz/syncloop", "livez"), node.healthy),
        }

    async def __call__(self, request: Request) -> Answer:
        asked = parse(request.path)
        try:
            await self._admit(request, asked or Asked(""))
            return await self._answer(request, asked)
        except Refused as refused:
            return _said(refused.status, str(refused))

    async def without_asking(self, request: Request) -> Answer:
        """For the read-only port: anybody, but not everything."""
        asked = parse(request.path)
        try:
            return await self._answer(request, asked if asked is not None and asked.what in _OPEN else None)
        except Refused as refused:
            return _said(refused.status, str(refused))

    async def health(self, request: Request) -> Answer:
        """For the port of health alone."""
        asked = parse(request.path)
        if asked is None or not asked.what.startswith("healthz"):
            return _said(404, "404 page not found\n")
        return await self._kinds[asked.what](request, asked)

    async def _answer(self, request: Request, asked: Asked | None) -> Answer:
        handling = self._kinds.get(asked.what) if asked is not None else None
        if asked is None or handling is None:
            raise Refused(404, "404 page not found\n")
        if asked.what in DEBUGGING and not self._debugging:
            raise Refused(405, "Debug endpoints are disabled.\n")
        self._telemetry.requests.labels(request.method, asked.what).inc()
        try:
            return await handling(request, asked)
        except (RuntimeFailed, ConnectionError, TimeoutError) as problem:
            raise Refused(500, f"{problem}\n") from problem

    async def _admit(self, request: Request, asked: Asked) -> None:
        try:
            await self._access.check(request, asked)
        except Unauthorized:
            raise Refused(401, "Unauthorized") from None
        except Forbidden as forbidden:
            raise Refused(403, str(forbidden)) from None
        except (ApiError, ConnectionError, TimeoutError) as problem:
            raise Refused(500, f"Authorization error: {problem}\n") from problem


def _said(status: int, text: str) -> Response:
    return Response(status, text.encode(), _TEXT)
