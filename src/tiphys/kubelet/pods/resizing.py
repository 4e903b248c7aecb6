"""A pod that is resized while it runs: which of its containers have something else than they have been given.

What the runtime accepted last is kept beside the pod (`InForce`), as `resources` of its containers: that is what its status
shows, and what a restarted kubelet compares with.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from tiphys.kubelet.cri.observed import Container
from tiphys.kubelet.pods.resources import Demand, demand
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class InForce:
    containers: Mapping[str, Obj] = field(default_factory=dict)
    """By `run_key`."""
    pod: Obj | None = None

    def of(self, run: Container, spec: Obj) -> Obj:
        """Where nothing was noted it has what its spec says."""
        held = self.containers.get(run_key(run.name, run.attempt))
        return (spec.get("resources") or {}) if held is None else held


def run_key(name: str, attempt: int) -> str:
    return f"{name}/{attempt}"


@dataclass(frozen=True, slots=True)
class Change:
    container: Container
    spec: Obj
    before: Demand
    after: Demand
    restart: bool
    """The container wants to begin anew with what it gets."""


def changes(pod: Obj, running: Mapping[str, Container], in_force: InForce) -> Iterator[Change]:
    """`pod`: with what it has been given."""
    spec = pod["spec"]
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        run = running.get(container["name"])
        if run is None or run.state != "running":
            continue
        after = demand(pod, container)
        before = demand(_with_level(pod, in_force), {**container, "resources": in_force.of(run, container)})
        if before != after:
            yield Change(run, container, before, after, _restarts(container, before, after))


def _with_level(pod: Obj, in_force: InForce) -> Obj:
    return pod if in_force.pod is None else {**pod, "spec": {**pod["spec"], "resources": in_force.pod}}


def _restarts(container: Obj, before: Demand, after: Demand) -> bool:
    changed = {
        "cpu": (before.cpu_limit, before.cpu_request) != (after.cpu_limit, after.cpu_request),
        "memory": (before.memory_limit, before.memory_request) != (after.memory_limit, after.memory_request),
    }
    return any(
        changed.get(each["resourceName"], False) and each["restartPolicy"] == "RestartContainer"
        for each in container.get("resizePolicy") or ()
    )


def below_use(after: Demand, before: Demand, used: int) -> bool:
    """A memory limit is lowered under what is used now: the kernel would kill for it."""
    if not after.memory_limit:
        return False
    lowered = not before.memory_limit or after.memory_limit < before.memory_limit
    return lowered and used >= after.memory_limit


def summary(words: str, pod: Obj, generation: int, problem: str = "") -> str:
    """For the event (pkg/kubelet/events/resize.go)."""
    told: Obj = {}
    for group in ("initContainers", "containers"):
        listed = [{"name": each["name"], "resources": each.get("resources") or {}} for each in pod["spec"].get(group) or ()]
        if listed:
            told[group] = listed
    told["generation"] = generation
    if problem:
        told["error"] = problem
    return f"{words}: {orjson.dumps(told).decode()}"
