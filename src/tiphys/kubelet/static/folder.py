"""Reads the folder of static pods."""

import asyncio
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.kubelet.static.manifests import BadManifest, static_pod
from tiphys.machinery.tree import Obj

_LOOK_SECONDS = 1.0


class Folder:
    every = _LOOK_SECONDS
    """The folder's list is looked at that often, so that a change is seen soon; a file is read when it has changed."""

    def __init__(self, folder: Path, node: str, clock: Clock, log: Logger) -> None:
        self._folder = folder
        self._node = node
        self._clock = clock
        self._log = log
        self._read: dict[Path, tuple[tuple[int, int], Obj | None]] = {}
        """Of each file: when it changed and how long it is, and the pod it says."""

    async def look(self) -> list[Obj]:
        found = await asyncio.to_thread(_listed, self._folder)
        for path in self._read.keys() - found.keys():
            del self._read[path]
        for path, state in found.items():
            if path not in self._read or self._read[path][0] != state:
                self._read[path] = state, await self._manifest(path)
        return [pod for _, pod in self._read.values() if pod is not None]

    async def _manifest(self, path: Path) -> Obj | None:
        try:
            return static_pod(await asyncio.to_thread(path.read_bytes), str(path), self._node, self._clock.now())
        except (OSError, BadManifest) as problem:
            self._log.error("a static pod cannot be read", path=str(path), error=str(problem))
            return None


def _listed(folder: Path) -> dict[Path, tuple[int, int]]:
    """Files, without hidden ones; where the folder is a file, that one."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    found = {}
    for path in paths:
        try:
            state = path.stat()
        except OSError:
            continue
        if path.is_file() and not path.name.startswith("."):
            found[path] = state.st_mtime_ns, state.st_size
    return found
