"""Reads figures from where the kernel shows them. Whatever is gone in the meantime has no figures."""

import os
from collections.abc import Iterable
from pathlib import Path

from tiphys.kubelet.cgroups import unified
from tiphys.kubelet.stats.figures import V1_FILES, V2_FILES, Disk, Interface, Use, interfaces, use_v1, use_v2

_ROOT = Path("/sys/fs/cgroup")
_TICKS = os.sysconf("SC_CLK_TCK")
_BLOCK = 512


def use_of(cgroup: str, at: float) -> Use | None:
    """`cgroup`: as /proc names it."""
    below = cgroup.strip("/")
    if unified():
        if not (_ROOT / below).is_dir():
            return None
        return use_v2({name: _text(_ROOT / below / name) for name in V2_FILES}, at)
    if not (_ROOT / "memory" / below).is_dir():
        return None
    files = {}
    for each in V1_FILES:
        controller, _, name = each.partition("/")
        files[name] = _text(_ROOT / controller / below / name)
    return use_v1(files, at, _TICKS)


def own_cgroup() -> str:
    """Of this process, by the accounting of memory."""
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(",") or (unified() and not controllers):
            return path
    return "/"


def some_process(cgroup: str) -> int | None:
    below = cgroup.strip("/")
    folder = _ROOT / below if unified() else _ROOT / "memory" / below
    first = _text(folder / "cgroup.procs").split()
    return int(first[0]) if first else None


def interfaces_of(pid: int | str) -> tuple[Interface, ...]:
    return interfaces(_text(Path(f"/proc/{pid}/net/dev")))


def file_system(path: Path, at: float) -> Disk | None:
    """The one that `path` is on."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    size = found.f_frsize
    used = (found.f_blocks - found.f_bfree) * size
    taken = found.f_files - found.f_ffree
    return Disk(at, found.f_bavail * size, found.f_blocks * size, used, found.f_ffree, found.f_files, taken)


def taken(paths: Iterable[Path]) -> tuple[int, int]:
    """Bytes on the disk and inodes of files and folders, and of what lies below these, but not of other file systems."""
    size = inodes = 0
    stack = [(str(path), -1) for path in paths]
    seen: set[tuple[int, int]] = set()
    while stack:
        path, device = stack.pop()
        try:
            found = os.lstat(path)
            if (device not in (-1, found.st_dev)) or (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
            size += found.st_blocks * _BLOCK
            inodes += 1
            if os.path.isdir(path) and not os.path.islink(path):
                stack.extend((os.path.join(path, name), found.st_dev) for name in os.listdir(path))
        except OSError:
            continue
    return size, inodes


def processes() -> tuple[int, int]:
    """Of the machine, and how many there may be."""
    running = sum(1 for name in os.listdir("/proc") if name.isdecimal())
    return running, int(_text(Path("/proc/sys/kernel/pid_max")) or "32768")


def booted_at() -> float:
    for line in _text(Path("/proc/stat")).splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return 0.0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
