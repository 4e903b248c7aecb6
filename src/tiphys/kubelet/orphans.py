"""What lies around on the node of pods that nobody knows: a kubelet that was killed while it took a pod away leaves it.

Volumes, logs and cgroups, each named after its pod's uid. All of it blocks; callers go through a thread.
"""

from collections.abc import Iterable
from pathlib import Path, PurePath

from tiphys.kubelet import cgroups
from tiphys.kubelet.volumes import host


def uids(root: Path, logs: Path, cgroup_root: str) -> set[str]:
    """Of all pods of which there is anything."""
    folders = (each.name for each in _inside(root / "pods"))
    logged = (each.name.rpartition("_")[2] for each in _inside(logs) if each.name.count("_") >= 2)
    return {*folders, *logged, *cgroups.pods_below(cgroup_root)}


def remove(uid: str, root: Path, logs: Path, cgroup_root: str) -> None:
    """Raises OSError where something of it is still in use."""
    host.remove_tree(root / "pods" / uid)
    for each in _inside(logs):
        if each.name.endswith(f"_{uid}"):
            host.remove_tree(each)
    for below in cgroups.pods_below(cgroup_root).get(uid, ()):
        cgroups.remove(below)


def _inside(folder: PurePath) -> Iterable[Path]:
    return Path(folder).iterdir() if Path(folder).is_dir() else ()
