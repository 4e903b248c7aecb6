"""One look at everything that runs on this node. Rates are from one look to the next; nobody looks while nobody asks."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.observed import Container, ObservedPod
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.names import log_folder
from tiphys.kubelet.node.facts import Facts
from tiphys.kubelet.pods.resources import pod_cgroup
from tiphys.kubelet.stats import reading
from tiphys.kubelet.stats.figures import ContainerUse, Disk, NodeUse, PodUse, Use, rate, sized
from tiphys.kubelet.volumes.plan import PodFolder
from tiphys.machinery.tree import Obj

_FRESH = 1.0
"""Seconds during which another look would tell nothing new."""
_LEAST_APART = 1.0
"""Between the two looks of which a rate is made."""
_DISK_SECONDS = 30.0
"""Adding up folders is work: as long a sum counts."""

Pod = tuple[Obj, ObservedPod]
Look = tuple[NodeUse, list[PodUse]]


class Collector:
    def __init__(
        self, config: KubeletConfig, facts: Facts, runtime: Runtime, clock: Clock, pods: Callable[[], Iterable[Pod]]
    ) -> None:
        self._config = config
        self._facts = facts
        self._runtime = runtime
        self._clock = clock
        self._pods = pods
        self._lock = asyncio.Lock()
        self._last: dict[bool, tuple[float, Look]] = {}
        self._before: dict[str, tuple[Use, int]] = {}
        """Cgroup -> what it had used, and the rate told then."""
        self._sizes: dict[Path, tuple[float, int, int]] = {}

    async def look(self, *, disks: bool = True) -> Look:
        """`disks`: with file systems and volumes, too."""
        async with self._lock:
            at, held = self._last.get(disks, (float("-inf"), None))
            if held is not None and self._clock.monotonic() - at < _FRESH:
                return held
            pods = [(pod, observed) for pod, observed in self._pods() if any(each.alive for each in observed.containers)]
            layers = await self._layers() if disks else {}
            found = await asyncio.to_thread(self._look, pods, layers, disks=disks)
            self._last[disks] = (self._clock.monotonic(), found)
            return found

    async def _layers(self) -> dict[str, tuple[int, int]]:
        try:
            return await self._runtime.writable_layers()
        except RuntimeFailed:
            # Figures without those of the runtime are better than none.
            return {}

    def _look(self, pods: list[Pod], layers: dict[str, tuple[int, int]], *, disks: bool) -> Look:
        now = self._clock.now()
        seen: dict[str, tuple[Use, int]] = {}
        found = [made for pod, observed in pods if (made := self._pod(pod, observed, now, layers, seen, disks=disks))]
        node = self._node(now, seen)
        self._before = seen
        self._sizes = {path: held for path, held in self._sizes.items() if now - held[0] < 2 * _DISK_SECONDS}
        return node, found

    def _use(self, cgroup: str, started_at: float, now: float, seen: dict[str, tuple[Use, int]]) -> tuple[Use, int] | None:
        use = reading.use_of(cgroup, now)
        if use is None:
            return None
        before = self._before.get(cgroup)
        if before is not None and use.at - before[0].at < _LEAST_APART:
            seen[cgroup] = before
            return use, before[1]
        found = use, rate(use, before[0] if before is not None else None, started_at)
        seen[cgroup] = found
        return found

    def _node(self, now: float, seen: dict[str, tuple[Use, int]]) -> NodeUse:
        config, booted = self._config, reading.booted_at()
        use, cores = self._use("/", booted, now, seen) or (Use(now), 0)
        running, most = reading.processes()
        disk = reading.file_system(config.root, now) or Disk(now, 0, 0, 0, 0, 0, 0)
        system = []
        for name, cgroup in (("kubelet", reading.own_cgroup()), ("pods", config.cgroup_root)):
            told = self._use(cgroup, booted, now, seen)
            if told is not None:
                system.append(ContainerUse(name, cgroup, "", booted, *told))
        return NodeUse(
            name=config.node,
            started_at=booted,
            use=replace(use, memory_limit=self._facts.memory),
            nanocores=cores,
            disk=disk,
            image_disk=disk,
            memory_capacity=self._facts.memory,
            processes=running,
            most_processes=most,
            interfaces=reading.interfaces_of("self"),
            system=tuple(system),
            cpus=self._facts.cpus,
        )

    def _pod(
        self,
        pod: Obj,
        observed: ObservedPod,
        now: float,
        layers: dict[str, tuple[int, int]],
        seen: dict[str, tuple[Use, int]],
        *,
        disks: bool,
    ) -> PodUse | None:
        sandbox = observed.sandbox
        if sandbox is None:
            return None
        cgroup = pod_cgroup(self._config.cgroup_root, pod)
        told = self._use(cgroup, sandbox.created_at, now, seen)
        if told is None:
            return None
        containers = []
        for each in observed.containers:
            used = self._use(f"{cgroup}/{each.id}", each.started_at, now, seen) if each.alive else None
            if used is None:
                continue
            rootfs, logs = self._disks(pod, each, now, layers) if disks else (None, None)
            containers.append(ContainerUse(each.name, each.id, each.image, each.started_at, *used, rootfs, logs))
        own = not pod["spec"].get("hostNetwork")
        process = reading.some_process(f"{cgroup}/{sandbox.id}") if own and disks else None
        return PodUse(
            pod,
            sandbox.created_at,
            *told,
            interfaces=reading.interfaces_of(process) if process is not None else (),
            containers=tuple(containers),
            volumes=self._volumes(pod, now) if disks else {},
            sandbox=sandbox.id,
        )

    def _disks(
        self, pod: Obj, container: Container, now: float, layers: dict[str, tuple[int, int]]
    ) -> tuple[Disk | None, Disk | None]:
        root, logs = reading.file_system(self._config.root, now), reading.file_system(self._config.logs, now)
        layer = layers.get(container.id)
        written = Path(log_folder(self._config.logs, pod), container.name)
        return (
            sized(root, *layer) if root is not None and layer is not None else None,
            sized(logs, *self._size(written, now)) if logs is not None else None,
        )

    def _volumes(self, pod: Obj, now: float) -> dict[str, Disk]:
        """Of all but those that are somebody else's folders."""
        folder = PodFolder(self._config.root / "pods" / pod["metadata"]["uid"])
        found = {}
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("hostPath") is not None:
                continue
            path = next(Path(folder.path, "volumes").glob(f"*/{volume['name']}"), None)
            system = reading.file_system(path, now) if path is not None else None
            if path is not None and system is not None:
                found[volume["name"]] = sized(system, *self._size(path, now))
        return found

    def _size(self, path: Path, now: float) -> tuple[int, int]:
        held = self._sizes.get(path)
        if held is None or now - held[0] > _DISK_SECONDS:
            held = self._sizes[path] = (now, *reading.taken([path]))
        return held[1], held[2]
