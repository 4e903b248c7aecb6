"""Shims that nobody knows any more, and what they hold: a containerd that is killed while it starts or ends a task leaves them,
and one that waits for such a start in vain.

A shim serves all containers of a sandbox and is named after the sandbox, so one whose own task is gone may still be needed.
"""

import contextlib
import os
import shutil
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, run

from tiphys.kubelet.containerd.config import Layout
from tiphys.kubelet.volumes import host

_RUNC = Path("/run/containerd/runc/k8s.io")
"""Where the shims of all containerds of a machine keep runc's state."""
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Shims:
    processes: frozenset[tuple[int, str]] = frozenset()
    """Of this containerd: pid and what it is named after."""
    bundles: frozenset[str] = frozenset()
    """Ids of tasks that have a folder."""

    def __bool__(self) -> bool:
        return bool(self.processes or self.bundles)


def look(layout: Layout) -> Shims:
    """Blocks."""
    pids = [int(each) for each in os.listdir("/proc") if each.isdecimal()]
    names = {pid: named(_words(pid), str(layout.socket)) for pid in pids}
    places = Path(layout.tasks)
    bundles = frozenset(os.listdir(places)) if places.is_dir() else frozenset[str]()
    return Shims(frozenset((pid, name) for pid, name in names.items() if name), bundles)


def named(words: list[str], socket: str) -> str:
    """After what a process is, if it is a shim of the containerd with that socket."""
    if not words or "containerd-shim" not in words[0] or socket not in words or "-id" not in words[:-1]:
        return ""
    return words[words.index("-id") + 1]


def unknown(before: Shims, tasks: Iterable[str], sandbox_of: Mapping[str, str]) -> Shims:
    """`tasks`: all that containerd knows; `sandbox_of`: of each of its containers."""
    known = frozenset(tasks)
    needed = known | {sandbox_of[each] for each in known if each in sandbox_of}
    return Shims(frozenset(each for each in before.processes if each[1] not in needed), before.bundles - known)


def remove(left: Shims, layout: Layout) -> None:
    """Blocks. What still runs of such a task is killed."""
    for name in left.bundles | {name for _, name in left.processes}:
        if (_RUNC / name).exists():
            command = ["runc", "--root", str(_RUNC), "delete", "--force", name]
            run(command, stdout=DEVNULL, stderr=DEVNULL, timeout=_PATIENCE, check=False)
    for pid, name in left.processes:
        if named(_words(pid), str(layout.socket)) == name:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for name in left.bundles:
        for place in (layout.tasks, layout.task_files):
            host.unmount_below(place / name)
            shutil.rmtree(place / name, ignore_errors=True)


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
