"""What all Services together put into the kernel, and what has changed of it since it was written last. Core.

Every Service contributes a part: chains and sets of its own, and elements of maps that all share. Parts come and go one by
one, so the cost of a change is that of the Services that changed, however many there are. What an element is depends on the
backend: a key of a verdict map of nftables, a rule in a shared chain of iptables, a line of ipvsadm.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

_V = TypeVar("_V")

Rules = tuple[str, ...]

Key = tuple[str, str]
"""Namespace and name of a Service."""

BASE: Key = ("", "")
"""The part that is there without any Service."""


@dataclass(frozen=True, slots=True)
class Container:
    """A set or a map, whose elements are written apart from it."""

    kind: str
    """set or map."""
    definition: str


@dataclass(frozen=True, slots=True)
class Part:
    chains: Mapping[str, Rules] = field(default_factory=dict)
    """What is called the same in several parts is the same, and is there as long as one of them is."""
    containers: Mapping[str, Container] = field(default_factory=dict)
    elements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By container: key to value (maps), or to nothing (sets)."""


EMPTY = Part()


@dataclass(slots=True)
class Delta:
    """Of everything that was touched: what was, and what is. None: it was or is not there."""

    chains: dict[str, tuple[Rules | None, Rules | None]] = field(default_factory=dict)
    containers: dict[str, tuple[Container | None, Container | None]] = field(default_factory=dict)
    elements: dict[str, dict[str, tuple[str | None, str | None]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.chains or self.containers or self.elements)


class Ledger:
    def __init__(self) -> None:
        self._parts: dict[Key, Part] = {}
        self._users: Counter[str] = Counter()
        """How many parts have a chain of that name."""
        self._elements: dict[str, dict[str, tuple[str, Key]]] = {}
        self._claims: dict[tuple[str, str], dict[Key, str]] = {}
        """Only of those elements that more than one Service wants; the first of them, by name, has it."""
        self._delta = Delta()

    def put(self, key: Key, part: Part) -> None:
        """An empty part takes away what was there."""
        before = self._parts.pop(key, EMPTY)
        if part is not EMPTY:
            self._parts[key] = part
        self._chains(before.chains, part.chains)
        _differ(self._delta.containers, before.containers, part.containers)
        for container in {**before.elements, **part.elements}:
            old, new = before.elements.get(container, {}), part.elements.get(container, {})
            for name in old:
                if name not in new:
                    self._release(key, container, name)
            for name, value in new.items():
                if old.get(name) != value:
                    self._claim(key, container, name, value)

    def _chains(self, before: Mapping[str, Rules], after: Mapping[str, Rules]) -> None:
        users, delta = self._users, self._delta.chains
        for name in before:
            if name not in after:
                users[name] -= 1
                if not users[name]:
                    del users[name]
                    _note(delta, name, before[name], None)
        for name, rules in after.items():
            known = before.get(name)
            if known is None:
                users[name] += 1
                if users[name] == 1:
                    _note(delta, name, None, rules)
            elif known != rules:
                _note(delta, name, known, rules)

    def keys(self) -> set[Key]:
        return self._parts.keys() - {BASE}

    def count(self, prefix: str) -> int:
        """Rules and elements, in chains and containers of such names."""
        chains = (rules for part in self._parts.values() for name, rules in part.chains.items() if name.startswith(prefix))
        elements = (each for name, each in self._elements.items() if name.startswith(prefix))
        return sum(map(len, chains)) + sum(map(len, elements))

    def changes(self) -> Delta:
        """Since the last call; what came back to what it was is no change."""
        found, self._delta = self._delta, Delta()
        return _without_returns(found)

    def everything(self) -> Delta:
        """As if nothing had been there; what has changed up to now is part of it."""
        self._delta = Delta()
        found = Delta()
        for part in self._parts.values():
            found.chains.update((name, (None, rules)) for name, rules in part.chains.items())
            found.containers.update((name, (None, container)) for name, container in part.containers.items())
        for container, elements in self._elements.items():
            if elements:
                found.elements[container] = {name: (None, value) for name, (value, _) in elements.items()}
        return found

    def _claim(self, key: Key, container: str, name: str, value: str) -> None:
        known = self._elements.get(container, {}).get(name)
        if known is not None and known[1] != key:
            claims = self._claims.setdefault((container, name), {known[1]: known[0]})
            claims[key] = value
            key = min(claims)
            value = claims[key]
        elif known is not None and (container, name) in self._claims:
            self._claims[container, name][key] = value
        self._set(container, name, (value, key))

    def _release(self, key: Key, container: str, name: str) -> None:
        claims = self._claims.get((container, name))
        if claims is None:
            self._set(container, name, None)
            return
        del claims[key]
        owner = min(claims)
        self._set(container, name, (claims[owner], owner))
        if len(claims) == 1:
            del self._claims[container, name]

    def _set(self, container: str, name: str, now: tuple[str, Key] | None) -> None:
        elements = self._elements.setdefault(container, {})
        before = elements.get(name)
        if now is None:
            elements.pop(name, None)
        else:
            elements[name] = now
        _note(self._delta.elements.setdefault(container, {}), name, before and before[0], now and now[0])


def _differ(delta: dict[str, tuple[_V | None, _V | None]], before: Mapping[str, _V], after: Mapping[str, _V]) -> None:
    for name, value in before.items():
        if name not in after:
            _note(delta, name, value, None)
    for name, value in after.items():
        if before.get(name) != value:
            _note(delta, name, before.get(name), value)


def _note(delta: dict[str, tuple[_V | None, _V | None]], name: str, before: _V | None, after: _V | None) -> None:
    first = delta[name][0] if name in delta else before
    delta[name] = (first, after)


def _without_returns(delta: Delta) -> Delta:
    elements = {name: _real(each) for name, each in delta.elements.items()}
    return Delta(_real(delta.chains), _real(delta.containers), {name: each for name, each in elements.items() if each})


def _real(changes: dict[str, tuple[_V | None, _V | None]]) -> dict[str, tuple[_V | None, _V | None]]:
    return {name: change for name, change in changes.items() if change[0] != change[1]}
