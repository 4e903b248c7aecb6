"""Which pods may go, as far as their disruption budgets tell."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tiphys.machinery.selectors import Selector
from tiphys.machinery.tree import Obj
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

    def split(self, pods: Iterable[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Those that must not go if all of them were to, in this order, and the others."""
        left: dict[_Budget, int] = {}
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            violates = False
            # Pods without labels are in nobody's budget.
            for budget in self._of(pod.namespace) if pod.labels else ():
                if not budget.selector.matches(pod.labels) or pod.name in budget.gone:
                    continue
                left[budget] = left.get(budget, budget.allowed) - 1
                violates = violates or left[budget] < 0
            (violating if violates else others).append(pod)
        return violating, others


def _read(budget: Obj) -> _Budget:
    status = budget.get("status") or {}
    selector = selector_of((budget.get("spec") or {}).get("selector"))
    return _Budget(selector, status.get("disruptionsAllowed") or 0, frozenset(status.get("disruptedPods") or ()))
