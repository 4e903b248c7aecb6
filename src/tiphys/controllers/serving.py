"""What the controllers tell over HTTP: health, metrics, and what each of their turns did and why.

`/explain/controllers/` lists them, `/explain/controllers/NAME` shows the last turns of one that wrote something or failed, and
`/explain/controllers/NAME/KEY` those of one object. The API server of `tiphys up` gives the same answers, and knows who asks.
"""

import ipaddress
from collections.abc import Callable, Sequence
from urllib.parse import unquote

import orjson

from tiphys.base import metrics
from tiphys.base.http.messages import Request, Response
from tiphys.controllers.runner import Runner, Turn
from tiphys.machinery import errors, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj
from tiphys.machinery.zpages import ZPages

EXPLAIN = "/explain/controllers"
PATHS = ("/healthz", "/livez", "/readyz", "/metrics", EXPLAIN)
_PLAIN = "text/plain; charset=utf-8"


def explained(runners: Sequence[Runner], path: str) -> Response:
    """`path` is what follows EXPLAIN. Raises ApiError 404."""
    name, _, key = unquote(path).strip("/").partition("/")
    if not name:
        return _json({"controllers": [_summary(runner) for runner in runners]})
    found = next((runner for runner in runners if runner.controller.name == name), None)
    if found is None:
        raise errors.not_found("", "controllers", name)
    turns = [turn for turn in found.history if not key or turn.key == key]
    waits: Obj = {"state": found.state(key)} if key else {}
    return _json({**_summary(found), **waits, "turns": [_told(turn) for turn in turns]})


def _summary(runner: Runner) -> Obj:
    queue = runner.queue
    return {
        "name": runner.controller.name,
        "waiting": len(queue),
        "working": queue.working,
        "adds": queue.adds,
        "retries": queue.retries,
    }


def _told(turn: Turn) -> Obj:
    at = times.rfc3339_micro(turn.at)
    return {"at": at, "key": turn.key, "cause": turn.cause, "wrote": list(turn.wrote), "outcome": turn.outcome}


def _json(content: Obj) -> Response:
    return Response(200, orjson.dumps(content, option=orjson.OPT_INDENT_2))


class Handler:
    """Of the controllers' own server. It does not ask who somebody is: health is for everybody, all else for this machine."""

    def __init__(
        self,
        runners: Sequence[Runner],
        render: Callable[[], bytes],
        problem: Callable[[], str],
        pages: ZPages | None = None,
    ) -> None:
        """`problem`: why the controllers are not ready, empty if they are."""
        self._pages = pages
        self._runners = runners
        self._render = render
        self._problem = problem

    async def answer(self, request: Request) -> Response:
        match request.path:
            case "/healthz" | "/livez":
                return Response(200, b"ok", _PLAIN)
            case "/readyz":
                problem = self._problem()
                return Response(500 if problem else 200, (problem or "ok").encode(), _PLAIN)
        if not _is_near(request.peer.address):
            return Response(403, b"forbidden", _PLAIN)
        if request.path == "/metrics":
            return Response(200, self._render(), metrics.CONTENT_TYPE)
        if self._pages is not None and (page := self._pages.answer(request, PATHS)) is not None:
            return page
        if request.path == EXPLAIN or request.path.startswith(f"{EXPLAIN}/"):
            try:
                return explained(self._runners, request.path.removeprefix(EXPLAIN))
            except ApiError as problem:
                return Response(problem.code, orjson.dumps(problem.to_status()))
        return Response(404, b"404 page not found", _PLAIN)


def _is_near(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
