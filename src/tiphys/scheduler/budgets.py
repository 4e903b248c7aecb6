"""Which pods may go, as far as their disruption budgets tell."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tiphys.machinery.selectors import Selector
from tiphys.machinery.tree import Obj
from tiphys.scheduler.node_table import Mask, Worlds
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.selecting import selector_of


@dataclass(frozen=True, slots=True, eq=False)
class _Budget:
    selector: Selector
    allowed: int
    gone: frozenset[str]
    """Pods whose eviction it has allowed already."""


class Budgets:
    """As they are while one pod looks for room: each is read once, however many nodes are tried."""

    def __init__(self, budgets: Mapping[str, Mapping[str, Obj]]) -> None:
        """By namespace and name."""
        self._objects = budgets
        self._read: dict[str, list[_Budget]] = {}

    def _of(self, namespace: str) -> list[_Budget]:
        found = self._read.get(namespace)
        if found is None:
            every = map(_read, self._objects.get(namespace, {}).values())
            found = self._read[namespace] = [each for each in every if not each.selector.empty]
        return found

    def violating(self, worlds: Worlds) -> Mask | None:
        """The same of many nodes: which of the pods that are thought away must not go. None: all of them may."""
        if not any(self._objects.values()):
            return None
        by_kind = {kind: self._matching(pod) for kind, pod in worlds.examples()}
        budgets = list(dict.fromkeys(each for matching in by_kind.values() for each in matching))
        if not budgets:
            return None
        numbers = {each: number for number, each in enumerate(budgets)}
        table = np.full((max(map(len, by_kind.values())), max(by_kind) + 1), -1)
        for kind, matching in by_kind.items():
            table[: len(matching), kind] = [numbers[each] for each in matching]
        found = np.zeros(worlds.slots.shape, np.bool_)
        budget = table[:, worlds.kinds]
        _, node, place = np.nonzero(budget >= 0)
        budget = budget[budget >= 0]
        if any(each.gone for each in budgets):
            pods = [worlds.pod(*where) for where in zip(node.tolist(), place.tolist(), strict=True)]
            left = [pod.name not in budgets[number].gone for pod, number in zip(pods, budget.tolist(), strict=True)]
            node, place, budget = node[left], place[left], budget[left]
        # Of the pods of one node that are in one budget, the first may go until it allows no more.
        order = np.lexsort((place, budget, node))
        group = (node * len(budgets) + budget)[order]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        over = order[rank >= np.array([each.allowed for each in budgets])[budget[order]]]
        found[node[over], place[over]] = True
        return found

    def _matching(self, pod: PodInfo) -> list[_Budget]:
        """Pods without labels are in nobody's budget."""
        return [each for each in self._of(pod.namespace) if each.selector.matches(pod.labels)] if pod.labels else []

    def split(self, pods: Iterable[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Those that must not go if all of them were to, in this order, and the others."""
        left: dict[_Budget, int] = {}
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            violates = False
            for budget in self._matching(pod):
                if pod.name in budget.gone:
                    continue
                left[budget] = left.get(budget, budget.allowed) - 1
                violates = violates or left[budget] < 0
            (violating if violates else others).append(pod)
        return violating, others


def _read(budget: Obj) -> _Budget:
    status = budget.get("status") or {}
    selector = selector_of((budget.get("spec") or {}).get("selector"))
    return _Budget(selector, status.get("disruptionsAllowed") or 0, frozenset(status.get("disruptedPods") or ()))
