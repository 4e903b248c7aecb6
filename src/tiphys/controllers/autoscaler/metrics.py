"""What is asked about each metric, and what its answer means: from who serves it to a number of copies, in upstream's words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiphys.api.kind import Kind
from tiphys.api.metrics import POD_METRICS
from tiphys.controllers.autoscaler import replicas
from tiphys.controllers.autoscaler.replicas import Proposal, Sample, Target, Unknowable
from tiphys.machinery import duration, quantity, selectors, times
from tiphys.machinery.quantity import BINARY_SI, DECIMAL_SI
from tiphys.machinery.tree import Obj, get

CUSTOM = "custom.metrics.k8s.io"
CUSTOM_VERSIONS = ("v1beta2", "v1beta1")
"""The first that is served counts."""
EXTERNAL = "external.metrics.k8s.io"
WINDOW = 60.0
"""Seconds that a custom metric of a pod covers, where it does not say."""
EVERY = "*"
"""In the place of an object's name."""

Kinds = Mapping[tuple[str, str], Kind]
"""By group and kind: what this server has."""


@dataclass(frozen=True, slots=True)
class Question:
    """One GET; of several kinds the first that is served answers."""

    api: str
    """What is missing where none is served."""
    kinds: tuple[Kind, ...]
    namespace: str
    name: str = ""
    subresource: str = ""
    params: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    items: Sequence[Obj] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Followed:
    """What one metric asks for, and how the status tells it."""

    replicas: int
    name: str
    status: Obj


@dataclass(frozen=True, slots=True)
class Failed:
    reason: str
    problem: str
    """As the condition says it."""
    context: str
    """What it was about, for the sum of what went wrong."""


_FIELDS = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}


def source(metric: Obj) -> Obj:
    found: Obj = metric.get(_FIELDS.get(metric.get("type", ""), "")) or {}
    return found


def question(metric: Obj, namespace: str, selector: str, kinds: Kinds) -> Question | str:
    """Text is why there is no such question."""
    asked = source(metric)
    match metric.get("type"):
        case "Resource" | "ContainerResource":
            return Question("resource metrics API", (POD_METRICS,), namespace, params=_params(labelSelector=selector))
        case "Pods":
            selected = _metric_selector(asked)
            params = _params(labelSelector=selector, metricLabelSelector=selected)
            return Question("custom metrics API", _custom("pods"), namespace, EVERY, asked["metric"]["name"], params)
        case "Object":
            return _about_object(asked, namespace, kinds)
        case "External":
            name = asked["metric"]["name"]
            kind = Kind(EXTERNAL, "v1beta1", "ExternalMetricValueList", name, "")
            return Question("external metrics API", (kind,), namespace, params=_params(labelSelector=_metric_selector(asked)))
    return f'unknown metric source type "{metric.get("type", "")}"'


def _about_object(asked: Obj, namespace: str, kinds: Kinds) -> Question | str:
    described, metric = asked["describedObject"], asked["metric"]["name"]
    params = _params(metricLabelSelector=_metric_selector(asked))
    group, _, _ = described.get("apiVersion", "").rpartition("/")
    kind = kinds.get((group, described["kind"]))
    if (group, described["kind"]) == ("", "Namespace"):
        # Its own one, whatever name is given.
        return Question("custom metrics API", _custom("metrics"), namespace, metric, params=params)
    if kind is None:
        shown = f"{described['kind']}.{group}" if group else described["kind"]
        within = f' in group "{group}"' if group else ""
        return f'unable to map kind {shown} to resource: no matches for kind "{described["kind"]}"{within}'
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    return Question("custom metrics API", _custom(resource), namespace, described["name"], metric, params)


def _custom(plural: str) -> tuple[Kind, ...]:
    return tuple(Kind(CUSTOM, version, "MetricValueList", plural, "") for version in CUSTOM_VERSIONS)


def _params(**given: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in given.items() if value)


def _metric_selector(asked: Obj) -> str:
    return str(selectors.from_tree(asked["metric"].get("selector")))


