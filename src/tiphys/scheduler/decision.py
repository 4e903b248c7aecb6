"""The last decisions, plugin by plugin and node by node, kept small: bits for masks, bytes for scores."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiphys.scheduler.diagnosis import Stage
from tiphys.scheduler.node_table import Mask, Numbers

_MOST_BYTES = 8 * 1024 * 1024


@dataclass(slots=True)
class Decision:
    """`explain` spells it out."""

    pod: str
    uid: str
    at: float
    names: tuple[str, ...]
    """Of the nodes, by row; empty where none was."""
    node: str = ""
    message: str = ""
    attempts: int = 0
    waited: dict[str, float] = field(default_factory=dict)
    """Seconds in each place of the queue, over all attempts."""
    woken_by: str = ""
    """What happened that it was tried again."""
    refusals: list[tuple[str, str, NDArray[np.uint8]]] = field(default_factory=list)
    """(plugin, words, bits of rows)."""
    scores: list[tuple[str, int, NDArray[np.int8]]] = field(default_factory=list)
    """(plugin, weight, score of each row); a plugin to which all were alike is not here."""
    feasible: NDArray[np.uint8] | None = None

    def refuse(self, stages: Sequence[Stage]) -> None:
        for stage in stages:
            for reason in stage.reasons:
                rows = reason.rows & stage.rows
                if rows.any():
                    self.refusals.append((stage.plugin, reason.words, np.packbits(rows)))

    def score(self, plugin: str, weight: int, scores: Numbers) -> None:
        self.scores.append((plugin, weight, scores.astype(np.int8)))

    def after(self, attempts: int, waited: dict[str, float], woken_by: str) -> "Decision":
        """The same, with what came before it in the queue."""
        self.attempts, self.waited, self.woken_by = attempts, dict(waited), woken_by
        return self

    def accept(self, feasible: Mask) -> None:
        self.feasible = np.packbits(feasible)

    @property
    def weight_in_bytes(self) -> int:
        return 200 + sum(bits.nbytes + 80 for *_, bits in self.refusals) + sum(each.nbytes + 80 for *_, each in self.scores)

    def refused_rows(self) -> Iterator[tuple[str, str, NDArray[np.intp]]]:
        """(plugin, words, rows): a node is with the first plugin that refused it."""
        size = len(self.names)
        for plugin, words, bits in self.refusals:
            yield plugin, words, np.flatnonzero(np.unpackbits(bits, count=size))

    def totals(self) -> tuple[NDArray[np.intp], Numbers]:
        """Rows of the nodes that passed every filter, and the sum of each one's scores."""
        if self.feasible is None:
            return np.zeros(0, np.intp), np.zeros(0, np.int64)
        rows = np.flatnonzero(np.unpackbits(self.feasible, count=len(self.names)))
        total = np.zeros(len(rows), np.int64)
        for _, weight, scores in self.scores:
            total += scores[rows].astype(np.int64) * weight
        return rows, total

    def explain(self) -> dict[str, Any]:
        """For people and programs: nodes by name, with what each plugin said of them."""
        nodes: dict[str, dict[str, Any]] = {name: {"refusedBy": [], "scores": {}} for name in self.names if name}
        size = len(self.names)
        for plugin, words, rows in self.refused_rows():
            for row in rows:
                nodes[self.names[row]]["refusedBy"].append({"plugin": plugin, "reason": words})
        if self.feasible is not None:
            for row in np.flatnonzero(np.unpackbits(self.feasible, count=size)):
                told = nodes[self.names[row]]
                told["scores"] = {plugin: int(scores[row]) * weight for plugin, weight, scores in self.scores}
                told["total"] = sum(told["scores"].values())
        return {"pod": self.pod, "uid": self.uid, "at": self.at, "node": self.node, "message": self.message, "nodes": nodes}


class Decisions:
    """One a pod; the oldest go when they take too much room."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._kept: OrderedDict[str, Decision] = OrderedDict()
        self._most = most_bytes
        self._bytes = 0

    def keep(self, decision: Decision) -> None:
        old = self._kept.pop(decision.pod, None)
        if old is not None:
            self._bytes -= old.weight_in_bytes
        self._kept[decision.pod] = decision
        self._bytes += decision.weight_in_bytes
        while self._bytes > self._most:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= gone.weight_in_bytes

    def of(self, pod: str) -> Decision | None:
        """By namespace/name."""
        return self._kept.get(pod)
