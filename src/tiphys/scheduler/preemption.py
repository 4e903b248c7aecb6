"""Room for a pod by evicting others of lower priority: which node, and who has to go."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiphys.api.core.pods import facts
from tiphys.scheduler import diagnosis
from tiphys.scheduler.budgets import Budgets
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.diagnosis import NOT_HELPFUL, Stage
from tiphys.scheduler.filtering import Filtering
from tiphys.scheduler.framework import Effort
from tiphys.scheduler.node_table import NodeTable
from tiphys.scheduler.pod_info import PodInfo

Rows = NDArray[np.intp]

_LEAST = {"pods": 1}
"""What every pod takes, without asking for it."""
_NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass(frozen=True, slots=True)
class Victims:
    node: str
    pods: tuple[PodInfo, ...]
    """The most important one first: of those of the highest priority the one that started first."""
    violations: int = 0
    """How many of them their disruption budgets do not allow to go."""

    @property
    def loss(self) -> tuple[float, ...]:
        """The least is the best."""
        first = self.pods[0]
        total = sum([victim.priority for victim in self.pods]) + 2**31 * len(self.pods)
        return self.violations, first.priority, total, len(self.pods), -first.started


@dataclass(frozen=True, slots=True)
class Attempt:
    victims: Victims | None = None
    """The best of the candidates."""
    candidates: tuple[Victims, ...] = ()
    message: str = ""
    keeps_nomination: bool = False


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

    def _waits(self, pod: PodInfo, helped: "np.typing.NDArray[np.bool_]") -> bool:
        """Whether victims of an earlier attempt are still on their way out."""
        row = self._table.rows.get(pod.nominated) if pod.nominated else None
        if row is None or not helped[row]:
            return False
        return any(each.priority < pod.priority and _leaves_for_another(each) for each in self._table.pods[row].values())

    def _among(self, pod: PodInfo, rows: Rows) -> Attempt:
        enough = min(max(len(rows) * self._effort.percent // 100, self._effort.least), len(rows))
        in_turn = np.roll(rows, -self._choose(len(rows)))
        names = self._filtering.sums(pod)
        budgets = Budgets(self._cluster.budgets)
        if names:
            tried = self._by_sums(pod, in_turn, names, budgets)
        else:
            tried = (self._on(pod, row, budgets) for row in in_turn.tolist())
        clean: list[Victims] = []
        violating: list[Victims] = []
        words: Counter[str] = Counter()
        for found in tried:
            if isinstance(found, Victims):
                (violating if found.violations else clean).append(found)
                if clean and len(clean) + len(violating) >= enough:
                    break
            else:
                words.update(found)
        if not clean and not violating:
            left = self._table.count - len(rows)
            if left:
                words[NOT_HELPFUL] += left
            return Attempt(message=diagnosis.sentence(self._table.count, words))
        return Attempt(victims=best([*clean, *violating]), candidates=(*clean, *violating))

    def _by_sums(self, pod: PodInfo, rows: Rows, names: frozenset[str], budgets: Budgets) -> Iterator[Victims | Counter[str]]:
        """The same as `_on` of each of them, by arithmetic: what stands in the way anywhere, then whom to evict."""
        candidates = np.zeros(self._table.size, np.bool_)
        candidates[rows] = self._table.lower(pod.priority).pods[rows] > 0
        yield +Counter({_NO_VICTIMS: len(rows) - int(np.count_nonzero(candidates))})
        nodes, found = self._filtering.emptied(pod, candidates)
        for stage in found.stages:
            yield +stage.words()
        able = rows[found.feasible[rows]]
        asked = [(name, _LEAST.get(name, 0)) for name in names]
        left = np.array([nodes.left(name)[able] - pod.requests.get(name, least) for name, least in asked])
        for at, row in enumerate(able.tolist()):
            yield self._reprieved(row, self._lower(pod, row), budgets, _Room(asked, left[:, at].tolist()).takes)

    def _lower(self, pod: PodInfo, row: int) -> list[PodInfo]:
        return [each for each in self._table.pods[row].values() if each.priority < pod.priority]

    def _on(self, pod: PodInfo, row: int, budgets: Budgets) -> Victims | Counter[str]:
        """Whom to evict from this node, or what would stand in the way even so."""
        lower = self._lower(pod, row)
        if not lower:
            return Counter((_NO_VICTIMS,))
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

    def _reprieved(self, row: int, lower: list[PodInfo], budgets: Budgets, stays: Callable[[PodInfo], bool]) -> Victims:
        """Bring back as many as can stay: first those whose budgets forbid to evict them, the important before others."""
        lower.sort(key=_importance)
        violating, others = budgets.split(lower)
        victims: list[PodInfo] = []
        violations = 0
        for each in (*violating, *others):
            if not stays(each):
                victims.append(each)
                violations += each in violating
        if violations:
            victims.sort(key=_importance)
        return Victims(self._table.names[row], tuple(victims), violations)


class _Room:
    """What is left on a node with the pod on it, while others are brought back."""

    __slots__ = ("_asked", "_left")

    def __init__(self, asked: list[tuple[str, int]], left: list[int]) -> None:
        """`asked`: by what name a pod asks for it, and how much it takes if it does not."""
        self._asked = asked
        self._left = left

    def takes(self, pod: PodInfo) -> bool:
        requests = pod.requests
        left = [amount - requests.get(name, least) for (name, least), amount in zip(self._asked, self._left, strict=True)]
        if min(left) < 0:
            return False
        self._left = left
        return True


def _importance(pod: PodInfo) -> tuple[int, float]:
    """The most important sorts first: by priority, then by how long it has run."""
    return -pod.priority, pod.started


def _leaves_for_another(pod: PodInfo) -> bool:
    if not pod.deleting:
        return False
    target = facts.condition(pod.obj, "DisruptionTarget")
    return target is not None and target.get("status") == "True" and target.get("reason") == "PreemptionByScheduler"


def best(candidates: Sequence[Victims]) -> Victims:
    """The node whose victims are the least loss; where they are alike, the first."""
    return min(candidates, key=lambda each: each.loss)
