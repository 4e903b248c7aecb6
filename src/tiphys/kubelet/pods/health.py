"""The probes of a pod's containers while these run, and what they say."""

import asyncio
from collections.abc import Callable

from tiphys.base.tasks import spawn
from tiphys.kubelet.cri.observed import Container, ObservedPod
from tiphys.kubelet.names import all_containers
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.restarts import is_sidecar
from tiphys.kubelet.pods.starting import Starter
from tiphys.kubelet.probes.verdict import Kind, Probed
from tiphys.kubelet.probes.watcher import Watcher
from tiphys.kubelet.status.containers import Health
from tiphys.machinery.tree import Obj


class PodHealth:
    """Of one pod; its tasks live in the worker's group."""

    def __init__(self, context: Context, starter: Starter, group: asyncio.TaskGroup, wake: Callable[[], None]) -> None:
        self._context = context
        self._starter = starter
        self._group = group
        self._wake = wake
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._ready: set[str] = set()
        self._started: set[str] = set()
        self.unhealthy: dict[str, str] = {}
        self.last: dict[tuple[str, Kind], Probed] = {}
        """What the probes of each container said last, also of one that has ended since."""

    def follow(self, pod: Obj, observed: ObservedPod) -> None:
        """Watch the containers that run, and no others."""
        init = {each["name"]: is_sidecar(each) for each in pod["spec"].get("initContainers") or ()}
        running = {each.id: each for each in observed.containers if each.state == "running"}
        for gone in self._watchers.keys() - running.keys():
            self._watchers.pop(gone).cancel()
        for held in (self._ready, self._started):
            held.intersection_update(running)
        for gone in self.unhealthy.keys() - running.keys():
            del self.unhealthy[gone]
        specs = {each["name"]: each for each in all_containers(pod)}
        for container in running.values():
            spec = specs.get(container.name)
            if spec is not None and container.id not in self._watchers and init.get(container.name, True):
                self._watch(pod, spec, container, observed)
            elif spec is not None and not init.get(container.name, True):
                self._started.add(container.id)

    def _watch(self, pod: Obj, spec: Obj, container: Container, observed: ObservedPod) -> None:
        if not spec.get("startupProbe"):
            self._started.add(container.id)
            if not spec.get("readinessProbe"):
                self._ready.add(container.id)
        sandbox = observed.sandbox
        addresses = sandbox.addresses if sandbox is not None else ()
        if pod["spec"].get("hostNetwork"):
            addresses = self._context.config.addresses

        def verdict(kind: Kind, good: bool, _: str) -> None:
            self._judge(kind, good, spec, container.id)

        names = (pod["metadata"]["name"], pod["metadata"]["namespace"], pod["metadata"]["uid"])

        def answered(kind: Kind, good: bool, output: str) -> None:
            self.last[container.name, kind] = Probed(good, output, self._context.clock.now())
            self._context.telemetry.probed(kind, "successful" if good else "failed", container.name, names)
            if not good:
                told = f"{kind.capitalize()} probe failed: {output}"
                self._context.tell(pod, "Warning", "Unhealthy", told, spec)

        watcher = Watcher(
            self._starter.asked(spec, container.id, addresses),
            container.started_at,
            self._context.executor,
            self._context.clock,
            verdict,
            answered,
        )
        self._watchers[container.id] = spawn(self._group, watcher.run(), name=f"probes of {container.name}")

    def _judge(self, kind: Kind, good: bool, spec: Obj, container_id: str) -> None:
        self._starter.timeline.note(f"{kind} probe {'succeeded' if good else 'failed'}", spec["name"])
        if kind == "readiness":
            (self._ready.add if good else self._ready.discard)(container_id)
        elif not good:
            self.unhealthy[container_id] = kind
        elif kind == "startup":
            self._started.add(container_id)
            if not spec.get("readinessProbe"):
                self._ready.add(container_id)
        self._wake()

    @property
    def value(self) -> Health:
        return Health(frozenset(self._ready), frozenset(self._started))

    @property
    def started(self) -> frozenset[str]:
        return frozenset(self._started)

    def stop(self) -> None:
        for task in self._watchers.values():
            task.cancel()
        self._watchers.clear()
        self._ready.clear()