def follow(metric: Obj, answer: Answer, namespace: str, target: Target) -> Followed | Failed:
    kind = metric.get("type", "")
    asked = source(metric)
    wanted = asked.get("target") or {}
    try:
        match kind:
            case "Resource" | "ContainerResource":
                return _resource(kind, asked, wanted, answer, target)
            case "Pods":
                return _pods(asked, wanted, answer, target)
            case "Object":
                return _object(asked, wanted, answer, namespace, target)
            case "External":
                return _external(asked, wanted, answer, namespace, target)
    except Unknowable as why:
        return Failed(f"FailedGet{kind}Metric", str(why), _context(kind, asked))
    return Failed("InvalidMetricSourceType", answer.problem, "")


def _context(kind: str, asked: Obj) -> str:
    match kind:
        case "Resource":
            return f"failed to get {asked['name']} resource metric value: "
        case "ContainerResource":
            return f"failed to get {asked['container']} container metric value: "
        case "External":
            return f"failed to get {asked['metric']['name']} external metric value: "
    return f"failed to get {kind.lower()} metric value: "


def _answered(answer: Answer, api: str) -> Sequence[Obj]:
    if answer.problem:
        raise Unknowable(f"unable to fetch metrics from {api}: {answer.problem}")
    if not answer.items:
        raise Unknowable(f"no metrics returned from {api}")
    return answer.items


def _resource(kind: str, asked: Obj, wanted: Obj, answer: Answer, target: Target) -> Followed:
    name, container = asked["name"], asked.get("container", "")
    in_container = "container " if kind == "ContainerResource" else ""
    what = "usage" if wanted.get("averageValue") is not None else "utilization"
    try:
        if what == "usage":
            samples = _samples(answer, name, container)
            proposal = replicas.by_average(target, samples, _milli(wanted["averageValue"]), name == "cpu")
            told = f"{name} resource"
        else:
            proposal = _utilization(wanted, name, container, answer, target)
            told = f"{name} {in_container}resource utilization (percentage of request)"
    except Unknowable as why:
        raise Unknowable(f"failed to get {name} {what}: {why}") from None
    current: Obj = {"averageValue": _spelled(proposal.usage, binary=name == "memory")}
    if proposal.utilization is not None:
        current["averageUtilization"] = proposal.utilization
    place = {"name": name, "container": container} if container else {"name": name}
    return Followed(proposal.replicas, told, {"type": kind, _FIELDS[kind]: {**place, "current": current}})


def _utilization(wanted: Obj, name: str, container: str, answer: Answer, target: Target) -> Proposal:
    samples = _samples(answer, name, container)
    if not target.pods:
        raise Unknowable(replicas.NO_PODS)
    requests = replicas.requests_of(target.pods, name, container)
    return replicas.by_utilization(target, samples, requests, wanted["averageUtilization"], name == "cpu")


def _samples(answer: Answer, resource: str, container: str) -> dict[str, Sample]:
    try:
        items = _answered(answer, "resource metrics API")
    except Unknowable as why:
        raise Unknowable(f"unable to get metrics for resource {resource}: {why}") from None
    found = ((item, _used(item, resource, container)) for item in items)
    return {
        item["metadata"]["name"]: Sample(used, times.parse(item["timestamp"]), duration.seconds(item["window"]))
        for item, used in found
        if used is not None
    }


def _used(item: Obj, resource: str, container: str) -> int | None:
    """None: not (all of it) is known."""
    listed = [each for each in item.get("containers") or () if not container or each["name"] == container]
    amounts = [(each.get("usage") or {}).get(resource) for each in listed]
    if not amounts or None in amounts:
        return None
    return sum(_milli(amount) for amount in amounts)


def _pods(asked: Obj, wanted: Obj, answer: Answer, target: Target) -> Followed:
    name = asked["metric"]["name"]
    try:
        items = _answered(answer, "custom metrics API")
    except Unknowable as why:
        raise Unknowable(f"unable to get metric {name}: {why}") from None
    samples = {
        item["describedObject"]["name"]: Sample(_milli(item["value"]), times.parse(item["timestamp"]), _window(item))
        for item in items
    }
    proposal = replicas.by_average(target, samples, _milli(wanted["averageValue"]), cpu=False)
    current = {"averageValue": _spelled(proposal.usage)}
    return Followed(proposal.replicas, f"pods metric {name}", _status("Pods", {"metric": asked["metric"], "current": current}))


