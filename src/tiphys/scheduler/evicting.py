"""Whom to evict from many nodes at once: each is thought of without its lower pods, and round by round they come back."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiphys.scheduler.budgets import Budgets
from tiphys.scheduler.filtering import Filtering, Together
from tiphys.scheduler.node_table import EACH, Amount, Mask, NodeTable, Numbers, Rows, Slots, Worlds
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.victims import Several

NO_VICTIMS = "No preemption victims found for incoming pod"
_AT_LEAST = 64
"""So many nodes are thought of at once, even if fewer candidates are wanted."""


@dataclass(frozen=True, slots=True)
class Needless:
    """On these the pod would fit with all pods there: it was not for their sake that they were refused."""

    nodes: tuple[str, ...]


Found = Several | Needless | Counter[str]
"""Candidates, or what stands in the way on how many nodes."""


class Evicting:
    def __init__(self, table: NodeTable, filtering: Filtering, budgets: Budgets) -> None:
        self._table = table
        self._filtering = filtering
        self._budgets = budgets

    def each(self, pod: PodInfo, rows: Rows, together: Together, enough: int) -> Iterator[Found]:
        """Of these nodes, in this order, who would have to go, or what would stand in the way even so. As many are thought
        of at once as are wanted: whoever asks has them by then, if there are any that would do without harm."""
        memory, found, step = self._table.memory(), 0, max(enough, _AT_LEAST)
        while len(rows):
            some, rows = np.split(rows, [step])
            step *= 2  # if most of these will not do, it is as likely of the next
            worlds = self._table.without_lower(pod.priority, some, together.coming, memory)
            alive: Mask = np.any(worlds.slots >= 0, axis=1)
            yield +Counter({NO_VICTIMS: int(np.count_nonzero(~alive))})
            for stage in self._filtering.imagined(pod, worlds, alive):
                yield +stage.words()
            able = np.flatnonzero(alive)
            while len(able):
                some, able = np.split(able, [max(enough - found, _AT_LEAST)])
                found += len(some)
                yield from self._victims(pod, worlds.take(some), together)

    def _victims(self, pod: PodInfo, worlds: Worlds, together: Together) -> Iterator[Found]:
        violating = self._budgets.violating(worlds)
        _Reprieve(pod, worlds, self._filtering, together).all(_turns(worlds.slots, violating))
        names, away, placed = self._table.names, worlds.away, self._table.placed
        many = away.sum(axis=1)
        if not many.all():
            yield Needless(tuple(names[row] for row in worlds.rows[many == 0].tolist()))
        left = many > 0
        if not left.any():
            return
        many, rows, slots = many[left], worlds.rows[left], worlds.slots[away]
        violations = (away if violating is None else away & violating).sum(axis=1)[left] * (violating is not None)
        first = np.cumsum(many) - many
        total = np.add.reduceat(placed.priority[slots], first) + 2**31 * many
        losses = np.stack((violations, placed.priority[slots[first]], total, many, -placed.started[slots[first]]), axis=1)
        pods = [each for slot in slots.tolist() if (each := placed.at[slot]) is not None]
        yield Several([names[row] for row in rows.tolist()], pods, many.tolist(), violations, losses)


def _turns(slots: Slots, violating: Mask | None) -> Rows:
    """In which order the pods of each node come back: first those whose budgets forbid to evict them, the important before
    others; -1 where all have had their turn."""
    places = np.where(slots >= 0, np.arange(slots.shape[1]), -1)
    if violating is None:
        return places
    order = np.argsort(np.where(slots < 0, 2, ~violating), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


class _Reprieve:
    def __init__(self, pod: PodInfo, worlds: Worlds, filtering: Filtering, together: Together) -> None:
        self._pod = pod
        self._worlds = worlds
        self._filtering = filtering
        self._asked = together.asked
        self._sums: list[tuple[Numbers, Numbers]] = []
        """What is left on each node with the pod on it, and what every pod takes of that."""
        nodes = filtering.nodes(worlds)
        for name in together.sums:
            question, own = (EACH, 1) if name == "pods" else (Amount(name), pod.requests.get(name, 0))
            self._sums.append((nodes.left(name) - own, worlds.values(question)))

    def all(self, turns: Rows) -> None:
        for places in turns.T:
            at = np.flatnonzero(places >= 0)
            self._come(at, places[at])

    def _come(self, at: Rows, places: Rows) -> None:
        """One pod a node; those that cannot stay go again."""
        fits = np.ones(len(at), np.bool_)
        for left, taken in self._sums:
            fits &= left[at] >= taken[at, places]
        at, places = at[fits], places[fits]
        self._worlds.bring_back(at, places)
        if self._asked:
            alive = np.zeros(len(self._worlds.rows), np.bool_)
            alive[at] = True
            self._filtering.imagined(self._pod, self._worlds, alive, self._asked)
            stays = alive[at]
            self._worlds.take_away(at[~stays], places[~stays])
            at, places = at[stays], places[stays]
        for left, taken in self._sums:
            left[at] -= taken[at, places]
