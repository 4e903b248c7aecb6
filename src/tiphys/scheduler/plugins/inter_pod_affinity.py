"""Bring pods together, or keep them apart, by the pods that are there already."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tiphys.machinery.selectors import NOTHING
from tiphys.machinery.tree import Obj
from tiphys.scheduler.affinity import AffinityTerm
from tiphys.scheduler.cluster import Cluster
from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import BEST, Base, Lack, Reason, Refused
from tiphys.scheduler.node_table import CountKey, Mask, Nodes, NodeTable, Numbers
from tiphys.scheduler.pod_info import PodInfo

_AFFINITY = "node(s) didn't match pod affinity rules"
_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
_OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"


class InterPodAffinity(Base):
    name = "InterPodAffinity"
    imagines = True
    unblocked_by = Event.POD_ADDED | Event.POD_LABELS | Event.POD_DELETED | Event.NODE_ADDED | Event.NODE_LABELS

    def __init__(self, cluster: Cluster, args: Obj | None = None) -> None:
        """`args`: upstream's InterPodAffinityArgs."""
        given = args or {}
        self._cluster = cluster
        self._hard_weight: int = given.get("hardPodAffinityWeight", 1)
        """What a required term of a pod that is there counts for, when it is this pod that it asks for."""
        self._ignores_preferences = bool(given.get("ignorePreferredTermsOfExistingPods"))

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:
        affinity, labels = pod.affinity, self._cluster.namespace_labels(pod.namespace)
        if affinity.required or affinity.anti_required or any(table.carried.anti_required.concerning(pod, labels)):
            return None
        terms = (term for each in coming for term in each.affinity.anti_required)
        return None if any(term.matches(pod.namespace, pod.labels, labels) for term in terms) else frozenset()

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        affinity = pod.affinity
        every, reasons = nodes.nothing(), []
        checks = (
            (affinity.required, self._lonely, _AFFINITY, False),
            (affinity.anti_required, self._crowded, _ANTI_AFFINITY, True),
        )
        for terms, check, words, helps in checks:
            if terms:
                rows = check(pod, terms, nodes) & ~every
                every |= rows
                reasons.append(Reason(rows, words, helps))
        unwanted = self._unwanted(pod, nodes)
        if unwanted is not None:
            rows = unwanted & ~every
            every |= rows
            reasons.append(Reason(rows, _OTHERS))
        return Refused(every, tuple(reasons)) if every.any() else None

    def _lonely(self, pod: PodInfo, terms: Sequence[AffinityTerm], nodes: Nodes) -> Mask:
        """Nodes in whose domains no pod is that satisfies every term."""
        resolved = [self._resolved(each) for each in terms]
        key = CountKey(tuple((each.namespaces, each.selector) for each in resolved))
        column = nodes.pods_matching(key)
        unlabelled, alone, any_at_all = nodes.nothing(), nodes.nothing(), nodes.nothing()
        for term in terms:
            ids = nodes.topology(term.topology_key)
            here, everywhere = nodes.in_domain(column, term.topology_key, key)
            any_at_all |= everywhere > 0
            unlabelled |= ids == 0
            alone |= here <= 0
        # The first of a group that wants to be together has to go somewhere.
        if all(each.matches(pod.namespace, pod.labels, None) for each in resolved):
            alone &= any_at_all
        return alone | unlabelled

    def _crowded(self, _: PodInfo, terms: Sequence[AffinityTerm], nodes: Nodes) -> Mask:
        """Nodes in whose domains a pod is that this one keeps away from. Counts of terms with one topology add up."""
        crowded = nodes.nothing()
        for term in map(self._resolved, terms):
            key = CountKey(((term.namespaces, term.selector),))
            crowded |= nodes.in_domain(nodes.pods_matching(key), term.topology_key, key)[0] > 0
        return crowded

    def _unwanted(self, pod: PodInfo, nodes: Nodes) -> Mask | None:
        """Nodes in whose domains a pod is that keeps away from this one; None where there is no such pod anywhere."""
        unwanted = None
        for carries, column in nodes.keeping_away(pod, self._cluster.namespace_labels(pod.namespace)):
            near = nodes.in_domain(column, carries.term.topology_key, carries)[0] > 0
            unwanted = near if unwanted is None else unwanted | near
        return unwanted

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        found, affinity = [], pod.affinity
        if affinity.required and self._lonely(pod, affinity.required, nodes)[0]:
            told = f"has no pod that the affinity asks for {_place(affinity.required, nodes)}"
            found.append(Lack(told, "run such a pod there first", 0.8))
        labels = self._cluster.namespace_labels
        for term in affinity.anti_required:
            other = next(
                (each for each in _near(term, nodes) if term.matches(each.namespace, each.labels, labels(each.namespace))), None
            )
            if other is not None:
                told = f"has pod {other.key}, which the anti-affinity keeps away from, {_place([term], nodes)}"
                found.append(Lack(told, f"a domain of {term.topology_key} without such a pod", 0.6))
        own = labels(pod.namespace)
        for each in nodes.table.carried.anti_required.concerning(pod, own):
            carrier = next((other for other in _near(each.term, nodes) if each.term in other.affinity.anti_required), None)
            if carrier is not None:
                told = f"has pod {carrier.key}, whose anti-affinity keeps this one away, {_place([each.term], nodes)}"
                found.append(Lack(told, f"a domain of {each.term.topology_key} without such a pod", 0.6))
        return found

    def _resolved(self, term: AffinityTerm) -> AffinityTerm:
        """With the namespaces that its selector stands for right now."""
        if term.namespace_selector.nothing:
            return term
        # Upstream asks the selector again, of no labels at all: what these satisfy holds for every namespace.
        if term.namespace_selector.matches({}):
            chosen = frozenset(self._cluster.namespaces)
        else:
            chosen = self._cluster.namespaces_matching(term.namespace_selector)
        return replace(term, namespaces=term.namespaces | chosen, namespace_selector=NOTHING)

    def score(self, pod: PodInfo, nodes: Nodes) -> Numbers | None:
        carried, affinity = nodes.table.carried, pod.affinity
        wishes = affinity.preferred or affinity.anti_preferred
        if not wishes and (self._ignores_preferences or (not carried.required and not carried.weighted)):
            return None
        total: Numbers | None = None
        for column, key, weight in self._pulls(pod, nodes):
            pull = nodes.per_domain(column, key)
            if pull.any():
                part = weight * pull[nodes.topology(key)]
                total = part if total is None else total + part
        return None if total is None else _normalized(total, nodes)

    def _pulls(self, pod: PodInfo, nodes: Nodes) -> list[tuple[Numbers, str, int]]:
        """Columns of pods that pull this one into their domain, or (below zero) push it out."""
        pulls = []
        signed = [(each, each.weight) for each in pod.affinity.preferred]
        signed += [(each, -each.weight) for each in pod.affinity.anti_preferred]
        for preferred, weight in signed:
            term = self._resolved(preferred.term)
            column = nodes.pods_matching(CountKey(((term.namespaces, term.selector),)))
            pulls.append((column, term.topology_key, weight))
        labels = self._cluster.namespace_labels(pod.namespace)
        carried = nodes.table.carried
        if self._hard_weight:
            wanted = carried.required.concerning(pod, labels)
            pulls += [(each.column, each.term.topology_key, self._hard_weight) for each in wanted]
        pulls += [(each.column, each.term.topology_key, each.weight) for each in carried.weighted.concerning(pod, labels)]
        return pulls

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if change.event in (Event.NODE_ADDED | Event.NODE_LABELS):
            return _node_helps(pod, change)
        old, new = change.old_pod, change.new_pod
        if change.concerns(pod) and old is not None:
            return True
        if any(each is not None and not each.node and not each.nominated for each in (old, new)):
            return False
        terms, anti = pod.affinity.required, pod.affinity.anti_required
        if old is not None and new is not None:
            came = not self._all_match(terms, old) and self._all_match(terms, new)
            return came or (self._all_match(anti, old) and not self._all_match(anti, new))
        if new is not None:
            return self._all_match(terms, new)
        assert old is not None
        return self._all_match(anti, old) or self._all_match(old.affinity.anti_required, pod)

    def _all_match(self, terms: Sequence[AffinityTerm], pod: PodInfo) -> bool:
        labels = self._cluster.namespace_labels(pod.namespace)
        return bool(terms) and all(each.matches(pod.namespace, pod.labels, labels) for each in terms)


