"""What the node does for itself: it looks how much is left, ends pods when that is little, and drops unused images."""

import asyncio
import os
from collections.abc import Callable, Iterable

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import start
from tiphys.client.recorder import Recorder
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.eviction.manager import EvictionManager, Means
from tiphys.kubelet.eviction.signals import Observation
from tiphys.kubelet.image_collector import ImageCollector
from tiphys.kubelet.node.facts import Facts, levels
from tiphys.kubelet.pods.worker import PodWorker
from tiphys.machinery.tree import Obj


class Housekeeping:
    """`workers`: those of the pods that are here now."""

    def __init__(
        self,
        config: KubeletConfig,
        runtime: Runtime,
        machine: Facts,
        recorder: Recorder,
        workers: Callable[[], Iterable[PodWorker]],
        clock: Clock,
        log: Logger,
    ) -> None:
        self._config = config
        self._machine = machine
        self._recorder = recorder
        self._workers = workers
        self.images = ImageCollector(runtime, config.settings, self._wanted, self._tell, clock, log)
        means = Means(lambda: list(workers()), self._observe, runtime.writable_layers, self._reclaim, self._tell)
        self.eviction = EvictionManager(config.settings, means, clock, log)

    async def run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            await start(group, self.eviction.run, name="eviction")
            await start(group, self.images.run, name="images")
            ready()

    def _observe(self) -> dict[str, Observation]:
        found = levels(self._config.root)
        machine = self._machine
        made = {
            "memory.available": Observation(found.memory_available, machine.memory),
            "nodefs.available": Observation(found.disk_available, machine.disk),
            "nodefs.inodesFree": Observation(found.inodes_free, machine.inodes),
            "pid.available": Observation(found.pids_available, found.pids),
        }
        if self.images.place:
            disk = os.statvfs(self.images.place)
            made["imagefs.available"] = Observation(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize)
            made["imagefs.inodesFree"] = Observation(disk.f_favail, disk.f_files)
        return made

    async def _reclaim(self, resource: str) -> None:
        """Dead containers are gone already: no more of them are kept than somebody may ask for."""
        if resource in ("ephemeral-storage", "inodes"):
            await self.images.remove_unused()

    def _wanted(self) -> Iterable[str]:
        for worker in self._workers():
            spec = worker.pod["spec"]
            yield from (each["image"] for each in (*(spec.get("initContainers") or ()), *spec["containers"]))
            sources = (each.get("image") or {} for each in spec.get("volumes") or ())
            yield from (each["reference"] for each in sources if each.get("reference"))

    def _tell(self, reason: str, message: str) -> None:
        name = self._config.node
        about: Obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
        self._recorder.tell(about, "kubelet", "Warning", reason, message)
