"""What a containerd that was killed leaves of what it had begun and not yet noted: network namespaces, addresses, shims.

Taken down while no containerd runs (nothing can be under way then), and compared with what the next one knows: what it does not
know, nobody will ever end. The network plugins are told of each such sandbox, as the runtime would have told them.
"""

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, run

import orjson

from tiphys.kubelet.containerd import shims
from tiphys.kubelet.containerd.config import Layout
from tiphys.kubelet.containerd.shims import Shims
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.volumes import host
from tiphys.machinery.tree import Obj

_PATIENCE = 30.0
_INTERFACE = "eth0"
_NOTES = Path("/var/lib/cni/results")
"""Of libcni, for all networks of a machine: NETWORK-SANDBOX-INTERFACE."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    namespaces: frozenset[str]
    """Files by which network namespaces are kept."""
    addressed: frozenset[str]
    """Ids of sandboxes that have addresses."""
    shims: Shims = field(default_factory=Shims)

    def __bool__(self) -> bool:
        return bool(self.namespaces or self.addressed or self.shims)


def look(layout: Layout) -> Leftovers:
    """Blocks."""
    places = Path(layout.namespaces)
    namespaces = frozenset(str(each) for each in places.iterdir()) if places.is_dir() else frozenset[str]()
    return Leftovers(namespaces, frozenset(_addressed(Path(layout.addresses))), shims.look(layout))


def _addressed(folder: Path) -> list[str]:
    """host-local keeps a file for each address: the sandbox in its first line, the interface in the second."""
    found = []
    for file in folder.glob("*/*"):
        if file.name[0].isdigit() or ":" in file.name:
            with contextlib.suppress(OSError):
                found.append(file.read_text().split("\n", 1)[0].strip())
    return found


async def unknown(before: Leftovers, runtime: Runtime, tasks: Iterable[str]) -> Leftovers:
    """Those of `before` that nothing in the runtime has; `tasks`: all that it knows. Raises RuntimeFailed."""
    known = await runtime.network_namespaces()
    return Leftovers(
        before.namespaces - frozenset(known.values()),
        before.addressed - frozenset(known),
        shims.unknown(before.shims, tasks, await runtime.sandbox_of_containers()),
    )


def remove_damaged_notes(layout: Layout, notes: Path = _NOTES) -> None:
    """Blocks. Only of the network that this runtime has."""
    name = _network(Path(layout.network)).get("name")
    for note in notes.glob(f"{name}-*") if name else ():
        try:
            orjson.loads(note.read_bytes())
        except orjson.JSONDecodeError:
            note.unlink(missing_ok=True)
        except OSError:
            continue


def remove(left: Leftovers, layout: Layout, plugins: Path) -> None:
    """Blocks."""
    shims.remove(left.shims, layout)
    if left.addressed:
        network = _network(Path(layout.network))
        for sandbox in left.addressed:
            _unlink(network, sandbox, plugins)
            for note in _NOTES.glob(f"*-{sandbox}-*"):
                note.unlink(missing_ok=True)
    for each in left.namespaces:
        host.unmount(each)
        Path(each).unlink(missing_ok=True)


def _network(folder: Path) -> Obj:
    """The one that the runtime uses: the first by its name."""
    files = sorted(folder.glob("*.conflist"))
    found: Obj = orjson.loads(files[0].read_bytes()) if files else {"plugins": []}
    return found


def _unlink(network: Obj, sandbox: str, plugins: Path) -> None:
    """https://www.cni.dev/docs/spec/#del-remove-container-from-network-or-un-apply-modifications"""
    asked = {"CNI_COMMAND": "DEL", "CNI_CONTAINERID": sandbox, "CNI_NETNS": "", "CNI_IFNAME": _INTERFACE}
    environment = {**os.environ, **asked, "CNI_PATH": str(plugins)}
    common = {name: network[name] for name in ("cniVersion", "name") if name in network}
    for each in reversed(network["plugins"]):
        told = orjson.dumps({**common, **each})
        run([plugins / each["type"]], input=told, env=environment, stdout=DEVNULL, timeout=_PATIENCE, check=False)
