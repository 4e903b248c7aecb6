"""What a request to the kubelet asks for, and what right that takes (pkg/kubelet/server/auth.go)."""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Asked:
    what: str
    """The first part of the path (containerLogs, exec, ...), or the whole of one that has no variable parts."""
    namespace: str = ""
    pod: str = ""
    uid: str = ""
    container: str = ""
    rest: str = ""
    """What follows, where that is a path of its own."""


_WITH_CONTAINER = ("containerLogs", "exec", "attach", "run", "checkpoint")
_ALONE = frozenset(
    (
        "pods",
        "runningpods",
        "configz",
        "flagz",
        "statusz",
        "healthz",
        "healthz/ping",
        "healthz/log",
        "healthz/syncloop",
        "livez",
        "stats",
        "stats/summary",
        "metrics",
        "metrics/cadvisor",
        "metrics/probes",
        "metrics/resource",
        "steps",
    )
)
_WITH_REST = ("logs", "debug")
PATHS = tuple(f"/{each}" for each in (*sorted(_ALONE), *_WITH_CONTAINER, *_WITH_REST, "portForward"))
# The fine-grained rights go before the general one: either is enough.
_FINE = {"pods": "pods", "runningpods": "pods", "healthz": "healthz", "livez": "healthz", "configz": "configz"}
_OWN = {
    "stats": "stats",
    "metrics": "metrics",
    "logs": "log",
    "checkpoint": "checkpoint",
    "statusz": "statusz",
    "flagz": "configz",
}
DEBUGGING = frozenset(("run", "exec", "attach", "portForward", "containerLogs", "runningpods", "checkpoint", "logs", "debug"))
"""Not there where enableDebuggingHandlers is off."""


def parse(path: str) -> Asked | None:
    """None where nothing is served there."""
    parts = [unquote(each) for each in path.strip("/").split("/")]
    what, rest = parts[0], parts[1:]
    if what in _WITH_CONTAINER:
        if len(rest) == 3:
            return Asked(what, rest[0], rest[1], "", rest[2])
        if len(rest) == 4 and what not in ("containerLogs", "checkpoint"):
            return Asked(what, *rest)
    elif what == "portForward" and len(rest) in (2, 3):
        return Asked(what, rest[0], rest[1], rest[2] if len(rest) == 3 else "")
    elif what == "explain" and len(rest) == 2:
        return Asked(what, *rest)
    elif what in _WITH_REST:
        return Asked(what, rest="/".join(rest))
    elif "/".join(parts) in _ALONE:
        return Asked("/".join(parts))
    return None


def rights(asked: Asked, method: str, node: str) -> list[dict[str, str]]:
    """The resource attributes of SubjectAccessReviews, of which one has to be allowed."""
    first = asked.what.partition("/")[0]
    wanted = [_FINE[first]] if first in _FINE else []
    wanted.append(_OWN.get(first, "proxy"))
    verb = _VERBS.get(method, method.lower())
    return [{"verb": verb, "version": "v1", "resource": "nodes", "subresource": each, "name": node} for each in wanted]


Query = dict[str, list[str]]


def query_of(text: str) -> Query:
    return parse_qs(text, keep_blank_values=True)


def is_on(query: Query, name: str) -> bool:
    return query.get(name, [""])[0].lower() in ("1", "true")
