"""One pod that wants devices, on its way through the nodes: what each could give it, and why others cannot.

upstream pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (PreFilter, Filter).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tiphys.api.node_selector import node_terms
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices import conditions, extended
from tiphys.scheduler.devices.allocating import Allocator, OnThisNode
from tiphys.scheduler.devices.asking import Asking, asking
from tiphys.scheduler.devices.claims import EXTENDED, Claims, allocation_of, is_reserved_for, users
from tiphys.scheduler.devices.extended import ClassesBehind
from tiphys.scheduler.devices.giving import OfClaim
from tiphys.scheduler.devices.pools import Slices
from tiphys.scheduler.devices.results import allocation
from tiphys.scheduler.plugins.node_affinity import term_matches
from tiphys.scheduler.pod_info import PodInfo

MOST_USERS = 256
NOT_HERE = "resourceclaim not available on the node"
TOO_FEW = "cannot allocate all claims"
LEFT_OVER = "cannot schedule extended resource claim"
IN_MEMORY = "<extended-resources>"
"""No name that a claim can have."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a node can give."""

    claims: tuple[OfClaim, ...] = ()
    """Those that have no devices yet."""
    mappings: tuple[Obj, ...] = ()
    """Of the last of them, if it stands for resources: which request is for which container."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be written before the pod is bound."""

    allocations: Mapping[str, Obj]
    """By the uid of the claim."""
    extended: Obj | None = None
    """A claim that is to be made."""
    mappings: tuple[Obj, ...] = ()


@dataclass(slots=True)
class Devices:
    """What there is in the cluster."""

    claims: Claims
    slices: Slices
    classes: Mapping[str, Obj]
    behind: ClassesBehind


