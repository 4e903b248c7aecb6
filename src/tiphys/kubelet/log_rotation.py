"""Begins a new file when a container's log has grown to its limit, and keeps a few old ones."""

import asyncio
import gzip
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.configuration import seconds
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.observed import ObservedPod
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.log_files import turn
from tiphys.kubelet.names import log_folder
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj


class LogRotation:
    def __init__(
        self,
        config: KubeletConfig,
        runtime: Runtime,
        clock: Clock,
        log: Logger,
        pods: Callable[[], Iterable[tuple[Obj, ObservedPod]]],
    ) -> None:
        settings = config.settings
        self._logs = config.logs
        self._most_bytes = quantity.parse(settings["containerLogMaxSize"]).value()
        self._most_files: int = settings["containerLogMaxFiles"]
        self._interval = seconds(settings, "containerLogMonitorInterval")
        self._runtime = runtime
        self._clock = clock
        self._log = log
        self._pods = pods

    async def run(self, ready: Callable[[], None]) -> None:
        ready()
        while True:
            await self._clock.sleep(self._interval)
            await self.look()

    async def look(self) -> None:
        for pod, observed in list(self._pods()):
            for each in observed.containers:
                if each.state == "running":
                    path = Path(log_folder(self._logs, pod), each.name, f"{each.attempt}.log")
                    if _size(path) >= self._most_bytes:
                        await self._begin_anew(path, each.id)

    async def _begin_anew(self, path: Path, container_id: str) -> None:
        try:
            target = await asyncio.to_thread(self._turn, path)
            try:
                await self._runtime.reopen_log(container_id)
            except RuntimeFailed:
                # It still writes to the old file, whatever that is called.
                await asyncio.to_thread(target.rename, path)
                raise
        except (OSError, RuntimeFailed) as problem:
            self._log.warning("a container's log could not be begun anew", file=str(path), problem=str(problem))

    def _turn(self, path: Path) -> Path:
        """What the full file is called now."""
        plan = turn(path.name, os.listdir(path.parent), self._most_files, self._clock.now())
        for name in plan.remove:
            (path.parent / name).unlink(missing_ok=True)
        for name in plan.compress:
            _compress(path.parent / name)
        return path.rename(path.parent / plan.rename_to)


def _compress(path: Path) -> None:
    unfinished = path.with_name(f"{path.name}.tmp")
    with path.open("rb") as source, gzip.open(unfinished, "wb") as target:
        shutil.copyfileobj(source, target)
    unfinished.rename(path.with_name(f"{path.name}.gz"))
    path.unlink()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
