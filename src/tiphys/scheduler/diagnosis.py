"""Why no node can take a pod: which plugin refused which nodes, and the sentence that people read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiphys.scheduler.framework import Reason
from tiphys.scheduler.node_table import Mask

NO_NODES = "no nodes available to schedule pods"
NOT_NARROWED = "not found"
"""What upstream says where a plugin is asked what it could give back that has not come to look at the pod."""
NOT_HELPFUL = "Preemption is not helpful for scheduling"
_LONGEST_NOTE = 1024


@dataclass(frozen=True, slots=True)
class Stage:
    """One plugin's refusals, of nodes that no plugin before it had refused."""

    plugin: str
    rows: Mask
    reasons: tuple[Reason, ...]

    def words(self) -> Counter[str]:
        """Several reasons of a plugin may be told in the same words."""
        told: Counter[str] = Counter()
        for each in self.reasons:
            if each.words:
                told[each.words] += int(np.count_nonzero(each.rows & self.rows))
        return told

    def hopeless(self) -> Mask:
        """Nodes that stay refused however many pods are evicted."""
        lost = np.zeros(len(self.rows), np.bool_)
        for each in self.reasons:
            if each.preemption_helps is True:
                continue
            lost |= each.rows if each.preemption_helps is False else each.rows & ~each.preemption_helps
        return lost & self.rows


def histogram(stages: Sequence[Stage]) -> Counter[str]:
    total: Counter[str] = Counter()
    for stage in stages:
        total += stage.words()
    return total


def sentence(nodes: int, reasons: Counter[str]) -> str:
    """upstream pkg/scheduler/framework/types.go:FitError."""
    told = ", ".join(sorted(f"{count} {words}" for words, count in reasons.items()))
    return f"0/{nodes} nodes are available:" + (f" {told}." if told else "")


def of_the_pod(nodes: int, words: str) -> str:
    """Where the pod itself is at fault, whatever the node."""
    return f"0/{nodes} nodes are available: {words}."


def note(message: str) -> str:
    """As long as an event may be."""
    return message if len(message) <= _LONGEST_NOTE else message[: _LONGEST_NOTE - 4] + " ..."