def _node_helps(pod: PodInfo, change: Change) -> bool:
    new = change.node["metadata"].get("labels") or {}
    old = None if change.old is None else change.old["metadata"].get("labels") or {}
    for term in pod.affinity.required:
        key = term.topology_key
        if key in new and (old is None or old.get(key) != new[key]):
            return True
    for term in pod.affinity.anti_required:
        key = term.topology_key
        if old is None or (key in old and old[key] != new.get(key)):
            return True
    return False


def _near(term: AffinityTerm, nodes: Nodes) -> Iterator[PodInfo]:
    """Pods in the domain that the one node of `nodes` is in."""
    ids = nodes.table.labels.column(term.topology_key)
    here = int(ids[nodes.row()])
    for row in np.flatnonzero(ids[: nodes.table.size] == here) if here else ():
        yield from nodes.table.pods[row].values()


def _place(terms: Sequence[AffinityTerm], nodes: Nodes) -> str:
    """The domains of the one node of `nodes`."""
    found = []
    for key in dict.fromkeys(each.topology_key for each in terms):
        here = int(nodes.topology(key)[0])
        found.append(f"{key}={nodes.table.labels.values(key)[here]}" if here else f"{key} (no such label)")
    return f"in {' and '.join(found)}"


def _normalized(raw: Numbers, nodes: Nodes) -> Numbers | None:
    some = raw[nodes.feasible]
    least, most = int(some.min()), int(some.max())
    if most <= least:
        return None
    scores: Numbers = (BEST * ((raw - least) / (most - least))).astype(np.int64)
    return scores
