"""Spread pods evenly over zones, hosts or any other topology."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiphys.machinery.selectors import NOTHING, Selector
from tiphys.machinery.tree import Obj
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import BEST, Base, Lack, Reason, Refused
from tiphys.scheduler.node_table import CountKey, Mask, Nodes, NodeTable, Numbers
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.spreading import HOSTNAME, ZONE, SpreadConstraint, spread_constraints

_WORDS = "node(s) didn't match pod topology spread constraints"
_NO_LABEL = f"{_WORDS} (missing required label)"
_ENDLESS = 2**62
_USUAL = (
    {"topologyKey": HOSTNAME, "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"},
    {"topologyKey": ZONE, "maxSkew": 5, "whenUnsatisfiable": "ScheduleAnyway"},
)


class PodTopologySpread(Base):
    name = "PodTopologySpread"
    imagines = True
    unblocked_by = (
        Event.POD_ADDED
        | Event.POD_LABELS
        | Event.POD_DELETED
        | Event.POD_TOLERATIONS
        | Event.NODE_ADDED
        | Event.NODE_DELETED
        | Event.NODE_LABELS
        | Event.NODE_TAINTS
    )

    def __init__(self, cluster: Cluster, args: Obj | None = None) -> None:
        """`args`: upstream's PodTopologySpreadArgs. Their constraints are for pods that have none of their own."""
        given = args or {}
        self._cluster = cluster
        self._is_usual = given.get("defaultingType", "System") == "System"
        listed = _USUAL if self._is_usual else given.get("defaultConstraints") or ()
        self._defaults = spread_constraints(listed, {})

    def _constraints(self, pod: PodInfo, *, hard: bool) -> list[SpreadConstraint]:
        if pod.spread:
            return [each for each in pod.spread if each.hard is hard]
        wanted = [each for each in self._defaults if each.hard is hard]
        selector = self._cluster.default_selector(pod) if wanted else NOTHING
        return [] if selector.empty or selector.nothing else [replace(each, selector=selector) for each in wanted]

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:  # noqa: ARG002
        return frozenset() if not self._constraints(pod, hard=True) else None

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        constraints = self._constraints(pod, hard=True)
        if not constraints:
            return None
        labelled = nodes.table.labels.has_all(frozenset(each.topology_key for each in constraints))
        reasons, every = [], nodes.nothing()
        for each in constraints:
            ids = nodes.topology(each.topology_key)
            missing = (ids == 0) & ~every
            every |= missing
            skewed = self._skewed(pod, nodes, each, labelled) & ~every
            every |= skewed
            reasons += [Reason(missing, _NO_LABEL, False), Reason(skewed, _WORDS)]
        return Refused(every, tuple(reasons)) if every.any() else None

    def _skewed(self, pod: PodInfo, nodes: Nodes, constraint: SpreadConstraint, labelled: Mask) -> Mask:
        """Would one more pod be too many in the domain of the node."""
        eligible, domains = nodes.once(
            (self.name, constraint), lambda: _domains(pod, nodes, constraint, labelled & _included(pod, nodes, constraint))
        )
        ids = nodes.topology(constraint.topology_key)
        here, least = domains.counts[ids], np.full(len(ids), domains.least)
        if nodes.imagined and not constraint.selector.empty:
            fewer = nodes.fewer(_question(pod, constraint.selector))
            here = here - np.where(eligible[nodes.rows], fewer, 0)
            least = np.where(domains.known[ids], np.minimum(domains.others[ids], here), least)
        if np.count_nonzero(domains.known) < constraint.min_domains:
            least[:] = 0
        own = 1 if constraint.selector.matches(pod.labels) else 0
        skewed: Mask = here + own - least > constraint.max_skew
        return skewed

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        constraints = self._constraints(pod, hard=True)
        labelled = nodes.table.labels.has_all(frozenset(each.topology_key for each in constraints))
        found = []
        for each in constraints:
            key, here = each.topology_key, int(nodes.topology(each.topology_key)[0])
            if not here:
                found.append(Lack(f"has no label {key}", f"kubectl label node {nodes.table.names[nodes.row()]} {key}=..."))
            elif self._skewed(pod, nodes, each, labelled)[0]:
                found.append(_crowded(pod, nodes, each, labelled, here))
        return found

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        constraints = self._constraints(pod, hard=False)
        if not constraints:
            return None
        table = nodes.table
        keys = frozenset(each.topology_key for each in constraints)
        strict = bool(pod.spread) or not self._is_usual
        labelled = table.labels.has_all(keys) if strict else np.ones(table.capacity, np.bool_)
        scored = nodes.feasible & labelled[nodes.rows]
        total = np.zeros(nodes.count, np.float64)
        for each in constraints:
            ids = nodes.topology(each.topology_key)
            counts, size = self._weighed(pod, nodes, each, labelled, scored)
            part = counts * math.log(size + 2) + (each.max_skew - 1)
            part[ids == 0] = 0.0
            total += part
        return _normalized(np.floor(total + 0.5).astype(np.int64), scored)

    def _weighed(
        self, pod: PodInfo, nodes: Nodes, constraint: SpreadConstraint, labelled: Mask, scored: Mask
    ) -> tuple[Numbers, int]:
        """How many pods share each node's domain, and how many domains there are."""
        matching = _matching(pod, nodes, constraint.selector)
        if constraint.topology_key == HOSTNAME:
            return matching[nodes.rows], int(np.count_nonzero(scored))
        ids = nodes.topology(constraint.topology_key)
        seen = np.zeros(nodes.table.labels.domains(constraint.topology_key), np.bool_)
        seen[ids[scored]] = True
        eligible = labelled & _included(pod, nodes, constraint)
        counts = nodes.per_domain(matching, constraint.topology_key, eligible)
        return counts[ids], int(np.count_nonzero(seen))

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        constraints = self._constraints(pod, hard=True)
        if change.event in (Event.POD_ADDED | Event.POD_LABELS | Event.POD_DELETED | Event.POD_TOLERATIONS):
            return _pod_helps(pod, change, constraints)
        keys = [each.topology_key for each in constraints]
        had = change.old is not None and _has_all(change.old, keys)
        has = change.new is not None and _has_all(change.new, keys)
        if change.old is not None and change.new is not None and had and has:
            if change.event is Event.NODE_TAINTS:
                return any(each.honors_taints for each in constraints)
            return any(_label(change.old, key) != _label(change.new, key) for key in keys)
        return had or has


