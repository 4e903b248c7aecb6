"""What a budget allows at the moment: read `reconcile` from top to bottom."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.apps.int_or_percent import percent
from tiphys.api.core.pods import PODS, facts
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, Inquiry, Watch, no_keys, own
from tiphys.controllers.disruption import expected
from tiphys.controllers.disruption.expected import KNOWN, Scale, Unwatched
from tiphys.controllers.disruption.stale import Marked, is_marked, take_back
from tiphys.controllers.numbers import scaled
from tiphys.controllers.plan import Emit, Inquire, Note, Plan, Write, set_status
from tiphys.controllers.replicaset import selector_of
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

DELETION_TIMEOUT = 120.0
"""Seconds after which a pod that was evicted, but is not being deleted, counts again."""
_POD = "pod:"


@dataclass(frozen=True, slots=True)
class World:
    budget: Obj
    pods: tuple[Obj, ...]
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """By uid of the controller that a pod names; only where the budget is a share of what is wanted."""
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Counted:
    expected: int
    desired: int
    unmanaged: bool = False


def _budgets_of_pod(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    pod = new if new is not None else old
    assert pod is not None
    if new is not None and is_marked(new):
        yield _POD + meta.key(new)
    labels = [meta.labels(each) for each in (old, new) if each is not None]
    for budget in caches[PODDISRUPTIONBUDGETS].in_namespace(meta.namespace(pod)):
        selector = selector_of(budget)
        if any(selector.matches(each) for each in labels):
            yield meta.key(budget)


class DisruptionController(Base):
    name = "disruption-controller"
    component = "controllermanager"
    watches = (
        own(PODDISRUPTIONBUDGETS),
        Watch(PODS, _budgets_of_pod),
        *(Watch(kind, no_keys) for kind in KNOWN),
        Watch(CUSTOM_RESOURCE_DEFINITIONS, no_keys),
    )
    inquiries: Mapping[str, Inquiry] = {"scales": expected.ask}

    def observe(self, key: str, caches: Caches, now: float) -> World | Marked | None:
        if key.startswith(_POD):
            pod = caches[PODS].get(key.removeprefix(_POD))
            return Marked(pod, now) if pod is not None else None
        budget = caches[PODDISRUPTIONBUDGETS].get(key)
        if budget is None:
            return None
        selector = selector_of(budget)
        pods = [pod for pod in caches[PODS].in_namespace(meta.namespace(budget)) if selector.matches(meta.labels(pod))]
        scales: dict[str, Scale] = {}
        for pod in pods if _is_share(budget) else ():
            reference = meta.controller_of(pod)
            if reference is not None and reference["uid"] not in scales:
                scales[reference["uid"]] = expected.scale_of(reference, meta.namespace(pod), caches)
        return World(budget, tuple(pods), {**scales, **caches.answers.get(key, {})}, now)

    @staticmethod
    def reconcile(world: World | Marked) -> Plan:
        if isinstance(world, Marked):
            return take_back(world)
        unknown = [each for each in world.scales.values() if isinstance(each, Unwatched)]
        if unknown:
            return Plan((Inquire("scales", {"owners": unknown}),))
        budget, now = world.budget, world.now
        writes: list[Write] = []
        if not world.pods:
            writes.append(Emit(Note(budget, "NoPods", "No matching pods found")))
        counted = _count(world)
        if isinstance(counted, str):
            told = f"Failed to calculate the number of expected pods: {counted}"
            writes.append(Emit(Note(budget, "CalculateExpectedPodCountFailed", told, "Warning")))
            return Plan((*writes, *_refuse(budget, counted, now)))
        if counted.unmanaged:
            writes.append(Emit(_unmanaged(budget)))
        evicted, missing, again_in = _evicted(world)
        writes += missing
        healthy = sum(
            1 for pod in world.pods if not facts.is_deleting(pod) and meta.name(pod) not in evicted and facts.is_ready(pod)
        )
        return Plan((*writes, *_report(world, counted, healthy, evicted)), again_in=again_in)


def _is_share(budget: Obj) -> bool:
    spec = budget["spec"]
    return spec.get("maxUnavailable") is not None or percent(spec.get("minAvailable")) is not None


def _count(world: World) -> Counted | str:
    """Text: why it cannot be done."""
    spec = world.budget["spec"]
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if not _is_share(world.budget):
        return Counted(len(world.pods), scaled(least, 0, up=True)) if least is not None else Counted(0, 0)
    counts: dict[str, int] = {}
    unmanaged = False
    for pod in world.pods:
        reference = meta.controller_of(pod)
        if reference is None:
            unmanaged = True
            continue
        found = world.scales.get(reference["uid"])
        if isinstance(found, str):
            return found
        if not isinstance(found, expected.Scaled):
            return f'found no controllers for pod "{meta.name(pod)}"'
        counts[found.uid] = found.count
    total = sum(counts.values())
    desired = max(0, total - scaled(most, total, up=True)) if most is not None else scaled(least, total, up=True)
    return Counted(total, desired, unmanaged)


def _evicted(world: World) -> tuple[dict[str, str], list[Write], float | None]:
    """Pods whose eviction was granted, as long as they may yet begin to go; those that never began; when to look again."""
    budget = world.budget
    granted = (budget.get("status") or {}).get("disruptedPods") or {}
    kept: dict[str, str] = {}
    missing: list[Write] = []
    waits = []
    for pod in world.pods:
        since = granted.get(meta.name(pod))
        if since is None or facts.is_deleting(pod):
            continue
        wait = times.parse(since) + DELETION_TIMEOUT - world.now
        if wait < 0:
            told = f"Pod was expected by PDB {meta.key(budget)} to be deleted but it wasn't"
            missing.append(Emit(Note(pod, "NotDeleted", told, "Warning")))
        else:
            kept[meta.name(pod)] = since
            waits.append(wait + 1.0)
    return kept, missing, min(waits, default=None)


def _report(world: World, counted: Counted, healthy: int, evicted: Mapping[str, str]) -> list[Write]:
    budget = world.budget
    # A budget without pods allows nothing, in case the first ones are here before it is looked at again.
    allowed = max(0, healthy - counted.desired) if counted.expected > 0 else 0
    old = budget.get("status") or {}
    status: Obj = {
        "observedGeneration": meta.generation(budget),
        **({"disruptedPods": dict(evicted)} if evicted else {}),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": counted.desired,
        "expectedPods": counted.expected,
    }
    state, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    told = conditions.find(old.get("conditions"), "DisruptionAllowed")
    settled = told is not None and (told["status"], told.get("reason")) == (state, reason)
    if settled and {name: value for name, value in old.items() if name != "conditions"} == status:
        return []
    listed = _with_condition(old.get("conditions"), state, reason, "", meta.generation(budget), world.now)
    return [set_status(PODDISRUPTIONBUDGETS, budget, {**status, "conditions": listed})]


def _refuse(budget: Obj, why: str, now: float) -> list[Write]:
    """As long as nobody knows, nothing may be disrupted."""
    old = budget.get("status") or {}
    listed = _with_condition(old.get("conditions"), "False", "SyncFailed", why, old.get("observedGeneration", 0), now)
    status = {**old, "disruptionsAllowed": 0, "conditions": listed}
    return [set_status(PODDISRUPTIONBUDGETS, budget, status)] if status != old else []


def _with_condition(listed: list[Obj] | None, state: str, reason: str, message: str, generation: int, now: float) -> list[Obj]:
    new = conditions.condition("DisruptionAllowed", state, reason, message, now)
    if generation:
        new["observedGeneration"] = generation
    old = conditions.find(listed, "DisruptionAllowed")
    if old is None:
        return [*(listed or ()), new]
    if old["status"] == state:
        new["lastTransitionTime"] = old["lastTransitionTime"]
    return [new if each is old else each for each in listed or ()]


def _unmanaged(budget: Obj) -> Note:
    told = (
        f"Pods selected by this PodDisruptionBudget (selector: {_go_text(budget['spec'].get('selector') or {})}) were found to "
        "be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined "
        'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
    )
    return Note(budget, "UnmanagedPods", told, "Warning")


def _go_text(selector: Obj) -> str:
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(map(_requirement, selector.get("matchExpressions") or ()))
    matching = f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},{matching},}}"


def _requirement(each: Obj) -> str:
    values = " ".join(each.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},Values:[{values}],}},"
