"""A cgroup for each pod, below one of its class of quality, below one of the node. Both versions of cgroups.

<root>                    guaranteed pods, and the two classes:
<root>/burstable          its share of the CPU is what its pods ask for together
<root>/besteffort         the least share there is
.../pod<uid>              what all containers of a pod may use together; the runtime makes theirs below it
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from tiphys.kubelet.pods.resources import (
    LEAST_SHARES,
    PERIOD,
    PodLimits,
    milli_requested,
    pod_cgroup,
    pod_limits,
    quality,
    quality_cgroup,
    shares,
)
from tiphys.machinery.tree import Obj

_ROOT = Path("/sys/fs/cgroup")
_UNLIMITED = -1
_NEVER_REACHED = 1 << 60
"""Version 1 shows a memory limit that is not there as a huge number."""


def unified() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    if unified():
        return [_ROOT]
    return [each for each in _ROOT.iterdir() if each.is_dir() and not each.is_symlink()]


def settings(limits: PodLimits, *, v2: bool) -> dict[str, str]:
    """File -> value of a pod's cgroup. What no container limits is left as it is."""
    if v2:
        made = {"cpu.weight": str(weight(limits.shares))}
        if limits.quota is not None:
            made["cpu.max"] = f"{limits.quota if limits.quota > 0 else 'max'} {PERIOD}"
        if limits.memory is not None:
            made["memory.max"] = str(limits.memory) if limits.memory > 0 else "max"
        return made
    made = {"cpu/cpu.shares": str(limits.shares)}
    if limits.quota is not None:
        made["cpu/cpu.cfs_quota_us"] = str(limits.quota)
    if limits.memory is not None:
        made["memory/memory.limit_in_bytes"] = str(limits.memory)
    return made


def weight(of_shares: int) -> int:
    """From 2..262144 to 1..10000, as the runtimes convert it."""
    return 1 + (of_shares - LEAST_SHARES) * 9999 // 262142


def make(root: str, pod: Obj, processes: int | None = None) -> None:
    """Or bring up to date what is there. `processes`: the most that it may have."""
    below = pod_cgroup(root, pod)
    _write(below, pod_limits(pod))
    if processes is not None:
        file = _file(below, "pids.max" if unified() else "pids/pids.max")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(processes))


def widen(root: str, pod: Obj) -> None:
    """Before containers are given more or less: what the pod's cgroup allows grows, but does not shrink yet."""
    below, wanted = pod_cgroup(root, pod), pod_limits(pod)
    there = current(below)
    _write(
        below,
        PodLimits(
            max(wanted.shares, there.shares),
            None if wanted.quota is None else _wider(wanted.quota, there.quota),
            None if wanted.memory is None else _wider(wanted.memory, there.memory),
        ),
    )


def _wider(one: int, other: int | None) -> int:
    return _UNLIMITED if other is None else max(one, other)


def current(below: str) -> PodLimits:
    """As the kernel has it; None is no limit."""
    if unified():
        quota = _read(below, "cpu.max").split(" ")[0]
        memory = _read(below, "memory.max")
        # Shares are only ever compared: a weight stands for the least of them that have it.
        scale = (int(_read(below, "cpu.weight") or 1) - 1) * 262142 // 9999 + LEAST_SHARES
        return PodLimits(scale, int(quota) if quota.isdecimal() else None, int(memory) if memory.isdecimal() else None)
    told = int(_read(below, "cpu/cpu.cfs_quota_us") or _UNLIMITED)
    limit = int(_read(below, "memory/memory.limit_in_bytes") or _NEVER_REACHED)
    return PodLimits(
        int(_read(below, "cpu/cpu.shares") or LEAST_SHARES),
        told if told > 0 else None,
        limit if limit < _NEVER_REACHED else None,
    )


def memory_used(below: str) -> int:
    """Bytes; 0 where nobody can tell."""
    name = "memory.current" if unified() else "memory/memory.usage_in_bytes"
    return int(_read(below, name) or 0)


def working_set(below: str) -> int:
    """Bytes that are used and cannot be had back for the asking."""
    name = "memory.stat" if unified() else "memory/memory.stat"
    idle = "inactive_file" if unified() else "total_inactive_file"
    for line in _read(below, name).splitlines():
        if line.startswith(f"{idle} "):
            return max(0, memory_used(below) - int(line.split()[1]))
    return memory_used(below)


def processes(below: str) -> int:
    return int(_read(below, "pids.current" if unified() else "pids/pids.current") or 0)


def share(root: str, pods: Iterable[Obj]) -> None:
    """Among the classes of quality, by what the pods of this node ask for."""
    burstable = milli_requested(each for each in pods if quality(each) == "Burstable")
    _write(quality_cgroup(root, "Burstable"), PodLimits(shares(burstable), None, None))
    _write(quality_cgroup(root, "BestEffort"), PodLimits(LEAST_SHARES, None, None))


def _write(below: str, limits: PodLimits) -> None:
    v2 = unified()
    if v2:
        _delegate(below.lstrip("/"))
    for name, value in settings(limits, v2=v2).items():
        file = _file(below, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value)


def _read(below: str, name: str) -> str:
    try:
        return _file(below, name).read_text().strip()
    except OSError:
        return ""


def _file(below: str, name: str) -> Path:
    """`name`: with its controller before it where there are hierarchies."""
    if unified():
        return _ROOT / below.lstrip("/") / name
    controller, _, setting = name.partition("/")
    return _ROOT / controller / below.lstrip("/") / setting


def _delegate(below: str) -> None:
    """Give each level the controllers of the one above it."""
    at = _ROOT
    for part in Path(below).parts:
        with contextlib.suppress(OSError):
            (at / "cgroup.subtree_control").write_text("+cpu +memory +pids")
        at = at / part
        at.mkdir(exist_ok=True)


def pods_below(root: str) -> dict[str, set[str]]:
    """The uids of pods that have cgroups there, and which: each in one class of quality, in any hierarchy."""
    found: dict[str, set[str]] = {}
    for hierarchy in hierarchies():
        for below in (quality_cgroup(root, name) for name in ("Guaranteed", "Burstable", "BestEffort")):
            for each in (hierarchy / below.lstrip("/")).glob("pod*"):
                found.setdefault(each.name.removeprefix("pod"), set()).add(f"{below}/{each.name}")
    return found


def remove(below: str) -> None:
    """A cgroup with everything below it; what still has processes stays."""
    for hierarchy in hierarchies():
        top = hierarchy / below.lstrip("/")
        if not top.is_dir():
            continue
        for folder in sorted((each for each in top.rglob("*") if each.is_dir()), key=lambda each: -len(each.parts)):
            with contextlib.suppress(OSError):
                folder.rmdir()
        with contextlib.suppress(OSError):
            top.rmdir()
