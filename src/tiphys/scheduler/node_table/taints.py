"""Taints of nodes as bits: each distinct taint has a number, each node a word (or a few) of them."""

from collections.abc import Iterable

import numpy as np

from tiphys.machinery.tree import Obj
from tiphys.scheduler.node_table.arrays import Mask, Numbers, Words, grown
from tiphys.scheduler.pod_info import Toleration

Taint = tuple[str, str, str]
HARD = frozenset(("NoSchedule", "NoExecute"))
SOFT = "PreferNoSchedule"
_BITS = 64
_KEPT = 256


def taints_of(node: Obj) -> tuple[Taint, ...]:
    listed = node.get("spec", {}).get("taints") or ()
    return tuple((each.get("key", ""), each.get("value") or "", each.get("effect") or "") for each in listed)


class TaintColumns:
    def __init__(self, capacity: int) -> None:
        self._numbers: dict[Taint, int] = {}
        self._uses: dict[Taint, int] = {}
        self._free: list[int] = []
        self._bits: Words = np.zeros((1, capacity), np.uint64)
        self._refused: dict[object, Mask | None] = {}
        self._soft: dict[object, Numbers | None] = {}

    def grow(self, capacity: int) -> None:
        self._bits = grown(self._bits, capacity)
        self._forget()

    def _forget(self) -> None:
        self._refused.clear()
        self._soft.clear()

    def set(self, row: int, old: Iterable[Taint], new: Iterable[Taint]) -> None:
        before, after = set(old), set(new)
        if before == after:
            return
        for taint in before - after:
            self._uses[taint] -= 1
            self._flip(row, self._numbers[taint])
            if not self._uses[taint]:
                del self._uses[taint]
                self._free.append(self._numbers.pop(taint))
        for taint in after - before:
            self._uses[taint] = self._uses.get(taint, 0) + 1
            self._flip(row, self._number(taint))
        self._forget()

    def _number(self, taint: Taint) -> int:
        number = self._numbers.get(taint)
        if number is None:
            number = self._free.pop() if self._free else len(self._numbers)
            self._numbers[taint] = number
            if number >= _BITS * len(self._bits):
                self._bits = np.vstack((self._bits, np.zeros((1, self._bits.shape[1]), np.uint64)))
        return number

    def _flip(self, row: int, number: int) -> None:
        self._bits[number // _BITS, row] ^= np.uint64(1 << number % _BITS)

    def refused(self, tolerations: tuple[Toleration, ...]) -> Mask | None:
        """Where a taint keeps such a pod away; None: nowhere."""
        if tolerations not in self._refused:
            if len(self._refused) >= _KEPT:
                self._refused.clear()
            words = self._words(taint for taint in self._numbers if taint[2] in HARD and not _tolerated(taint, tolerations))
            self._refused[tolerations] = None if words is None else ((self._bits & words[:, None]) != 0).any(axis=0)
        return self._refused[tolerations]

    def unwelcome(self, tolerations: tuple[Toleration, ...]) -> Numbers | None:
        """How many taints ask such a pod to stay away if it can; None: nowhere any."""
        if tolerations not in self._soft:
            if len(self._soft) >= _KEPT:
                self._soft.clear()
            words = self._words(taint for taint in self._numbers if taint[2] == SOFT and not _tolerated(taint, tolerations))
            self._soft[tolerations] = (
                None if words is None else np.bitwise_count(self._bits & words[:, None]).sum(axis=0, dtype=np.int64)
            )
        return self._soft[tolerations]

    def _words(self, taints: Iterable[Taint]) -> Words | None:
        found = [self._numbers[taint] for taint in taints]
        if not found:
            return None
        words = np.zeros(len(self._bits), np.uint64)
        for number in found:
            words[number // _BITS] |= np.uint64(1 << number % _BITS)
        return words


def _tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(each.tolerates(*taint) for each in tolerations)
