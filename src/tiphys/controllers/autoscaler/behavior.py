"""How much of what the metrics ask for may be done now: bounds, speed, and the memory of what was asked for lately."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil

from tiphys.controllers.autoscaler.replicas import MOST
from tiphys.machinery.tree import Obj

REMEMBERED = 3600.0
"""The longest stabilization window there may be."""
UP_FACTOR = 2.0
UP_LEAST = 4
STEADY = ("ReadyForNewScale", "recommended size matches current size")
WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_UP_LIMIT = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_DOWN_LIMIT = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_HIGHEST = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_LOWEST = ("ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation")

Told = tuple[str, str]
"""Reason and message of a condition."""


@dataclass(frozen=True, slots=True)
class Entry:
    at: float
    count: int


@dataclass(frozen=True, slots=True)
class Past:
    """Of one autoscaler, oldest first. It does not outlive the process."""

    wishes: tuple[Entry, ...] = ()
    """Before anything was done about them."""
    added: tuple[Entry, ...] = ()
    removed: tuple[Entry, ...] = ()

    def begun(self, replicas: int, now: float) -> "Past":
        """What the target had when it was first seen counts as the first wish."""
        return self if self.wishes else replace(self, wishes=(Entry(now, replicas),))

    def wished(self, replicas: int, now: float, window: float) -> "Past":
        return replace(self, wishes=(*_since(self.wishes, now - max(window, REMEMBERED)), Entry(now, replicas)))

    def scaled(self, before: int, after: int, now: float) -> "Past":
        added, removed = (tuple(_since(each, now - REMEMBERED)) for each in (self.added, self.removed))
        if after > before:
            added = (*added, Entry(now, after - before))
        else:
            removed = (*removed, Entry(now, before - after))
        return replace(self, added=added, removed=removed)


@dataclass(frozen=True, slots=True)
class Bounds:
    current: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Allowed:
    replicas: int
    able: Told
    limited: bool
    limit: Told
    past: Past


def without_rules(wish: int, bounds: Bounds, past: Past, window: float, now: float) -> Allowed:
    """For an autoscaler that says nothing about its behavior."""
    steady = max((wish, *(each.count for each in past.wishes if each.at >= now - window)))
    fastest = max(int(UP_FACTOR * bounds.current), UP_LEAST)
    most, limit = (fastest, _UP_LIMIT) if bounds.most > fastest else (bounds.most, _TOO_MANY)
    if steady < bounds.least:
        replicas, limit = bounds.least, _TOO_FEW
    elif steady > most:
        replicas = most
    else:
        replicas, limit = steady, WITHIN
    able = _HIGHEST if steady != wish else STEADY
    return Allowed(replicas, able, replicas != steady, limit, past.wished(wish, now, window))


def with_rules(wish: int, bounds: Bounds, behavior: Obj, past: Past, window: float, now: float) -> Allowed:
    """`window`: how far back wishes count when shrinking, unless the behavior says so itself."""
    up, down = behavior["scaleUp"], behavior["scaleDown"]
    down_window = down.get("stabilizationWindowSeconds")
    down_window = window if down_window is None else down_window
    lowest = min((wish, *_recent(past.wishes, now - up["stabilizationWindowSeconds"])))
    highest = max((wish, *_recent(past.wishes, now - down_window)))
    steady = min(max(bounds.current, lowest), highest)
    told = _LOWEST if wish >= bounds.current else _HIGHEST
    replicas, limit = _at_speed(steady, bounds, up, down, past, now)
    able = told if steady != wish else STEADY
    return Allowed(replicas, able, replicas != steady, limit, past.wished(wish, now, down_window))


def _at_speed(steady: int, bounds: Bounds, up: Obj, down: Obj, past: Past, now: float) -> tuple[int, Told]:
    current = bounds.current
    if steady > current:
        # What was added in this period already may leave nothing; that is no reason to shrink.
        fastest = max(_limit(current, up, past, now, growing=True), current)
        most, limit = (fastest, _UP_LIMIT) if bounds.most > fastest else (bounds.most, _TOO_MANY)
        if steady > most:
            return most, limit
    elif steady < current:
        slowest = min(_limit(current, down, past, now, growing=False), current)
        least, limit = (slowest, _DOWN_LIMIT) if bounds.least < slowest else (bounds.least, _TOO_FEW)
        if steady < least:
            return least, limit
    return steady, WITHIN


def _limit(current: int, rules: Obj, past: Past, now: float, *, growing: bool) -> int:
    """How far the policies let it go at this moment."""
    choice = rules["selectPolicy"]
    if choice == "Disabled":
        return current
    limits = [_policy_limit(current, policy, past, now, growing) for policy in rules.get("policies") or ()]
    farthest = choice != "Min"
    pick: Callable[[Iterable[int]], int] = max if farthest == growing else min
    none = MOST if pick is min else -MOST - 1
    return pick((none, *limits))


def _policy_limit(current: int, policy: Obj, past: Past, now: float, growing: bool) -> int:
    since = now - policy["periodSeconds"]
    began: int = current - sum(_recent(past.added, since)) + sum(_recent(past.removed, since))
    value: int = policy["value"]
    if policy["type"] == "Pods":
        return began + value if growing else began - value
    # Rounded in its own direction, so that a small share still moves.
    return ceil(began * (1 + value / 100)) if growing else int(began * (1 - value / 100))


def _recent(entries: Iterable[Entry], since: float) -> list[int]:
    return [each.count for each in entries if each.at > since]


def _since(entries: Iterable[Entry], since: float) -> list[Entry]:
    return [each for each in entries if each.at >= since]
