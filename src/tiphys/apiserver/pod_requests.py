"""The last requests that wrote something about pods, with where their time went: the server's part of the story of a pod."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tiphys.apiserver.request import RequestInfo
from tiphys.machinery import times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_REMEMBERED = 2000
_WRITES = frozenset(("create", "update", "patch", "delete"))


@dataclass(slots=True)
class PodRequest:
    info: RequestInfo
    at: float
    """When it came."""
    user: str
    agent: str
    waited: float
    """Seconds until it was known who asks, that they may, and that there is a seat."""
    began: float
    marks: list[tuple[str, float]] = field(default_factory=list)
    """What was done, and when that was finished."""
    key: str = ""
    seconds: float = 0.0
    code: int = 0
    """Of a refusal."""

    def mark(self, what: str) -> None:
        self.marks.append((what, time.perf_counter()))

    def to_tree(self) -> Obj:
        at, parts = self.began, []
        for what, ended in self.marks:
            parts.append({"what": what, "seconds": round(ended - at, 6)})
            at = ended
        told: Obj = {
            "at": times.rfc3339_micro(self.at),
            "verb": self.info.verb,
            "subresource": self.info.subresource,
            "user": self.user,
            "agent": self.agent,
            "waitedSeconds": round(self.waited, 6),
            "seconds": round(self.waited + self.seconds, 6),
            "parts": parts,
        }
        return {**told, "code": self.code} if self.code else told


class PodRequests:
    def __init__(self) -> None:
        self._last: deque[PodRequest] = deque(maxlen=_REMEMBERED)

    @staticmethod
    def concerns(info: RequestInfo) -> bool:
        """Whether a request is of those that are remembered."""
        return info.resource == "pods" and info.verb in _WRITES and not info.group

    @contextmanager
    def remembering(self, made: PodRequest) -> Iterator[None]:
        try:
            yield
        except ApiError as problem:
            made.code = problem.code
            raise
        finally:
            made.seconds = time.perf_counter() - made.began
            made.key = made.key or f"{made.info.namespace}/{made.info.name}"
            self._last.append(made)

    def of(self, key: str) -> list[Obj]:
        """About the pod namespace/name; the oldest first."""
        return [each.to_tree() for each in self._last if each.key == key]
