"""How many copies a figure asks for. Figures are in thousandths.

Pods whose use nobody knows yet must not tip the scales: when the others ask for more they count as idle, when they ask for
fewer as busy; and where that turns the answer round, nothing changes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from tiphys.api.core.pods import facts
from tiphys.controllers.autoscaler.settings import AutoscalerSettings
from tiphys.machinery import meta, quantity, times
from tiphys.machinery.tree import Obj, get

MOST = 2**31 - 1
_INT64_MAX = 2**63 - 1
NO_PODS = "no pods returned by selector while calculating replica count"


class Unknowable(Exception):
    """Why nobody can say how many; in upstream's words."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one pod uses."""

    value: int
    at: float
    window: float
    """Seconds over which it was measured."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    down: float
    up: float

    def covers(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


@dataclass(frozen=True, slots=True)
class Target:
    """What is scaled, as far as counting needs it."""

    replicas: int
    """As its scale wants."""
    present: int
    """As its scale has."""
    pods: Sequence[Obj]
    tolerance: Tolerance
    settings: AutoscalerSettings
    now: float


@dataclass(frozen=True, slots=True)
class Proposal:
    replicas: int
    usage: int
    utilization: int | None = None
    """Percent."""


@dataclass(frozen=True, slots=True)
class _Grouped:
    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    values: Mapping[str, int]
    """Of those that count, and of whoever else was measured."""


def by_utilization(
    target: Target, samples: Mapping[str, Sample], requests: Mapping[str, int], percent: int, cpu: bool
) -> Proposal:
    """So that on average they use this share of what they request."""
    grouped = _group(target, samples, cpu)

    def total(values: Mapping[str, int]) -> tuple[int, int]:
        known = [name for name in values if name in requests]
        asked = sum(requests[name] for name in known)
        if asked == 0:
            raise Unknowable("no metrics returned matched known pods")
        used = sum(values[name] for name in known)
        return _quotient(used * 100, asked), _quotient(used, len(known))

    def if_busy(name: str) -> int:
        return requests[name] * max(100, percent) // 100

    utilization, usage = total(grouped.values)
    replicas = _follow(target, grouped, lambda values: total(values)[0] / percent, if_busy)
    return Proposal(replicas, usage, utilization)


def by_average(target: Target, samples: Mapping[str, Sample], wanted: int, cpu: bool) -> Proposal:
    """So that on average each uses this much."""
    grouped = _group(target, samples, cpu)

    def mean(values: Mapping[str, int]) -> int:
        return _quotient(sum(values.values()), len(values))

    replicas = _follow(target, grouped, lambda values: mean(values) / wanted, lambda _: wanted)
    return Proposal(replicas, mean(grouped.values))


def by_value(target: Target, usage: int, wanted: int) -> Proposal:
    """One figure for all of them together."""
    ratio = usage / wanted
    if target.replicas == 0:
        return Proposal(_bounded(ratio), usage)
    if target.tolerance.covers(ratio):
        return Proposal(target.replicas, usage)
    if not target.pods:
        raise Unknowable(f"unable to calculate ready pods: {NO_PODS}")
    ready = sum(1 for pod in target.pods if facts.phase(pod) == "Running" and facts.is_ready(pod))
    return Proposal(_bounded(ratio * ready), usage)


def by_value_each(target: Target, usage: int, wanted: int) -> Proposal:
    """One figure, of which each takes an equal share."""
    present = target.present
    if present and target.tolerance.covers(usage / (wanted * present)):
        replicas = present
    else:
        replicas = present if not usage and not present else _bounded(usage / wanted)
    return Proposal(replicas, ceil(usage / present) if present else _INT64_MAX if usage else 0)


def _follow(
    target: Target, grouped: _Grouped, ratio_of: Callable[[Mapping[str, int]], float], if_busy: Callable[[str], int]
) -> int:
    ratio = ratio_of(grouped.values)
    more_than_unready = bool(grouped.unready) and ratio > 1.0
    if not more_than_unready and not grouped.missing:
        return target.replicas if target.tolerance.covers(ratio) else _bounded(ratio * grouped.ready)
    values = dict(grouped.values)
    if ratio < 1.0:
        values |= {name: if_busy(name) for name in grouped.missing}
    elif ratio > 1.0:
        values |= dict.fromkeys(grouped.missing, 0)
    if more_than_unready:
        values |= dict.fromkeys(grouped.unready, 0)
    again = ratio_of(values)
    if target.tolerance.covers(again) or ratio < 1.0 < again or again < 1.0 < ratio:
        return target.replicas
    replicas = _bounded(again * len(values))
    turned = replicas > target.replicas if again < 1.0 else replicas < target.replicas
    return target.replicas if turned else replicas


def _group(target: Target, samples: Mapping[str, Sample], cpu: bool) -> _Grouped:
    if not target.pods:
        raise Unknowable(NO_PODS)
    ready = 0
    unready, missing, ignored = set[str](), set[str](), set[str]()
    for pod in target.pods:
        name = meta.name(pod)
        sample = samples.get(name)
        if facts.is_deleting(pod) or facts.phase(pod) == "Failed":
            ignored.add(name)
        elif facts.phase(pod) == "Pending":
            unready.add(name)
        elif sample is None:
            missing.add(name)
        elif cpu and _is_starting(pod, sample, target.settings, target.now):
            unready.add(name)
        else:
            ready += 1
    values = {name: sample.value for name, sample in samples.items() if name not in ignored and name not in unready}
    if not values:
        raise Unknowable("did not receive metrics for targeted pods (pods might be unready)")
    return _Grouped(ready, frozenset(unready), frozenset(missing), values)


def _is_starting(pod: Obj, sample: Sample, settings: AutoscalerSettings, now: float) -> bool:
    """What it uses now says nothing of what it will."""
    condition, started = facts.condition(pod, "Ready"), get(pod, ("status", "startTime"))
    if condition is None or not started:
        return True
    began, changed = times.parse(started), times.parse(condition["lastTransitionTime"])
    unready = condition.get("status") == "False"
    if began + settings.cpu_initialization > now:
        return unready or sample.at < changed + sample.window
    return unready and began + settings.initial_readiness > changed


def requests_of(pods: Iterable[Obj], resource: str, container: str) -> dict[str, int]:
    """By pod. Raises Unknowable where one does not say."""
    return {meta.name(pod): _request(pod, resource, container) for pod in pods}


def _request(pod: Obj, resource: str, container: str) -> int:
    spec = pod["spec"]
    if not container and get(spec, ("resources", "requests")):
        found = facts.requests(pod).get(resource)
        if found is None:
            raise Unknowable(f"missing pod-level request for {resource} in Pod {meta.name(pod)}")
        return found.milli()
    total = 0
    for each in _long_lived(spec):
        if container and each["name"] != container:
            continue
        asked = get(each, ("resources", "requests"), {}).get(resource)
        if asked is None:
            raise Unknowable(f"missing request for {resource} in container {each['name']} of Pod {meta.name(pod)}")
        total += quantity.parse(asked).milli()
        if container:
            return total
    if container:
        raise Unknowable(f"container {container} not found in Pod {meta.name(pod)}")
    return total


def _long_lived(spec: Obj) -> Iterable[Obj]:
    yield from spec["containers"]
    for each in spec.get("initContainers") or ():
        if each.get("restartPolicy") == "Always":
            yield each


def _bounded(count: float) -> int:
    return MOST if count > MOST else ceil(count)


def _quotient(top: int, bottom: int) -> int:
    """Rounded towards zero."""
    return top // bottom if top >= 0 else -(-top // bottom)