def _window(item: Obj) -> float:
    told = item.get("windowSeconds", item.get("window"))
    return WINDOW if told is None else float(told)


def _object(asked: Obj, wanted: Obj, answer: Answer, namespace: str, target: Target) -> Followed:
    described, metric = asked["describedObject"], asked["metric"]
    each = wanted.get("type") == "AverageValue" and wanted.get("averageValue") is not None
    if not each and wanted.get("value") is None:
        raise Unknowable("invalid object metric source: neither a value target nor an average value target was set")
    context = f"failed to get {metric['name']} object metric: " if each else ""
    try:
        usage = _one(answer)
    except Unknowable as why:
        where = f"{described['kind']} on {namespace} {described['name']}/"
        raise Unknowable(f"{context}unable to get metric {metric['name']}: {where}{why}") from None
    proposal = _by_figure(usage, wanted, target, each=each)
    current = {"averageValue" if each else "value": _spelled(proposal.usage)}
    told = _external_name(metric) if each else f"{described['kind']} metric {metric['name']}"
    status = {"metric": metric, "current": current, "describedObject": described}
    return Followed(proposal.replicas, told, _status("Object", status))


def _one(answer: Answer) -> int:
    if answer.problem:
        raise Unknowable(f"unable to fetch metrics from custom metrics API: {answer.problem}")
    if len(answer.items) != 1:
        count = len(answer.items)
        problem = f"the custom metrics API server returned {count} results when we asked for exactly one"
        raise Unknowable(f"unable to fetch metrics from custom metrics API: {problem}")
    return _milli(answer.items[0]["value"])


def _external(asked: Obj, wanted: Obj, answer: Answer, namespace: str, target: Target) -> Followed:
    metric = asked["metric"]
    each = wanted.get("averageValue") is not None
    if not each and wanted.get("value") is None:
        raise Unknowable("invalid external metric source: neither a value target nor an average value target was set")
    name = metric["name"]
    context = f"failed to get {name} external metric: " if each else f"failed to get external metric {name}: "
    try:
        usage = _sum(answer, f"{namespace}/{name}/{_shown(metric.get('selector'))}")
        proposal = _by_figure(usage, wanted, target, each=each)
    except Unknowable as why:
        raise Unknowable(f"{context}{why}") from None
    current = {"averageValue" if each else "value": _spelled(proposal.usage)}
    return Followed(proposal.replicas, _external_name(metric), _status("External", {"metric": metric, "current": current}))


def _sum(answer: Answer, shown: str) -> int:
    try:
        items = _answered(answer, "external metrics API")
    except Unknowable as why:
        raise Unknowable(f"unable to get external metric {shown}: {why}") from None
    return min(sum(_milli(item["value"]) for item in items), 2**63 - 1)


def _by_figure(usage: int, wanted: Obj, target: Target, *, each: bool) -> Proposal:
    if each:
        return replicas.by_value_each(target, usage, _milli(wanted["averageValue"]))
    return replicas.by_value(target, usage, _milli(wanted["value"]))


def _status(kind: str, told: Obj) -> Obj:
    return {"type": kind, _FIELDS[kind]: told}


def _external_name(metric: Obj) -> str:
    return f"external metric {metric['name']}({_shown(metric.get('selector'))})"


def _shown(selector: Obj | None) -> str:
    """A LabelSelector as Go prints one."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(map(_requirement, selector.get("matchExpressions") or ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _requirement(each: Obj) -> str:
    values = " ".join(each.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},Values:[{values}],}},"


def _milli(text: Any) -> int:
    return quantity.parse(text).milli()


def _spelled(milli: int, *, binary: bool = False) -> str:
    return str(quantity.from_milli(milli, BINARY_SI if binary else DECIMAL_SI))


def tolerated(behavior: Obj | None, usual: float) -> replicas.Tolerance:
    def of(direction: str) -> float:
        own = get(behavior or {}, (direction, "tolerance"))
        return usual if own is None else float(quantity.parse(own))

    return replicas.Tolerance(of("scaleDown"), of("scaleUp"))


def summed(failed: Iterable[Failed], total: int) -> str:
    """What went wrong with the metrics, in a line."""
    every = list(failed)
    return f"invalid metrics ({len(every)} invalid out of {total}), first error is: {every[0].context}{every[0].problem}"
