"""From two looks at a kubelet's /metrics/resource to the objects of metrics.k8s.io. Core.

https://github.com/kubernetes/design-proposals-archive/blob/main/instrumentation/resource-metrics-api.md
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.api.metrics import NODE_METRICS, POD_METRICS
from tiphys.base.metrics_text import samples
from tiphys.machinery import duration
from tiphys.machinery.times import rfc3339
from tiphys.machinery.tree import Obj

Container = tuple[str, str, str]
"""Namespace, pod, container; the node itself has none of them."""
NODE: Container = ("", "", "")
SHORTEST = 1.0
"""Between two looks, to tell a rate."""

_CPU = ("container_cpu_usage_seconds_total", "node_cpu_usage_seconds_total")
_MEMORY = ("container_memory_working_set_bytes", "node_memory_working_set_bytes")
_START = "container_start_time_seconds"


@dataclass(frozen=True, slots=True)
class Point:
    at: float = 0.0
    cpu: float | None = None
    """Core-seconds since it began."""
    memory: float | None = None
    started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """At one node."""

    points: Mapping[Container, Point] = field(default_factory=dict)

    @property
    def at(self) -> float:
        return self.points.get(NODE, Point()).at


@dataclass(frozen=True, slots=True)
class Used:
    at: float
    window: float
    nanocores: int
    memory: int

    def usage(self) -> Obj:
        return {"cpu": f"{self.nanocores}n", "memory": f"{self.memory // 1024}Ki"}


def look(text: str) -> Look:
    cpu: dict[Container, tuple[float, float]] = {}
    memory: dict[Container, float] = {}
    started: dict[Container, float] = {}
    for each in samples(text):
        labels = each.labels
        key = (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", ""))
        if each.name in _CPU:
            cpu[key] = (each.value, each.at or 0.0)
        elif each.name in _MEMORY:
            memory[key] = each.value
        elif each.name == _START:
            started[key] = each.value
    return Look({key: Point(at, value, memory.get(key), started.get(key, 0.0)) for key, (value, at) in cpu.items()})


def used(before: Look, now: Look, key: Container) -> Used | None:
    """None where there is no telling: it began, or began anew, between the looks, or has not been seen."""
    last = now.points.get(key)
    if last is None or last.cpu is None or last.memory is None:
        return None
    first = before.points.get(key)
    if first is not None and first.cpu is not None and first.started_at == last.started_at and last.at - first.at >= SHORTEST:
        window, spent = last.at - first.at, last.cpu - first.cpu
    elif last.started_at and last.at - last.started_at >= SHORTEST and first is None:
        # It is younger than the first look: all that it has used, it has used since it began.
        window, spent = last.at - last.started_at, last.cpu
    else:
        return None
    return Used(last.at, window, max(0, round(spent / window * 1e9)), int(last.memory))


def node_metrics(node: Obj, before: Look, now: Look) -> Obj | None:
    found = used(before, now, NODE)
    if found is None:
        return None
    kind, meta = NODE_METRICS, node["metadata"]
    head = _head(kind.kind, kind.api_version, {"name": meta["name"]}, meta)
    return {**head, "timestamp": rfc3339(found.at), "window": _shown(found.window), "usage": found.usage()}


def pod_metrics(pod: Obj, before: Look, now: Look) -> Obj | None:
    """None where one of its containers that run has not been seen twice: a part would be mistaken for the whole."""
    meta, kind = pod["metadata"], POD_METRICS
    found = {name: used(before, now, (meta["namespace"], meta["name"], name)) for name in _running(pod)}
    told = {name: each for name, each in found.items() if each is not None}
    if not told or len(told) != len(found):
        return None
    earliest = min(told.values(), key=lambda each: each.at)
    return {
        **_head(kind.kind, kind.api_version, {"name": meta["name"], "namespace": meta["namespace"]}, meta),
        "timestamp": rfc3339(earliest.at),
        "window": _shown(earliest.window),
        "containers": [{"name": name, "usage": each.usage()} for name, each in told.items()],
    }


def _running(pod: Obj) -> Iterable[str]:
    status = pod.get("status") or {}
    for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for each in status.get(kind) or ():
            if "running" in (each.get("state") or {}):
                yield each["name"]


def _head(kind: str, api_version: str, names: Obj, meta: Obj) -> Obj:
    labels = {"labels": meta["labels"]} if meta.get("labels") else {}
    created = {"creationTimestamp": meta.get("creationTimestamp")}
    return {"kind": kind, "apiVersion": api_version, "metadata": {**names, **created, **labels}}


def _shown(seconds: float) -> str:
    return duration.spell(round(seconds * 1000) * duration.MILLISECOND)
