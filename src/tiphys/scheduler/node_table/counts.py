"""How many pods on each node match a selector. A question that has been asked once is kept answered, pod by pod."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiphys.machinery.selectors import Selector
from tiphys.scheduler.affinity import AffinityTerm, PodAffinity
from tiphys.scheduler.node_table.arrays import Numbers, grown
from tiphys.scheduler.node_table.pods import PodColumns
from tiphys.scheduler.pod_info import PodInfo

_MOST = 4096
"""Questions kept; the longest unasked goes first."""

Group = tuple[frozenset[str], Selector]
_Token = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class CountKey:
    """Pods that are in the namespaces and match the selector of every group."""

    groups: tuple[Group, ...]
    living: bool = False
    """Pods on their way out do not count."""

    def counts(self, pod: PodInfo) -> bool:
        if self.living and pod.deleting:
            return False
        return all(pod.namespace in namespaces and selector.matches(pod.labels) for namespaces, selector in self.groups)


def _token(selector: Selector) -> _Token:
    """A label that every matching pod has, by which a pod finds the selectors that may concern it."""
    for each in selector.requirements:
        value = selector.exact(each.key)
        if value is not None:
            return each.key, value
    return None


def _tokens(pod: PodInfo) -> Iterator[_Token]:
    yield None
    yield from pod.labels.items()


class SelectorCounts:
    """Answers to CountKeys."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[CountKey, Numbers] = {}
        self._by_token: dict[tuple[str, _Token], list[CountKey]] = {}

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for key, column in self._columns.items():
            self._columns[key] = grown(column, capacity)

    def of(self, key: CountKey, present: PodColumns) -> Numbers:
        """`present` is read only if the question is new."""
        column = self._columns.pop(key, None)
        if column is None:
            column = present.tally(key, self._capacity)
            self._admit(key)
        self._columns[key] = column  # last: asked most recently
        return column

    def _admit(self, key: CountKey) -> None:
        if len(self._columns) >= _MOST:
            oldest = next(iter(self._columns))
            del self._columns[oldest]
            for place in self._places(oldest):
                self._by_token[place].remove(oldest)
                if not self._by_token[place]:
                    del self._by_token[place]
        for place in self._places(key):
            self._by_token.setdefault(place, []).append(key)

    @staticmethod
    def _places(key: CountKey) -> list[tuple[str, _Token]]:
        namespaces, selector = key.groups[0]
        token = _token(selector)
        return [(namespace, token) for namespace in namespaces]

    def change(self, pod: PodInfo, row: int, by: int) -> None:
        if not self._columns:
            return
        for token in _tokens(pod):
            for key in self._by_token.get((pod.namespace, token), ()):
                if key.counts(pod):
                    self._columns[key][row] += by


@dataclass(frozen=True, slots=True)
class Carries:
    """How often a pod has this among what it must be kept away from."""

    term: AffinityTerm

    def counts(self, pod: PodInfo) -> int:
        return pod.affinity.anti_required.count(self.term)


class TermCount:
    """How many pods on each node carry a term (of one kind and weight)."""

    __slots__ = ("column", "term", "total", "weight")

    def __init__(self, term: AffinityTerm, weight: int, capacity: int) -> None:
        self.term = term
        self.weight = weight
        self.column: Numbers = np.zeros(capacity, np.int64)
        self.total = 0


_TermKey = tuple[AffinityTerm, int]


class TermCounts:
    """Terms that pods on the nodes carry, found by the labels of a pod that they may concern."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._terms: dict[_TermKey, TermCount] = {}
        self._by_token: dict[_Token, list[TermCount]] = {}

    def __bool__(self) -> bool:
        return bool(self._terms)

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for each in self._terms.values():
            each.column = grown(each.column, capacity)

    def change(self, term: AffinityTerm, weight: int, row: int, by: int) -> None:
        key = (term, weight)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = TermCount(term, weight, self._capacity)
            self._by_token.setdefault(_token(term.selector), []).append(found)
        found.column[row] += by
        found.total += by
        if not found.total:
            del self._terms[key]
            self._by_token[_token(term.selector)].remove(found)

    def concerning(self, pod: PodInfo, namespace_labels: dict[str, str]) -> Iterator[TermCount]:
        for token in _tokens(pod):
            for each in self._by_token.get(token, ()):
                if each.term.matches(pod.namespace, pod.labels, namespace_labels):
                    yield each


class CarriedTerms:
    """The four kinds of terms of the pods on the nodes."""

    def __init__(self, capacity: int) -> None:
        self.anti_required = TermCounts(capacity)
        self.required = TermCounts(capacity)
        self.weighted = TermCounts(capacity)
        """Preferred ones; of anti-affinity with their weight negated."""

    def grow(self, capacity: int) -> None:
        for each in (self.anti_required, self.required, self.weighted):
            each.grow(capacity)

    def change(self, affinity: PodAffinity, row: int, by: int) -> None:
        for term in affinity.anti_required:
            self.anti_required.change(term, 1, row, by)
        for term in affinity.required:
            self.required.change(term, 1, row, by)
        for preferred in affinity.preferred:
            self.weighted.change(preferred.term, preferred.weight, row, by)
        for preferred in affinity.anti_preferred:
            self.weighted.change(preferred.term, -preferred.weight, row, by)
