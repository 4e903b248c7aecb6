"""EventRateLimit: so many events a second for the server, a namespace, a user, or one object told of by one source."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tiphys.apiserver.admission.chain import CREATE_UPDATE, Attributes, Resources
from tiphys.machinery import errors

LimitType = Literal["Server", "Namespace", "User", "SourceAndObject"]
DEFAULT_CACHE_SIZE = 4096


@dataclass(frozen=True, slots=True)
class Limit:
    type: LimitType
    qps: int
    burst: int
    cache_size: int = DEFAULT_CACHE_SIZE


class EventRateLimit:
    name = "EventRateLimit"
    operations = CREATE_UPDATE
    resources: Resources = frozenset((("", "events"), ("events.k8s.io", "events")))

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._enforcers = [_Enforcer(limit) for limit in limits]

    def validate(self, attributes: Attributes) -> None:
        if attributes.dry_run:
            return
        problems = [each for enforcer in self._enforcers if (each := enforcer.accept(attributes))]
        if problems:
            raise errors.too_many_requests(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


class _Enforcer:
    """A token bucket for each key, the least recently used of which are forgotten."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def accept(self, attributes: Attributes) -> str:
        """What is wrong; empty if there is room."""
        limit, key = self._limit, _key(self._limit.type, attributes)
        tokens, since = self._buckets.get(key, (float(limit.burst), attributes.now))
        tokens = min(limit.burst, tokens + max(0.0, attributes.now - since) * limit.qps)
        accepted = tokens >= 1
        self._buckets[key] = (tokens - 1 if accepted else tokens, attributes.now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > limit.cache_size:
            self._buckets.popitem(last=False)
        return "" if accepted else f"limit reached on type {limit.type} for key {key}"


def _key(by: LimitType, attributes: Attributes) -> str:
    if by == "Namespace":
        return attributes.namespace
    if by == "User":
        return attributes.user.name
    if by == "Server" or attributes.obj is None:
        return ""
    event = attributes.obj
    # The newer of the two forms of an event has other names for the same things.
    source = event.get("source") or event.get("deprecatedSource") or {}
    about = event.get("involvedObject") or event.get("regarding") or {}
    parts = [source.get("component", ""), source.get("host", "")]
    return "".join(parts + [about.get(part, "") for part in ("kind", "namespace", "name", "uid", "apiVersion")])
