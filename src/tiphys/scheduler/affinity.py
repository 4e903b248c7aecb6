"""Terms of affinity and anti-affinity between pods, as they stand in a pod."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiphys.machinery.selectors import NOTHING, Selector
from tiphys.machinery.tree import Obj
from tiphys.scheduler.selecting import selector_of

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Equal terms of different pods are counted together, so a term has to be a key."""

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels | None) -> bool:
        theirs = namespace in self.namespaces or (
            namespace_labels is not None and self.namespace_selector.matches(namespace_labels)
        )
        return theirs and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    term: AffinityTerm
    weight: int


@dataclass(frozen=True, slots=True)
class PodAffinity:
    required: tuple[AffinityTerm, ...] = ()
    preferred: tuple[WeightedTerm, ...] = ()
    anti_required: tuple[AffinityTerm, ...] = ()
    anti_preferred: tuple[WeightedTerm, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred or self.anti_required or self.anti_preferred)


def pod_affinity(affinity: Obj, namespace: str) -> PodAffinity:
    towards, away = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    return PodAffinity(
        _required(towards, namespace), _preferred(towards, namespace), _required(away, namespace), _preferred(away, namespace)
    )


def _required(tree: Obj, namespace: str) -> tuple[AffinityTerm, ...]:
    return tuple(_term(each, namespace) for each in tree.get("requiredDuringSchedulingIgnoredDuringExecution") or ())


def _preferred(tree: Obj, namespace: str) -> tuple[WeightedTerm, ...]:
    return tuple(
        WeightedTerm(_term(each["podAffinityTerm"], namespace), each.get("weight") or 0)
        for each in tree.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    )


def _term(tree: Obj, namespace: str) -> AffinityTerm:
    named, selecting = tree.get("namespaces") or (), tree.get("namespaceSelector")
    own = (namespace,) if not named and selecting is None else named
    return AffinityTerm(
        frozenset(own),
        selector_of(selecting) if selecting is not None else NOTHING,
        selector_of(tree.get("labelSelector")),
        tree.get("topologyKey") or "",
    )
