"""What the pods of a node leave on its machine, if anything: sandboxes, processes, mounts, cgroups, namespaces, addresses."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tiphys.cmd.node_home import NodeHome
from tiphys.kubelet.cgroups import hierarchies
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.volumes.host import mounts_below

MARK = "tiphys-chaos"
"""Stands before the uid of its pod among the arguments of a container's first process."""


def doubled() -> set[str]:
    """Pods of which two containers run now: two first processes, each of a namespace of its own. Blocks."""
    running: Counter[str] = Counter()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if MARK not in words:
                continue
            spaces = next(line for line in (process / "status").read_text().splitlines() if line.startswith("NSpid:"))
        except (OSError, StopIteration):
            continue
        if spaces.split()[-1] == "1":
            running[words[words.index(MARK) + 1]] += 1
    return {uid for uid, count in running.items() if count > 1}


def traces(home: NodeHome) -> set[str]:
    """Blocks. Raises RuntimeFailed."""
    return {*asyncio.run(_in_runtime(home)), *_on_machine(home)}


async def _in_runtime(home: NodeHome) -> list[str]:
    runtime = Runtime(home.socket)
    try:
        return [f"{'sandbox' if each.is_sandbox else 'container'} {each.id}" for each in await runtime.seen()]
    finally:
        await runtime.close()


def _on_machine(home: NodeHome) -> Iterator[str]:
    layout = home.layout
    for place in (home.folder, Path(layout.state)):
        yield from (f"mount {each}" for each in mounts_below(place))
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"containerd-shim" in words and str(layout.socket).encode() in words:
            yield f"process {process.name}"
    for hierarchy in hierarchies():
        # Not a glob: it breaks off where a folder goes while it looks.
        for place, folders, _ in os.walk(hierarchy / home.cgroup_root.lstrip("/")):
            yield from (f"cgroup {place}/{each}" for each in folders if each.startswith("pod"))
    yield from (f"network namespace {each}" for each in Path(layout.namespaces).glob("*"))
    yield from (f"link {each.name}" for each in Path("/sys/class/net", home.bridge, "brif").glob("*"))
    yield from (f"address {each}" for each in Path(layout.addresses).glob("*/[0-9]*"))
    yield from (f"folder {each}" for each in (home.folder / "kubelet" / "pods").glob("*"))
    yield from (f"logs {each}" for each in (home.folder / "logs").glob("*"))
