"""Takes away everything that a node has made on this machine: containers, mounts, cgroups, its containerd."""

import asyncio
import contextlib
from pathlib import Path

from tiphys.kubelet import cgroups
from tiphys.kubelet.containerd import shims
from tiphys.kubelet.containerd.config import Layout
from tiphys.kubelet.containerd.process import CannotRun, Containerd
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.pods.stopping import remove_from_runtime
from tiphys.kubelet.volumes import host


async def clean(containerd: Containerd, root: Path, *, cgroup_root: str) -> None:
    """`root`: the node's folder, with pods and containerd in it. May be called whether or not anything runs."""
    state = Path(containerd.layout.state)
    if containerd.pid() is None and not _left_over(containerd):
        await asyncio.to_thread(_remove_state, root, state)
        return
    if containerd.pid() is None:
        with contextlib.suppress(CannotRun):
            await containerd.start()
    if containerd.pid() is not None:
        await _remove_pods(containerd.socket)
        await asyncio.to_thread(containerd.stop)
    await asyncio.to_thread(_remove_shims, containerd.layout)
    await asyncio.to_thread(_remove_rest, root, state, cgroup_root)
    await asyncio.to_thread(_remove_state, root, state)


async def clean_guests(socket: Path, root: Path, *, cgroup_root: str) -> None:
    """Of a node whose containers live in somebody else's runtime: its own pods go, others stay."""
    runtime = Runtime(socket)
    try:
        # Whose logs lie here, was here.
        ours = {each.name.rpartition("_")[2] for each in (root / "logs").glob("*_*_*")}
        ours &= {each.pod_uid for each in await runtime.seen()}
        async with asyncio.TaskGroup() as group:
            for uid in ours:
                group.create_task(_remove_pod(runtime, uid))
    except RuntimeFailed:
        # It does not answer: there is nothing that could be removed.
        pass
    finally:
        await runtime.close()
    await asyncio.to_thread(_remove_rest, root, root / "run", cgroup_root)


def _left_over(containerd: Containerd) -> bool:
    """Whether something of an earlier run may still be there."""
    return bool(host.mounts_below(containerd.layout.state) or shims.look(containerd.layout).processes)


async def _remove_pods(socket: Path) -> None:
    runtime = Runtime(socket)
    try:
        uids = {each.pod_uid for each in await runtime.seen()}
        async with asyncio.TaskGroup() as group:
            for uid in uids:
                group.create_task(_remove_pod(runtime, uid))
    finally:
        await runtime.close()


async def _remove_pod(runtime: Runtime, uid: str) -> None:
    # What the runtime cannot end it says in its log; the others go on.
    with contextlib.suppress(RuntimeFailed):
        await remove_from_runtime(runtime, await runtime.observe(uid))


def _remove_shims(layout: Layout) -> None:
    """Those whose task never came to be are known to nobody but the kernel."""
    shims.remove(shims.look(layout), layout)


def _remove_rest(root: Path, state: Path, cgroup_root: str) -> None:
    host.unmount_below(root)
    host.unmount_below(state)
    host.remove_tree(root / "kubelet" / "pods")
    cgroups.remove(cgroup_root)


def _remove_state(root: Path, state: Path) -> None:
    """Where the node's folder has too long a path for sockets: nobody who deletes that folder would find it."""
    if not state.is_relative_to(root):
        host.remove_tree(state)
