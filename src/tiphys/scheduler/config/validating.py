"""What can be wrong with a configuration whose fields are all known, in upstream's words.

upstream pkg/scheduler/apis/config/validation.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tiphys.machinery import duration
from tiphys.machinery.fields import FieldError, child, duplicate, forbidden, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj

_GONE = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_VERSION = "kubescheduler.config.k8s.io/v1"
_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_WEIGHTS = "not in valid range (0, 100]"
Problems = Iterator[FieldError]


def problems(tree: Obj) -> Problems:
    elected = tree.get("leaderElection") or {}
    lock = elected.get("resourceLock") or "leases"
    if elected.get("leaderElect") is not False and lock != "leases":
        yield invalid("leaderElection.resourceLock", lock, 'resourceLock value must be "leases"')
    if tree.get("parallelism", 16) <= 0:
        yield invalid("parallelism", tree["parallelism"], "should be an integer value greater than zero")
    yield from _profiles(tree["profiles"])
    yield from _percentage("percentageOfNodesToScore", tree.get("percentageOfNodesToScore"))
    first, longest = tree.get("podInitialBackoffSeconds", 1), tree.get("podMaxBackoffSeconds", 10)
    if first <= 0:
        yield invalid("podInitialBackoffSeconds", first, "must be greater than 0")
    if longest < first:
        yield invalid("podMaxBackoffSeconds", longest, "must be greater than or equal to PodInitialBackoffSeconds")
    yield from _extenders(tree.get("extenders") or ())


def _percentage(path: str, given: int | None) -> Problems:
    if given is not None and not 0 <= given <= 100:
        yield invalid(path, given, "not in valid range [0-100]")


def _profiles(profiles: Sequence[Obj]) -> Problems:
    known: dict[str, int] = {}
    for at, profile in enumerate(profiles):
        path, name = index("profiles", at), profile.get("schedulerName") or ""
        if not name:
            yield required(child(path, "schedulerName"))
        yield from _percentage(child(path, "percentageOfNodesToScore"), profile.get("percentageOfNodesToScore"))
        yield from _plugins(path, profile)
        yield from _arguments(path, profile)
        if name in known:
            yield duplicate(child(path, "schedulerName"), f"profiles[{known[name]}].schedulerName")
        known[name] = at
        if _sorts(profile) != _sorts(profiles[0]):
            yield invalid(child(path, "plugins", "queueSort"), _sorts(profile), "must be the same for all profiles")
    sorting = _sorts(profiles[0]).get("enabled") or ()
    if len(sorting) > 1:
        yield invalid("profiles[0].plugins.queueSort.Enabled", len(sorting), "only one queue sort plugin can be enabled")


def _sorts(profile: Obj) -> Obj:
    return (profile.get("plugins") or {}).get("queueSort") or {}


def _plugins(path: str, profile: Obj) -> Problems:
    for point, chosen in (profile.get("plugins") or {}).items():
        for at, each in enumerate((chosen or {}).get("enabled") or ()):
            if each.get("name") in _GONE:
                yield _gone(index(child(path, "plugins", point, "enabled"), at), each["name"])


def _gone(path: str, name: str) -> FieldError:
    return invalid(path, name, f'was invalid in version "{_VERSION}" (KubeSchedulerConfiguration is version "{_VERSION}")')


def _arguments(path: str, profile: Obj) -> Problems:
    seen: set[str] = set()
    for at, each in enumerate(profile.get("pluginConfig") or ()):
        name, where = each.get("name", ""), index(child(path, "pluginConfig"), at)
        if name in seen:
            yield duplicate(where, name)
        seen.add(name)
        if name in _GONE:
            yield _gone(where, name)
        elif name in _CHECKS:
            yield from _CHECKS[name](child(where, "args"), each.get("args") or {})


def _extenders(extenders: Sequence[Obj]) -> Problems:
    managed: set[str] = set()
    for at, each in enumerate(extenders):
        path = index("extenders", at)
        if each.get("prioritizeVerb") and (each.get("weight") or 0) <= 0:
            yield invalid(child(path, "weight"), each.get("weight") or 0, "must have a positive weight applied to it")
        for number, resource in enumerate(each.get("managedResources") or ()):
            where, name = child(index(child(path, "managedResources"), number), "name"), resource.get("name", "")
            if "/" not in name or name.partition("/")[0].endswith("kubernetes.io"):
                yield invalid(where, name, "is an invalid extended resource name")
            if name in managed:
                yield invalid(where, name, "duplicate extender managed resource name")
            managed.add(name)
    binders = sum(bool(each.get("bindVerb")) for each in extenders)
    if binders > 1:
        yield invalid("extenders", f"found {binders} extenders implementing bind", "only one extender can implement bind")


def _preemption(path: str, args: Obj) -> Problems:
    percent, least = args.get("minCandidateNodesPercentage", 10), args.get("minCandidateNodesAbsolute", 100)
    names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    if not 0 <= percent <= 100:
        yield invalid(child(path, names[0]), percent, "not in valid range [0, 100]")
    if least < 0:
        yield invalid(child(path, names[1]), least, "not in valid range [0, inf)")
    if percent == 0 and least == 0:
        yield invalid(child(path, names[0]), percent, f"cannot be zero at the same time as {names[1]}")
        yield invalid(child(path, names[1]), least, f"cannot be zero at the same time as {names[0]}")


def _affinity(path: str, args: Obj) -> Problems:
    weight = args.get("hardPodAffinityWeight", 1)
    if not 0 <= weight <= 100:
        yield invalid(child(path, "hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


def _resources(path: str, resources: Iterable[Obj]) -> Problems:
    for at, each in enumerate(resources):
        weight = each.get("weight") or 1
        if not 1 <= weight <= 100:
            name = each.get("name", "")
            yield invalid(child(index(path, at), "weight"), weight, f"resource weight of {name} {_WEIGHTS}")


def _shape(path: str, shape: Sequence[Obj]) -> Problems:
    if not shape:
        yield required(path, "at least one point must be specified")
    for at, point in enumerate(shape):
        used, score = point.get("utilization") or 0, point.get("score") or 0
        if at and used <= (shape[at - 1].get("utilization") or 0):
            yield invalid(child(index(path, at), "utilization"), used, "values must be sorted in increasing order")
        if not 0 <= used <= 100:
            yield invalid(child(index(path, at), "utilization"), used, "not in valid range [0, 100]")
        if not 0 <= score <= 10:
            yield invalid(child(index(path, at), "score"), score, "not in valid range [0, 10]")


def _fit(path: str, args: Obj) -> Problems:
    for at, group in enumerate(args.get("ignoredResourceGroups") or ()):
        if "/" in group:
            yield invalid(index(child(path, "ignoredResourceGroups"), at), group, "resource group name can't contain '/'")
    strategy = args.get("scoringStrategy")
    if strategy is None:
        return
    where, kind = child(path, "scoringStrategy"), strategy.get("type") or ""
    yield from _resources(child(where, "resources"), strategy.get("resources") or ())
    if kind not in _STRATEGIES:
        yield not_supported(child(where, "type"), kind, _STRATEGIES)
    elif kind == "RequestedToCapacityRatio":
        ratio = strategy.get("requestedToCapacityRatio")
        if ratio is None:
            told = "must be specified when type is RequestedToCapacityRatio"
            yield required(child(where, "requestedToCapacityRatio"), told)
        else:
            yield from _shape(child(where, "requestedToCapacityRatio", "shape"), ratio.get("shape") or ())


def _balanced(path: str, args: Obj) -> Problems:
    seen: set[str] = set()
    for at, each in enumerate(args.get("resources") or ()):
        where, name = index(child(path, "resources"), at), each.get("name", "")
        if name in seen:
            yield duplicate(child(where, "name"), name)
        seen.add(name)
        if (each.get("weight") or 1) != 1:
            yield invalid(child(where, "weight"), each["weight"], "must be 1")


def _spread(path: str, args: Obj) -> Problems:
    kind, listed = args.get("defaultingType") or "System", args.get("defaultConstraints") or ()
    if kind not in ("System", "List"):
        yield not_supported(child(path, "defaultingType"), kind, ("System", "List"))
    if kind == "System" and listed:
        yield invalid(child(path, "defaultingType"), kind, "when .defaultConstraints are not empty")
    for at, each in enumerate(listed):
        where = index(child(path, "defaultConstraints"), at)
        if (each.get("maxSkew") or 0) <= 0:
            yield invalid(child(where, "maxSkew"), each.get("maxSkew") or 0, "not in valid range (0, inf)")
        if not each.get("topologyKey"):
            yield required(child(where, "topologyKey"), "can not be empty")
        if not each.get("whenUnsatisfiable"):
            yield required(child(where, "whenUnsatisfiable"), "can not be empty")
        elif each["whenUnsatisfiable"] not in _ACTIONS:
            yield not_supported(child(where, "whenUnsatisfiable"), each["whenUnsatisfiable"], _ACTIONS)
        if each.get("labelSelector") is not None:
            from_pods = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(child(where, "labelSelector"), from_pods)


def _volumes(path: str, args: Obj) -> Problems:
    seconds = args.get("bindTimeoutSeconds", 600)
    if seconds < 0:
        where = child(path, "bindTimeoutSeconds")
        yield invalid(where, seconds, "invalid BindTimeoutSeconds, should not be a negative value")
    if args.get("shape"):
        told = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield invalid(child(path, "shape"), args["shape"], told)


def _devices(path: str, args: Obj) -> Problems:
    if duration.parse(args.get("filterTimeout") or "0s") < 0:
        yield invalid(child(path, "filterTimeout"), args["filterTimeout"], "must be zero or positive")


_CHECKS: dict[str, Callable[[str, Any], Problems]] = {
    "DefaultPreemption": _preemption,
    "DynamicResources": _devices,
    "InterPodAffinity": _affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volumes,
}
