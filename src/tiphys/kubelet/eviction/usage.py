"""What pods use of memory, processes and disk: from their cgroups, their folders, and what the runtime says of their layers."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from tiphys.kubelet import cgroups
from tiphys.kubelet.cri.observed import ObservedPod
from tiphys.kubelet.eviction.ranking import ContainerUsage, Usage
from tiphys.kubelet.volumes.plan import PodFolder, kind_of
from tiphys.machinery.tree import Obj

Layers = Mapping[str, tuple[int, int]]
"""Container id -> bytes and files of its writable layer."""


@dataclass(frozen=True, slots=True)
class Where:
    cgroup: str
    folder: PodFolder
    logs: PurePath


def measure(pod: Obj, observed: ObservedPod, where: Where, layers: Layers) -> Usage:
    """Blocks. The disk is measured as far as `layers` are given; without them it is left alone."""
    alive = {each.name: each.id for each in reversed(observed.containers) if each.alive}
    memory = {name: cgroups.working_set(f"{where.cgroup}/{identity}") for name, identity in alive.items()}
    pids = cgroups.processes(where.cgroup)
    if not layers and not alive:
        return Usage(cgroups.working_set(where.cgroup), pids)
    volumes, disk, inodes = {}, 0, 0
    for volume in pod["spec"].get("volumes") or ():
        if kind_of(volume) == "emptyDir" and (volume.get("emptyDir") or {}).get("medium", "") != "Memory":
            volumes[volume["name"]], files = _tree(where.folder.volume(volume))
            disk, inodes = disk + volumes[volume["name"]], inodes + files
    containers = {}
    for name in {each.name for each in observed.containers}:
        own, files = layers.get(alive.get(name, ""), (0, 0))
        logs, _ = _tree(where.logs / name)
        containers[name] = ContainerUsage(memory.get(name, 0), own + logs)
        disk, inodes = disk + own + logs, inodes + files
    return Usage(cgroups.working_set(where.cgroup), pids, disk, inodes, containers, volumes)


def _tree(top: PurePath) -> tuple[int, int]:
    """Bytes on the disk and files below a folder; what vanishes meanwhile does not count."""
    size = files = 0
    for entry in _entries(top):
        with contextlib.suppress(OSError):
            size += entry.stat(follow_symlinks=False).st_blocks * 512
            files += 1
    return size, files


def _entries(top: PurePath) -> Iterator["os.DirEntry[str]"]:
    folders = [Path(top)]
    while folders:
        try:
            found = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in found:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
