"""Keys that wait for their turn: each at most once, never two workers on one key, delays, and back-off after failures.

Upstream's numbers: a key's failures wait 5 ms, doubling up to 1000 s; beyond that all retries together share a bucket of
100 that refills with 10 a second.
"""

from collections import deque
from heapq import heappop, heappush

FIRST_DELAY = 0.005
LONGEST_DELAY = 1000.0
BUCKET = 100
REFILL = 10.0


class WorkQueue:
    """Every `now` is monotonic time."""

    def __init__(self, *, first_delay: float = FIRST_DELAY, longest_delay: float = LONGEST_DELAY) -> None:
        self._first = first_delay
        self._longest = longest_delay
        self._order: deque[str] = deque()
        self._dirty: dict[str, float] = {}
        """Those who wait, and since when."""
        self._working: dict[str, float] = {}
        """Those at work, and since when."""
        self._delayed: list[tuple[float, int, str]] = []
        self._due: dict[str, float] = {}
        self._sequence = 0
        self._failures: dict[str, int] = {}
        self._tokens = float(BUCKET)
        self._filled_at = float("-inf")
        self.adds = 0
        self.retries = 0

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, key: str) -> bool:
        return key in self._dirty

    @property
    def working(self) -> int:
        return len(self._working)

    def running(self, now: float) -> list[float]:
        """For how many seconds each key at work has been."""
        return [now - since for since in self._working.values()]

    def add(self, key: str, now: float) -> None:
        """A key at work is taken up again once it is done."""
        if key in self._dirty:
            return
        self.adds += 1
        self._dirty[key] = now
        if key not in self._working:
            self._order.append(key)

    def add_after(self, key: str, seconds: float, now: float) -> None:
        if seconds <= 0:
            self.add(key, now)
            return
        at = now + seconds
        due = self._due.get(key)
        # The earlier of two wishes counts.
        if due is None or at < due:
            self._due[key] = at
            self._sequence += 1
            heappush(self._delayed, (at, self._sequence, key))

    def retry(self, key: str, now: float) -> float:
        """After a failure; returns the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        delay: float = max(min(self._first * 2 ** min(failures, 40), self._longest), self._bucket(now))
        self.add_after(key, delay, now)
        return delay

    def state(self, key: str, now: float) -> str:
        """For people."""
        if key in self._working:
            return "at work"
        if key in self._dirty:
            return "waiting for its turn"
        due = self._due.get(key)
        return "at rest" if due is None else f"due in {max(0.0, due - now):.3f} s"

    def failures(self, key: str) -> int:
        return self._failures.get(key, 0)

    def forget(self, key: str) -> None:
        """It went well: the next failure is a first one."""
        self._failures.pop(key, None)

    def next_at(self) -> float | None:
        """When a delayed key is due."""
        while self._delayed and self._due.get(self._delayed[0][2]) != self._delayed[0][0]:
            heappop(self._delayed)
        return self._delayed[0][0] if self._delayed else None

    def take(self, now: float) -> tuple[str, float] | None:
        """The next key and how long it has waited; it is at work until `done`."""
        while (at := self.next_at()) is not None and at <= now:
            key = heappop(self._delayed)[2]
            del self._due[key]
            self.add(key, now)
        if not self._order:
            return None
        key = self._order.popleft()
        self._working[key] = now
        return key, now - self._dirty.pop(key)

    def done(self, key: str) -> None:
        self._working.pop(key, None)
        if key in self._dirty:
            self._order.append(key)

    def _bucket(self, now: float) -> float:
        if self._filled_at != float("-inf"):
            self._tokens = min(float(BUCKET), self._tokens + (now - self._filled_at) * REFILL)
        self._filled_at = now
        self._tokens -= 1
        return 0.0 if self._tokens >= 0 else -self._tokens / REFILL
