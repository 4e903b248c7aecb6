"""Room for a pod by evicting others of lower priority: which node, and who has to go."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tiphys.api.core.pods import facts
from tiphys.scheduler import diagnosis
from tiphys.scheduler.budgets import Budgets
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.diagnosis import NOT_HELPFUL, Stage
from tiphys.scheduler.evicting import NO_VICTIMS, Evicting, Found, Needless
from tiphys.scheduler.filtering import Filtering
from tiphys.scheduler.framework import Effort
from tiphys.scheduler.node_table import Mask, NodeTable, Rows
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.victims import Candidates, Several, Victims, importance


@dataclass(frozen=True, slots=True)
class Attempt:
    victims: Victims | None = None
    """The best of the candidates."""
    candidates: Iterable[Victims] = ()
    message: str = ""
    keeps_nomination: bool = False
    failed: bool = False
    """The message is of something that should not be."""


class Preemption:
    def __init__(
        self, table: NodeTable, filtering: Filtering, cluster: Cluster, choose: Callable[[int], int], effort: Effort
    ) -> None:
        self._effort = effort
        self._table = table
        self._filtering = filtering
        self._cluster = cluster
        self._choose = choose

    def attempt(self, pod: PodInfo, stages: Sequence[Stage]) -> Attempt:
        if not pod.preempts:
            return Attempt(message="not eligible due to preemptionPolicy=Never.", keeps_nomination=True)
        helped = np.zeros(self._table.size, np.bool_)
        for stage in stages:
            helped |= stage.rows & ~stage.hopeless()
        if self._waits(pod, helped):
            told = "not eligible due to a terminating pod on the nominated node."
            return Attempt(message=told, keeps_nomination=True)
        rows = np.flatnonzero(helped)
        if not len(rows):
            told = diagnosis.sentence(self._table.count, Counter({NOT_HELPFUL: self._table.count}))
            return Attempt(message=told)
        return self._among(pod, rows)

    def _waits(self, pod: PodInfo, helped: Mask) -> bool:
        """Whether victims of an earlier attempt are still on their way out."""
        row = self._table.rows.get(pod.nominated) if pod.nominated else None
        if row is None or not helped[row]:
            return False
        return any(each.priority < pod.priority and _leaves_for_another(each) for each in self._table.pods[row].values())

    def _among(self, pod: PodInfo, rows: Rows) -> Attempt:
        enough = min(max(len(rows) * self._effort.percent // 100, self._effort.least), len(rows))
        in_turn = np.roll(rows, -self._choose(len(rows)))
        together = self._filtering.together(pod)
        budgets = Budgets(self._cluster.budgets)
        if together is not None:
            tried = Evicting(self._table, self._filtering, budgets).each(pod, in_turn, together, enough)
        else:
            tried = (self._on(pod, row, budgets) for row in in_turn.tolist())
        candidates = Candidates()
        words: Counter[str] = Counter()
        needless: list[str] = []
        for found in tried:
            match found:
                case Several():
                    if candidates.add(found, enough):
                        break
                case Counter():
                    words.update(found)
                case Needless():
                    needless += found.nodes
        if len(candidates):
            return Attempt(victims=candidates.best(), candidates=candidates)
        if needless:
            return Attempt(message=_of_needless(needless), keeps_nomination=True, failed=True)
        left = self._table.count - len(rows)
        if left:
            words[NOT_HELPFUL] += left
        return Attempt(message=diagnosis.sentence(self._table.count, words))

    def _lower(self, pod: PodInfo, row: int) -> list[PodInfo]:
        return [each for each in self._table.pods[row].values() if each.priority < pod.priority]

    def _on(self, pod: PodInfo, row: int, budgets: Budgets) -> Found:
        """Whom to evict from this node, or what would stand in the way even so."""
        lower = self._lower(pod, row)
        if not lower:
            return Counter((NO_VICTIMS,))
        gone = {each.uid: each for each in lower}

        def stays(each: PodInfo) -> bool:
            self._table.add_pod(each)
            if self._filtering.one(pod, row).feasible[0]:
                del gone[each.uid]
                return True
            self._table.remove_pod(each)
            return False

        for each in lower:
            self._table.remove_pod(each)
        try:
            found = self._filtering.one(pod, row)
            if not found.feasible[0]:
                return Counter(words for stage in found.stages for words, count in stage.words().items() if count)
            return self._reprieved(row, lower, budgets, stays)
        finally:
            for each in gone.values():
                self._table.add_pod(each)

    def _reprieved(self, row: int, lower: list[PodInfo], budgets: Budgets, stays: Callable[[PodInfo], bool]) -> Found:
        """Bring back as many as can stay: first those whose budgets forbid to evict them, the important before others."""
        lower.sort(key=importance)
        violating, others = budgets.split(lower)
        victims = {each for each in (*violating, *others) if not stays(each)}
        in_order = tuple(each for each in lower if each in victims)
        if not victims:
            return Needless((self._table.names[row],))
        return Several.one(Victims(self._table.names[row], in_order, len(victims.intersection(violating))))


def _of_needless(nodes: list[str]) -> str:
    """Where the pod would fit with all pods there: it was not for their sake that these nodes were refused."""
    told = [f'expected at least one victim pod on node "{each}"' for each in nodes]
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]"


def _leaves_for_another(pod: PodInfo) -> bool:
    if not pod.deleting:
        return False
    target = facts.condition(pod.obj, "DisruptionTarget")
    return target is not None and target.get("status") == "True" and target.get("reason") == "PreemptionByScheduler"