@dataclass(slots=True)
class Try:
    devices: Devices
    pod: PodInfo
    claims: list[Obj]
    """Those that the pod names."""
    now: float
    binding_seconds: float
    allocator: Allocator
    found: dict[str, Found] = field(default_factory=dict)
    """By node."""
    unavailable: dict[str, Obj] = field(default_factory=dict)
    """Claims, by uid, whose devices are of no use for the pod on some node."""
    left_over: Obj | None = None
    """A claim for resources that was made for the pod by an attempt that came to nothing."""
    resources: dict[str, int] = field(default_factory=dict)
    """That the pod asks for, and some of which may have a class behind them."""
    _asking: list[Asking] | None = None
    _variants: dict[tuple[str, ...], tuple[Asking, tuple[Obj, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        behind = self.devices.behind
        asked = {name: amount for name, amount in self.pod.requests.items() if amount and extended.may_have_class(name)}
        if any(behind.get(name) is not None for name in asked):
            self.resources = asked
            self.left_over = self.devices.claims.of_extended_resources(self.pod)

    def is_idle(self) -> bool:
        return not self.claims and not self.resources

    def problem(self) -> str:
        """Why no node needs to be looked at."""
        return next((words for words in map(self._problem, self.claims) if words), "")

    def _problem(self, claim: Obj) -> str:
        if allocation_of(claim) is not None:
            full = len(users(claim)) >= MOST_USERS and not is_reserved_for(claim, self.pod)
            return "resourceclaim in use" if full else ""
        if self.devices.claims.promised(claim["metadata"]["uid"]) is not None:
            name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
            return f"resource claim {name} is in the process of being allocated"
        for request in (claim["spec"].get("devices") or {}).get("requests") or ():
            wanted = [(request["name"], request["exactly"])] if request.get("exactly") else []
            wanted += [(f"{request['name']}/{each['name']}", each) for each in request.get("firstAvailable") or ()]
            for name, each in wanted:
                if each["deviceClassName"] not in self.devices.classes:
                    return f"request {name}: device class {each['deviceClassName']} does not exist"
        return ""

    def refusal(self, node: Obj) -> str:
        """Raises ValueError where a claim or a class makes no sense."""
        backed: tuple[str, ...] = ()
        if self.resources:
            if self.left_over is not None:
                return LEFT_OVER
            allocatable = (node.get("status") or {}).get("allocatable") or {}
            backed = tuple(name for name in self.resources if self._is_backed(name, allocatable))
            if any(name not in allocatable and name not in backed for name in self.resources):
                return "cannot fit resource"
        if not self.claims and not backed:
            return ""
        unavailable = [each for each in self.claims if self._is_unavailable(each, node)]
        wanted, mappings = self._wanted(backed)
        try:
            given = self.allocator.allocate(wanted, self.devices.slices.pools(node), node) if wanted else []
        except OnThisNode as problem:
            return str(problem)
        if given is None:
            return TOO_FEW
        if unavailable:
            self.unavailable.update({each["metadata"]["uid"]: each for each in unavailable})
            return NOT_HERE
        self.found[node["metadata"]["name"]] = Found(tuple(given), mappings)
        return ""

    def _is_backed(self, resource: str, allocatable: Obj) -> bool:
        """By devices of a claim here; where a device plugin offers it, the node's own account of it counts."""
        if resource in allocatable and quantity.parse(allocatable[resource]).sign():
            return False
        return self.devices.behind.get(resource) is not None

    def _is_unavailable(self, claim: Obj, node: Obj) -> bool:
        return not _reaches(claim, node) or (
            conditions.waits(claim) and conditions.is_lost(claim, self.now, self.binding_seconds)
        )

    def _wanted(self, backed: tuple[str, ...]) -> tuple[list[Asking], tuple[Obj, ...]]:
        if self._asking is None:
            without = (each for each in self.claims if allocation_of(each) is None)
            self._asking = [asking(each, self.devices.classes) for each in without]
        if not backed:
            return self._asking, ()
        variant = self._variants.get(backed)
        if variant is None:
            variant = self._variants[backed] = self._variant(backed)
        return [*self._asking, variant[0]], variant[1]

    def _variant(self, backed: tuple[str, ...]) -> tuple[Asking, tuple[Obj, ...]]:
        classes = {name: found for name in backed if (found := self.devices.behind.get(name)) is not None}
        titles = {name: str(each["metadata"]["name"]) for name, each in classes.items()}
        requests, mappings = extended.requests(self.pod.obj["spec"], titles)
        return asking(_in_memory(self.pod, requests), self.devices.classes), tuple(mappings)

    def decided(self, node: str, new_uid: Callable[[], str]) -> Decided:
        found = self.found.get(node, Found())
        allocations: dict[str, Obj] = {}
        made: Obj | None = None
        for each in found.claims:
            claim = each.asking.tree
            if claim["metadata"]["name"] == IN_MEMORY:
                made = claim
            allocations[claim["metadata"]["uid"]] = allocation(each, node, new_uid)
        return Decided(allocations, made, found.mappings)

    def preference(self, node: str) -> int:
        """Of the alternatives that would be taken: the first of a list counts 8, the last 1."""
        taken = sum(8 - at for each in self.found.get(node, Found()).claims for at in each.chosen.values())
        return taken + sum(map(_preference, self.claims))


def temporary_uid(pod: PodInfo) -> str:
    """Of a claim that is not made yet."""
    return f"{IN_MEMORY}/{pod.uid}"


def _in_memory(pod: PodInfo, requests: list[Obj]) -> Obj:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {
        "name": IN_MEMORY,
        "namespace": pod.namespace,
        "uid": temporary_uid(pod),
        "generateName": f"{pod.name}-extended-resources-",
        "ownerReferences": [owner],
        "annotations": {EXTENDED: "true"},
    }
    return {"metadata": metadata, "spec": {"devices": {"requests": requests}}}


def _preference(claim: Obj) -> int:
    """Of one that has its devices already."""
    given = allocation_of(claim)
    if given is None:
        return 0
    taken = {each["request"] for each in (given.get("devices") or {}).get("results") or ()}
    return sum(
        8 - at
        for request in (claim["spec"].get("devices") or {}).get("requests") or ()
        for at, each in enumerate(request.get("firstAvailable") or ())
        if f"{request['name']}/{each['name']}" in taken
    )


def _reaches(claim: Obj, node: Obj) -> bool:
    selector = (allocation_of(claim) or {}).get("nodeSelector")
    if selector is None:
        return True
    name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
    return any(term_matches(each, name, labels) for each in node_terms(selector))
