"""Where one node's things are on its machine, and what they are called; its containerd, and its end."""

import asyncio
import contextlib
import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path, PurePath

from tiphys.cmd.enclosure import inhabitant, into
from tiphys.cmd.network_part import forget_services
from tiphys.cni import config, kernel, loop
from tiphys.cni.config import PodLinks
from tiphys.cni.plan import pod_mtu
from tiphys.kubelet.containerd.cleaning import clean, clean_guests
from tiphys.kubelet.containerd.config import Layout
from tiphys.kubelet.containerd.process import Containerd
from tiphys.kubelet.volumes import host

_LONGEST_SOCKET = 100
_RUNTIME_NOTE = "runtime-endpoint"


def mark_of(folder: Path) -> int:
    """A number that no other folder of this machine has, for names in its kernel."""
    return int(hashlib.sha256(str(folder).encode()).hexdigest()[:8], 16)


@dataclass(frozen=True, slots=True)
class NodeHome:
    """Two nodes on a machine differ in all of it."""

    folder: Path
    runtime: str = ""
    """URL of a container runtime that is there already; empty: the node has a containerd of its own."""
    foreign_network: bool = False
    """Somebody else gives pods their network, and puts what the runtime is to know of it where all do."""

    @property
    def mark(self) -> int:
        return mark_of(self.folder)

    @property
    def bridge(self) -> str:
        return f"tph{self.mark:08x}"

    @property
    def rules(self) -> str:
        """By what the rules of its proxy are known."""
        return f"tiphys-{self.bridge}"

    @property
    def cgroup_root(self) -> str:
        return f"/tiphys-{self.mark:08x}"

    @property
    def layout(self) -> Layout:
        state: PurePath = self.folder / "run"
        if len(str(state / "containerd.sock.ttrpc")) > _LONGEST_SOCKET:
            state = PurePath("/run") / f"tiphys-{self.mark:08x}"
        return Layout(self.folder / "containerd", state, config.FOREIGN_FILES if self.foreign_network else None)

    @property
    def socket(self) -> Path:
        """Of the container runtime."""
        return Path(self.runtime.removeprefix("unix://") or self.layout.socket)

    def containerd(self) -> Containerd:
        return Containerd(self.layout, plugins=Path(config.FOREIGN_PLUGINS) if self.foreign_network else None)

    def network(self, node: str, addresses: tuple[str, ...]) -> loop.Settings:
        layout = self.layout
        return loop.Settings(node, addresses, self.mark, self.bridge, Path(layout.network), Path(layout.addresses))

    def write_network(self, node: str, addresses: tuple[str, ...], ranges: tuple[str, ...]) -> None:
        """Before the runtime starts, if it is known by then: the node works a moment earlier. Not within an event loop."""
        settings = self.network(node, addresses)
        loop.write(settings.files, PodLinks(self.bridge, ranges, settings.given, pod_mtu(kernel.links_of(addresses))))

    async def start_runtime(self) -> Containerd | None:
        """The node's own, if it has one. What it has is remembered: whoever cleans up after it has to know."""
        note = self.folder / _RUNTIME_NOTE
        if self.runtime:
            self.folder.mkdir(parents=True, exist_ok=True)
            note.write_text(self.runtime)
            return None
        note.unlink(missing_ok=True)
        own = self.containerd()
        await own.start()
        return own

    @property
    def has_inhabitants(self) -> bool:
        """Whether pods of an earlier run may still be here."""
        return bool(host.mounts_below(self.layout.state))

    async def clean(self) -> None:
        if self.runtime:
            await clean_guests(self.socket, self.folder, cgroup_root=self.cgroup_root)
        else:
            await clean(self.containerd(), self.folder, cgroup_root=self.cgroup_root)
        # Where there is no nft, nothing was written by it.
        with contextlib.suppress(kernel.Refused):
            await loop.remove(self.network("", ()))
        await forget_services(self.rules)


def clean_node(folder: Path) -> None:
    """Whatever a node that lived in `folder` has left behind on this machine."""
    pid = inhabitant(folder)
    if pid is not None:
        subprocess.run([*into(pid), sys.executable, "-m", "tiphys.cmd.node_home", str(folder)], check=False)
        return
    note = folder / _RUNTIME_NOTE
    home = NodeHome(folder.absolute(), note.read_text() if note.exists() else "")
    asyncio.run(home.clean())


if __name__ == "__main__":
    clean_node(Path(sys.argv[1]))
