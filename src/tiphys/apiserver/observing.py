"""What is noted about every request: upstream's main metrics, and a log line where somebody reads it."""

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.request import RequestInfo
from tiphys.base.http.messages import Request
from tiphys.base.log import Logger
from tiphys.base.metrics import Distribution, Registry, Value

_BOUNDS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
_METRIC_VERB = {"list": "LIST", "watch": "WATCH", "get": "GET", "create": "POST", "update": "PUT", "patch": "PATCH"}


class RequestObserver:
    def __init__(self, metrics: Registry, log: Logger) -> None:
        labels = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code")
        self._total = metrics.counter("apiserver_request_total", "Requests by verb, resource and status code", labels)
        self._seconds = metrics.histogram(
            "apiserver_request_duration_seconds", "Time to answer, by verb and resource", labels[:-1], _BOUNDS
        )
        attempts = metrics.counter("authentication_attempts", "Attempts to say who asks", ("result",))
        self._known, self._unknown = attempts.labels("success"), attempts.labels("failure")
        self._log = log
        self._bound: dict[tuple[str, str, str, str, str, bool, int], tuple[Value, Distribution]] = {}

    def answered(self, request: Request, info: RequestInfo | None, user: User | None, status: int, seconds: float) -> None:
        if info is not None:
            (self._known if user is not None else self._unknown).inc()
            total, duration = self._children(info, "dryRun" in request.query, status)
            total.inc()
            if info.verb != "watch":
                duration.observe(seconds)
        if self._log.on(3):
            self._log.debug(
                3,
                "HTTP",
                verb=info.verb if info is not None else request.method,
                URI=request.path,
                latency=f"{seconds * 1000:.3f}ms",
                userAgent=request.headers.get("user-agent", ""),
                user=user.name if user is not None else "",
                srcIP=request.peer.address,
                resp=status,
            )

    def _children(self, info: RequestInfo, dry_run: bool, status: int) -> tuple[Value, Distribution]:
        key = (info.verb, info.group, info.version, info.resource, info.subresource, bool(info.name), status)
        found = self._bound.get(key)
        if found is None or dry_run:
            verb = _METRIC_VERB.get(info.verb, info.verb.upper())
            labels = (
                verb,
                "All" if dry_run else "",
                info.group,
                info.version,
                info.resource,
                info.subresource,
                info.scope,
                "apiserver",
            )
            found = self._total.labels(*labels, str(status)), self._seconds.labels(*labels)
            if not dry_run:
                self._bound[key] = found
        return found
