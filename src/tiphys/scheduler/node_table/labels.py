"""Labels of nodes: one column a key, holding the number of the value (0: the node has no such label).

The same columns are the topologies: two nodes with the same number are in the same domain.
"""

from collections.abc import Callable, Mapping

import numpy as np

from tiphys.api.node_selector import LabelCondition, NodeAffinity, NodeTerm
from tiphys.machinery.selectors import Requirement
from tiphys.scheduler.node_table.arrays import Ids, Mask, grown

_KEPT = 2048


class _Key:
    """Values of one label key. Numbers of values that no node has any more are given out again."""

    __slots__ = ("column", "free", "names", "numbers", "uses")

    def __init__(self, capacity: int) -> None:
        self.column: Ids = np.zeros(capacity, np.int32)
        self.names: list[str] = [""]
        self.numbers: dict[str, int] = {}
        self.uses: list[int] = [0]
        self.free: list[int] = []

    def take(self, value: str) -> int:
        number = self.numbers.get(value)
        if number is None:
            number = self._fresh()
            self.numbers[value] = number
            self.names[number] = value
        self.uses[number] += 1
        return number

    def _fresh(self) -> int:
        if self.free:
            return self.free.pop()
        self.names.append("")
        self.uses.append(0)
        return len(self.names) - 1

    def drop(self, number: int) -> None:
        self.uses[number] -= 1
        if not self.uses[number]:
            del self.numbers[self.names[number]]
            self.free.append(number)


class LabelColumns:
    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._keys: dict[str, _Key] = {}
        self._nothing: Ids = np.zeros(capacity, np.int32)
        self.version = 0
        """Changes whenever an answer kept elsewhere could have become wrong."""
        self._masks: dict[object, Mask] = {}

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        self._nothing = np.zeros(capacity, np.int32)
        for key in self._keys.values():
            key.column = grown(key.column, capacity)
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._masks.clear()

    def set(self, row: int, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        if old == new:
            return
        for name, value in old.items():
            if new.get(name) != value:
                key = self._keys[name]
                key.drop(int(key.column[row]))
                key.column[row] = 0
        for name, value in new.items():
            if old.get(name) != value:
                found = self._keys.get(name)
                if found is None:
                    found = self._keys[name] = _Key(self._capacity)
                found.column[row] = found.take(value)
        for name in old:
            if name not in new and not self._keys[name].numbers:
                del self._keys[name]
        self._changed()

    def column(self, key: str) -> Ids:
        found = self._keys.get(key)
        return found.column if found is not None else self._nothing

    def domains(self, key: str) -> int:
        """One more than the highest number in the column."""
        found = self._keys.get(key)
        return len(found.names) if found is not None else 1

    def values(self, key: str) -> list[str]:
        """By number; the first stands for nodes without the label."""
        found = self._keys.get(key)
        return found.names if found is not None else [""]

    def matching(self, affinity: NodeAffinity, rows: Mapping[str, int]) -> Mask:
        """Of a pod's node selector and required node affinity."""
        return self._kept((affinity.selector, affinity.required), lambda: self._affinity(affinity, rows))

    def term(self, term: NodeTerm, rows: Mapping[str, int]) -> Mask:
        return self._kept(term, lambda: self._term(term, rows))

    def has_all(self, keys: frozenset[str]) -> Mask:
        def find() -> Mask:
            mask = np.ones(self._capacity, np.bool_)
            for key in keys:
                mask &= self.column(key) > 0
            return mask

        return self._kept(keys, find)

    def _kept(self, question: object, find: Callable[[], Mask]) -> Mask:
        mask = self._masks.get(question)
        if mask is None:
            if len(self._masks) >= _KEPT:
                self._masks.clear()
            mask = self._masks[question] = find()
        return mask

    def _affinity(self, affinity: NodeAffinity, rows: Mapping[str, int]) -> Mask:
        mask = np.ones(self._capacity, np.bool_)
        for key, value in affinity.selector:
            mask &= self._is(key, value)
        if affinity.required is not None:
            either = np.zeros(self._capacity, np.bool_)
            for term in affinity.required:
                either |= self._term(term, rows)
            mask &= either
        return mask

    def _term(self, term: NodeTerm, rows: Mapping[str, int]) -> Mask:
        if term.unsound:
            return np.zeros(self._capacity, np.bool_)
        mask = np.ones(self._capacity, np.bool_)
        for condition in term.labels:
            mask &= self._condition(condition)
        for name in term.names:
            named = np.zeros(self._capacity, np.bool_)
            if name.name in rows:
                named[rows[name.name]] = True
            mask &= named if name.equal else ~named
        return mask

    def _is(self, key: str, value: str) -> Mask:
        found = self._keys.get(key)
        number = found.numbers.get(value) if found is not None else None
        if found is None or number is None:
            return np.zeros(self._capacity, np.bool_)
        same: Mask = found.column == number
        return same

    def _condition(self, condition: LabelCondition) -> Mask:
        requirement: Requirement = condition.requirement()
        found = self._keys.get(condition.key)
        if found is None:
            return np.full(self._capacity, requirement.matches({}), np.bool_)
        # One answer a value, then one look-up a node.
        answers = np.array(
            [requirement.matches({}), *(requirement.matches({condition.key: name}) for name in found.names[1:])], np.bool_
        )
        told: Mask = answers[found.column]
        return told
