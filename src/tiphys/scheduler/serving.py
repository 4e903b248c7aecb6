"""What the scheduler tells over HTTP: explanations of its decisions, health and metrics.

The same answer to `/explain/scheduling/NAMESPACE/POD` is given by the API server of the cluster, which knows who asks.
"""

from collections.abc import Callable
from urllib.parse import parse_qs, unquote

import orjson

from tiphys.base import metrics
from tiphys.base.http.messages import Request, Response
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.zpages import ZPages
from tiphys.scheduler import explaining
from tiphys.scheduler.loop import Scheduler

EXPLAIN = "/explain/scheduling/"
PATHS = ("/healthz", "/livez", "/readyz", "/metrics", EXPLAIN)
_PLAIN = "text/plain; charset=utf-8"
_EVERY_NODE = 1_000_000


def explained(scheduler: Scheduler, path: str, query: str) -> Response:
    """`path` is NAMESPACE/POD; `nodes` in the query says how many are listed (0: all). Raises ApiError 404."""
    namespace, _, name = unquote(path).strip("/").partition("/")
    asked = parse_qs(query).get("nodes", [""])[0]
    most = int(asked) if asked.isdecimal() else explaining.MOST_NODES
    found = scheduler.explain(f"{namespace}/{name}", most or _EVERY_NODE)
    if found is None:
        raise errors.not_found("", "decisions", f"{namespace}/{name}")
    return Response(200, orjson.dumps(found))


class Handler:
    """Of the scheduler's own server, which does not ask who somebody is: it belongs on the loopback interface."""

    def __init__(
        self, scheduler: Scheduler, render: Callable[[], bytes], is_ready: Callable[[], bool], pages: ZPages | None = None
    ) -> None:
        self._scheduler = scheduler
        self._pages = pages
        self._render = render
        self._is_ready = is_ready

    async def answer(self, request: Request) -> Response:
        match request.path:
            case "/healthz" | "/livez":
                return Response(200, b"ok", _PLAIN)
            case "/readyz":
                ready = self._is_ready()
                return Response(200 if ready else 500, b"ok" if ready else b"not ready", _PLAIN)
            case "/metrics":
                return Response(200, self._render(), metrics.CONTENT_TYPE)
        if self._pages is not None and (page := self._pages.answer(request, PATHS)) is not None:
            return page
        if request.path.startswith(EXPLAIN):
            try:
                return explained(self._scheduler, request.path.removeprefix(EXPLAIN), request.query)
            except ApiError as problem:
                return Response(problem.code, orjson.dumps(problem.to_status()))
        return Response(404, b"404 page not found", _PLAIN)
