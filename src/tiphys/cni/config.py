"""The files by which a container runtime links pods: the standard plugins, and what each of them is told. Core."""

from dataclasses import dataclass
from pathlib import PurePath

from tiphys.machinery.tree import Obj

FILE = "10-pods.conflist"
LOOPBACK_FILE = "99-loopback.conflist"
LOOPBACK: Obj = {"cniVersion": "0.4.0", "name": "lo", "plugins": [{"type": "loopback"}]}

FOREIGN_FILES = PurePath("/etc/cni/net.d")
FOREIGN_PLUGINS = PurePath("/opt/cni/bin")
"""Where other networks put theirs, on every machine."""


@dataclass(frozen=True, slots=True)
class PodLinks:
    """How the pods of one node are linked."""

    bridge: str
    ranges: tuple[str, ...]
    """The node's pod CIDRs, at most one of each family."""
    given: PurePath
    """Where host-local keeps which addresses are taken."""
    mtu: int = 0
    """0: whatever the bridge has."""


def network(links: PodLinks) -> Obj:
    """Every pod gets an address of each range on the bridge, which is its gateway.

    Nothing is masqueraded here: the plugin would do so between nodes as well, and pods would not know each other any more."""
    bridge: Obj = {
        "type": "bridge",
        "bridge": links.bridge,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(links.given),
            "ranges": [[{"subnet": each}] for each in links.ranges],
            "routes": [{"dst": _everywhere(each)} for each in links.ranges],
        },
    }
    if links.mtu:
        bridge["mtu"] = links.mtu
    ports = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    return {"cniVersion": "0.4.0", "name": links.bridge, "plugins": [bridge, ports]}


def _everywhere(network: str) -> str:
    return "::/0" if ":" in network else "0.0.0.0/0"
