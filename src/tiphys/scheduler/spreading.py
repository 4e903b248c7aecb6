"""Constraints on how pods spread over the domains of a topology, as they stand in a pod."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tiphys.machinery.selectors import Requirement, Selector
from tiphys.machinery.tree import Obj
from tiphys.scheduler.selecting import selector_of

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    max_skew: int
    topology_key: str
    hard: bool
    selector: Selector
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


def spread_constraints(listed: Iterable[Obj], labels: Mapping[str, str]) -> tuple[SpreadConstraint, ...]:
    return tuple(_constraint(each, labels) for each in listed)


def _constraint(tree: Obj, labels: Mapping[str, str]) -> SpreadConstraint:
    selector = selector_of(tree.get("labelSelector"))
    own = [Requirement(key, "=", (labels[key],)) for key in tree.get("matchLabelKeys") or () if key in labels]
    if own and not selector.nothing:
        selector = Selector(tuple(sorted((*selector.requirements, *own), key=lambda each: each.key)))
    return SpreadConstraint(
        max_skew=tree.get("maxSkew") or 1,
        topology_key=tree.get("topologyKey") or "",
        hard=tree.get("whenUnsatisfiable") != "ScheduleAnyway",
        selector=selector,
        min_domains=tree.get("minDomains") or 1,
        honors_affinity=tree.get("nodeAffinityPolicy", "Honor") == "Honor",
        honors_taints=tree.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )
