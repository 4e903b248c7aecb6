"""What has been done for a pod on this node, step by step: for those who ask why it is not further, or where the time went.

Bounded: of a pod the first steps and the last ones, of the node the pods that came last. A kubelet that begins anew knows
nothing of before, and says since when it knows.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tiphys.machinery import times
from tiphys.machinery.tree import Obj

_FIRST, _LAST = 60, 60
_MOST_PODS = 500


@dataclass(slots=True)
class Step:
    what: str
    container: str
    began: float
    seconds: float | None = None
    """None: it is still being done."""
    problem: str = ""
    """Why it came to nothing, where it did."""
    until: float | None = None
    """When it will be cut short, where it will."""

    def to_tree(self, now: float) -> Obj:
        told: Obj = {"what": self.what, "began": times.rfc3339_micro(self.began)}
        if self.container:
            told["container"] = self.container
        if self.problem:
            told["problem"] = self.problem
        if self.seconds is not None:
            return {**told, "seconds": round(self.seconds, 6)}
        told["underWayForSeconds"] = round(now - self.began, 3)
        if self.until is not None:
            told["leftSeconds"] = round(max(0.0, self.until - now), 3)
        return told


class Timeline:
    """Of one pod."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._first: list[Step] = []
        self._last: deque[Step] = deque(maxlen=_LAST)
        self._under_way: list[Step] = []

    @contextmanager
    def step(self, what: str, container: str = "", *, until: float | None = None) -> Iterator[Step]:
        """Whatever is done inside. What it raises is its problem."""
        made = Step(what, container, self._now(), until=until)
        self._under_way.append(made)
        try:
            yield made
        except BaseException as problem:
            made.problem = made.problem or str(problem) or "given up"
            raise
        finally:
            self._under_way.remove(made)
            made.seconds = self._now() - made.began
            self._keep(made)

    def note(self, what: str, container: str = "", problem: str = "") -> None:
        """It happened now, and takes no time."""
        self._keep(Step(what, container, self._now(), 0.0, problem))

    def _keep(self, step: Step) -> None:
        if len(self._first) < _FIRST:
            self._first.append(step)
        else:
            self._last.append(step)

    def to_tree(self) -> list[Obj]:
        """The oldest first."""
        now = self._now()
        return [each.to_tree(now) for each in (*self._first, *self._last, *self._under_way)]


class Timelines:
    """Of the pods of a node, by namespace/name: the last pod of that name."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.since = now()
        self._of: OrderedDict[str, tuple[str, Timeline]] = OrderedDict()

    def begin(self, key: str, uid: str) -> Timeline:
        made = Timeline(self._now)
        self._of.pop(key, None)
        self._of[key] = uid, made
        while len(self._of) > _MOST_PODS:
            self._of.popitem(last=False)
        return made

    def find(self, key: str) -> tuple[str, Timeline] | None:
        """With the uid of its pod."""
        return self._of.get(key)
