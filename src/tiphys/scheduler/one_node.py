"""For plugins that would rather judge one node at a time: a user's own, in a few lines."""

import numpy as np

from tiphys.machinery.tree import Obj
from tiphys.scheduler.framework import Base, Reason, Refused
from tiphys.scheduler.node_table import Nodes, Numbers
from tiphys.scheduler.pod_info import PodInfo


class Node:
    """A node as such a plugin sees it."""

    __slots__ = ("_nodes", "_position", "name", "obj")

    def __init__(self, nodes: Nodes, position: int, name: str) -> None:
        self._nodes = nodes
        self._position = position
        self.name = name
        obj = nodes.table.node(name)
        assert obj is not None
        self.obj: Obj = obj

    @property
    def labels(self) -> dict[str, str]:
        return self.obj["metadata"].get("labels") or {}

    @property
    def pods(self) -> list[PodInfo]:
        return list(self._nodes.pods(self._position))

    def free(self, resource: str) -> int:
        """Thousandths of CPU, whole units of everything else."""
        return int(self._nodes.left(resource)[self._position]) if resource in self._nodes.table.resources else 0


class Rejected:
    """A node cannot take the pod."""

    __slots__ = ("preemption_helps", "words")

    def __init__(self, words: str, *, preemption_helps: bool = True) -> None:
        self.words = words
        self.preemption_helps = preemption_helps


class OneNodePlugin(Base):
    """Override `judge`, `rate`, or both."""

    imagines = True

    def judge(self, pod: PodInfo, node: Node) -> Rejected | None:  # noqa: ARG002
        return None

    def rate(self, pod: PodInfo, node: Node) -> int:  # noqa: ARG002
        """From 0 to 100."""
        return 0

    def does(self, point: str) -> bool:
        """Whether it has something to say when nodes are filtered, or when they are scored."""
        method, usual = ("judge", OneNodePlugin.judge) if point == "filter" else ("rate", OneNodePlugin.rate)
        return getattr(type(self), method) is not usual

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        found: dict[tuple[str, bool], list[int]] = {}
        for position, name in nodes.named():
            verdict = self.judge(pod, Node(nodes, position, name))
            if verdict is not None:
                found.setdefault((verdict.words, verdict.preemption_helps), []).append(position)
        if not found:
            return None
        every, reasons = nodes.nothing(), []
        for (words, helps), positions in found.items():
            rows = nodes.nothing()
            rows[positions] = True
            every |= rows
            reasons.append(Reason(rows, words, helps))
        return Refused(every, tuple(reasons))

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        rated = np.zeros(nodes.count, np.int64)
        for position, name in nodes.named():
            if nodes.feasible[position]:
                rated[position] = self.rate(pod, Node(nodes, position, name))
        return rated
