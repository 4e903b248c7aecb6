"""What watchers have not read yet, each of them and all together: so much memory may wait for slow readers and no more."""

from typing import Final

ALONE: Final = 16 * 1024 * 1024
"""A watcher with this much unread is dropped; it will list again and catch up."""
TOGETHER: Final = 128 * 1024 * 1024
"""With this much unread by all of them, whoever adds to it is dropped."""
SLOW: Final = 256 * 1024
"""Less than this is on its way, and does not count: to be behind is to have more."""


class Unread:
    __slots__ = ("_together", "total")

    def __init__(self, together: int = TOGETHER) -> None:
        self._together = together
        self.total = 0

    def reader(self) -> "Reader":
        return Reader(self)

    def takes(self, more: int) -> bool:
        self.total += more
        return self.total <= self._together


class Reader:
    """One watcher. Say `left` when it ends."""

    __slots__ = ("_all", "_counted")

    def __init__(self, everybody: Unread) -> None:
        self._all = everybody
        self._counted = 0

    def keeps_up(self, pending: int) -> bool:
        """Whether it may stay, with so much that it has not read."""
        if pending <= SLOW and not self._counted:
            return True
        counted = pending if pending > SLOW else 0
        fits = self._all.takes(counted - self._counted)
        self._counted = counted
        return not counted or (fits and pending <= ALONE)

    def left(self) -> None:
        self._all.takes(-self._counted)
        self._counted = 0
