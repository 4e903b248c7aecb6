"""One try of one pod: narrow, filter, (preempt,) score, select. It changes nothing; what is to be done is returned."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tiphys.scheduler import diagnosis
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.decision import Decision
from tiphys.scheduler.diagnosis import Stage
from tiphys.scheduler.filtering import Filtered, Filtering
from tiphys.scheduler.framework import Freed, Profile, Reason
from tiphys.scheduler.node_table import Mask, Nodes, NodeTable
from tiphys.scheduler.nominations import Nominations
from tiphys.scheduler.opinion import EXTENDER, Opinion
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.preemption import Attempt, Preemption
from tiphys.scheduler.victims import Victims
from tiphys.scheduler.volumes import VolumePlan


@dataclass(frozen=True, slots=True)
class Placed:
    node: str
    decision: Decision
    volumes: VolumePlan | None = None
    """To be bound or made before the pod is bound."""


@dataclass(frozen=True, slots=True)
class Unplaced:
    message: str
    refused_by: frozenset[str]
    """Plugins; none where there are no nodes at all."""
    decision: Decision
    victims: Victims | None = None
    """Pods to evict, so that there will be room."""
    keeps_nomination: bool = False
    """It waits for victims that are on their way out: what was nominated stays."""
    candidates: Iterable[Victims] = ()
    """Where else room could be made; `victims` are the best of them."""
    freed: tuple[Freed, ...] = ()
    """What is to be given back."""


class Cycle:
    def __init__(
        self,
        table: NodeTable,
        profile: Profile,
        cluster: Cluster,
        nominations: Nominations,
        choose: Callable[[int], int],
    ) -> None:
        """`choose(n)` is a number below n: which of nodes that are equally good."""
        self._table = table
        self._profile = profile
        self._cluster = cluster
        self._choose = choose
        self.filtering = self._filtering = Filtering(table, profile.filters, nominations)
        effort = profile.preemption
        self._preemption = None if effort is None else Preemption(table, self._filtering, cluster, choose, effort)
        self._names: tuple[str, ...] = ()
        self._names_at = -1

    def feasible(self, pod: PodInfo) -> list[str]:
        """Nodes that extenders are to be asked about."""
        narrowed, words, _ = self._narrow(pod)
        if words or not self._table.count:
            return []
        found = self._filtering.all(pod, narrowed).feasible
        return [self._table.names[row] for row in np.flatnonzero(found)]

    def schedule(self, pod: PodInfo, now: float, opinion: Opinion | None = None) -> Placed | Unplaced:
        self._cluster.now = now
        decision = Decision(pod.key, pod.uid, now, self._row_names())
        if not self._table.count:
            decision.message = diagnosis.NO_NODES
            return Unplaced(decision.message, frozenset(), decision)
        narrowed, words, by = self._narrow(pod)
        if words:
            told = diagnosis.of_the_pod(self._table.count, words)
            return self._refused(pod, decision, None, frozenset(by), told)
        nominated = self._nominated(pod)
        if nominated is not None and (opinion is None or self._table.names[nominated] in opinion.accepted):
            return self._place(pod, decision, nominated)
        found = self._filtering.all(pod, narrowed)
        if opinion is not None:
            found = self._with_opinion(found, opinion)
        decision.refuse(found.stages)
        if not found.feasible.any():
            told = diagnosis.sentence(self._table.count, diagnosis.histogram(found.stages))
            by = {each.plugin for each in found.stages[1 if narrowed is not None else 0 :]} | by
            return self._refused(pod, decision, found.stages, frozenset(by), told)
        return self._place(pod, decision, self._select(pod, found, decision, opinion))

    def _row_names(self) -> tuple[str, ...]:
        if self._names_at != self._table.membership:
            self._names, self._names_at = tuple(self._table.names), self._table.membership
        return self._names

    def _narrow(self, pod: PodInfo) -> tuple[tuple[Mask, Stage] | None, str, set[str]]:
        """Which rows are worth a look, and what is said of the others; or why none is; and who says so."""
        names: frozenset[str] | None = None
        by: set[str] = set()
        for plugin in self._profile.narrowers:
            answer = plugin.narrow(pod)
            if answer is None:
                continue
            if answer.words:
                return None, answer.words, {plugin.name}
            by.add(plugin.name)
            names = answer.names if names is None else names & answer.names
            if not names:
                return None, f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(by))}] simultaneously", by
        if names is None:
            return None, "", set()
        worth = np.zeros(self._table.size, np.bool_)
        worth[[self._table.rows[name] for name in names if name in self._table.rows]] = True
        others = self._table.all().present & ~worth
        told = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(by))}]"
        return (worth, Stage("", others, (Reason(others, told, False),))), "", by

    def _nominated(self, pod: PodInfo) -> int | None:
        """The node that room was made on, if the pod fits there now."""
        row = self._table.rows.get(pod.nominated) if pod.nominated else None
        if row is None or not self._table.present[row]:
            return None
        return row if self._filtering.one(pod, row).feasible[0] else None

    def _with_opinion(self, found: Filtered, opinion: Opinion) -> Filtered:
        """A node that extenders were not asked about is none that they accept."""
        names = self._table.names
        left = np.flatnonzero(found.feasible)
        no = [int(row) for row in left if names[row] not in opinion.accepted]
        if not no:
            return found
        told: dict[tuple[str, bool], list[int]] = {}
        for row in no:
            told.setdefault(opinion.refused.get(names[row], ("", True)), []).append(row)
        reasons = tuple(Reason(_mask(rows, len(found.feasible)), *verdict) for verdict, rows in told.items())
        rows = _mask(no, len(found.feasible))
        return Filtered(found.feasible & ~rows, (*found.stages, Stage(EXTENDER, rows, reasons)))

    def _select(self, pod: PodInfo, found: Filtered, decision: Decision, opinion: Opinion | None) -> int:
        feasible = found.feasible
        decision.accept(feasible)
        if np.count_nonzero(feasible) == 1:
            return int(feasible.argmax())
        nodes: Nodes = self._table.all()
        nodes.feasible = feasible
        total = np.zeros(nodes.count, np.int64)
        for each in self._profile.scorers:
            scores = each.plugin.score(pod, nodes)
            if scores is not None:
                decision.score(each.plugin.name, each.weight, scores)
                total += scores * each.weight if each.weight != 1 else scores
        for name, score in (opinion.scores if opinion is not None else {}).items():
            if name in self._table.rows:
                total[self._table.rows[name]] += score
        total[~feasible] = -1
        best = np.flatnonzero(total == total.max())
        return int(best[self._choose(len(best))])

    def _place(self, pod: PodInfo, decision: Decision, row: int) -> Placed:
        decision.node = self._table.names[row]
        planner = self._profile.planner
        plan = planner.plan(pod, self._table.only(row)) if planner is not None else None
        return Placed(decision.node, decision, plan)

    def _refused(
        self, pod: PodInfo, decision: Decision, stages: tuple[Stage, ...] | None, by: frozenset[str], message: str
    ) -> Unplaced:
        """Without `stages` it was refused before any node was looked at."""
        decision.message = message
        if stages is None and self._is_left_out(by):
            decision.message += f" {diagnosis.NOT_NARROWED}"
            return Unplaced(decision.message, by, decision, keeps_nomination=True)
        freed = [each.free(pod) for each in self._profile.freers]
        words = [each.words for each in freed]
        attempt = self._preemption.attempt(pod, stages or ()) if self._preemption is not None else Attempt()
        if attempt.message:
            told = f"preemption: {attempt.message}"
            words = [told] if attempt.failed else [*words, told]
        # Once there is room nobody has to be told what else was tried.
        if words and attempt.victims is None:
            decision.message = f"{message} {', '.join(words)}"
        gone = tuple(each for each in freed if each.claim is not None or each.removed is not None)
        return Unplaced(decision.message, by, decision, attempt.victims, attempt.keeps_nomination, attempt.candidates, gone)

    def _is_left_out(self, by: frozenset[str]) -> bool:
        """Whether a plugin that may have something to give back has not even come to look at the pod."""
        names = [each.name for each in self._profile.narrowers]
        last = max((names.index(name) for name in by if name in names), default=len(names))
        return any(each.name in names[last + 1 :] for each in self._profile.freers)


def _mask(rows: list[int], size: int) -> Mask:
    mask = np.zeros(size, np.bool_)
    mask[rows] = True
    return mask