@dataclass(frozen=True, slots=True)
class _Domains:
    """Of a topology, by number."""

    counts: Numbers
    """Pods; those of nodes that are left out do not count."""
    known: Mask
    least: int
    """Pods in the one that has fewest."""
    others: Numbers
    """The same, were it not for this domain."""


def _domains(pod: PodInfo, nodes: Nodes, constraint: SpreadConstraint, eligible: Mask) -> tuple[Mask, _Domains]:
    counts, known = _count(pod, nodes, constraint, eligible)
    counts = np.where(known, counts, 0)
    some = counts[known]
    least = int(some.min(initial=_ENDLESS))
    others = np.full(len(counts), least)
    if np.count_nonzero(some == least) == 1:
        others[known & (counts == least)] = some[some != least].min(initial=_ENDLESS)
    return eligible, _Domains(counts, known, least, others)


def _crowded(pod: PodInfo, nodes: Nodes, constraint: SpreadConstraint, labelled: Mask, here: int) -> Lack:
    counts, known = _count(pod, nodes, constraint, labelled & _included(pod, nodes, constraint))
    key, names = constraint.topology_key, nodes.table.labels.values(constraint.topology_key)
    few = int(counts[known].min()) if known.any() else 0
    where = ", ".join(names[at] for at in np.flatnonzero(known & (counts == few))[:3])
    told = f"is in {key}={names[here]} with {counts[here]} such pods; the fewest are {few} (in {where})"
    told += f", maxSkew {constraint.max_skew}"
    over = int(counts[here]) + 1 - few - constraint.max_skew
    return Lack(told, f"room on a node with {key}={where}", min(1.0, 0.2 * max(over, 1)))


def _pod_helps(pod: PodInfo, change: Change, constraints: list[SpreadConstraint]) -> bool:
    """upstream pkg/scheduler/framework/plugins/podtopologyspread/plugin.go:isSchedulableAfterPodChange."""
    other = change.new_pod or change.old_pod
    assert other is not None
    if change.concerns(pod):
        return change.event is not Event.POD_TOLERATIONS or any(each.honors_taints for each in constraints)
    if other.namespace != pod.namespace or not (other.node or other.nominated):
        return False
    if change.old_pod is not None and change.new_pod is not None:
        old, new = change.old_pod.labels, change.new_pod.labels
        return any(each.selector.matches(old) != each.selector.matches(new) for each in constraints)
    return any(each.selector.matches(other.labels) for each in constraints)


def _label(node: dict[str, dict[str, dict[str, str]]], key: str) -> str | None:
    return (node["metadata"].get("labels") or {}).get(key)


def _has_all(node: dict[str, dict[str, dict[str, str]]], keys: list[str]) -> bool:
    return all(_label(node, key) is not None for key in keys)


def _matching(pod: PodInfo, nodes: Nodes, selector: Selector) -> Numbers:
    """Pods on each node of the whole table. A selector that selects everything counts nothing."""
    if selector.empty:
        return np.zeros(nodes.table.capacity, np.int64)
    return nodes.pods_matching(_question(pod, selector))


def _question(pod: PodInfo, selector: Selector) -> CountKey:
    return CountKey(((frozenset((pod.namespace,)), selector),), living=True)


def _included(pod: PodInfo, nodes: Nodes, constraint: SpreadConstraint) -> Mask:
    """Nodes whose pods count, and which count as domains."""
    table = nodes.table
    included = table.present
    if constraint.honors_affinity and pod.node_affinity.restricts:
        included = included & table.labels.matching(pod.node_affinity, table.rows)
    if constraint.honors_taints:
        away = table.taints.refused(pod.tolerations)
        if away is not None:
            included = included & ~away
    return included


def _count(pod: PodInfo, nodes: Nodes, constraint: SpreadConstraint, eligible: Mask) -> tuple[Numbers, Mask]:
    """Pods in each domain, and which domains there are."""
    key, table = constraint.topology_key, nodes.table
    known = np.zeros(table.labels.domains(key), np.bool_)
    known[table.labels.column(key)[: table.size][eligible[: table.size]]] = True
    known[0] = False
    return nodes.per_domain(_matching(pod, nodes, constraint.selector), key, eligible), known


def _normalized(raw: Numbers, scored: Mask) -> Numbers:
    """Fewest is best; a node that lacks a label has nothing to say for it."""
    some = raw[scored]
    if not len(some):
        return np.zeros(len(raw), np.int64)
    least, most = int(some.min()), int(some.max())
    scores: Numbers = np.full(len(raw), BEST, np.int64) if most == 0 else BEST * (most + least - raw) // most
    return np.where(scored, scores, 0)
