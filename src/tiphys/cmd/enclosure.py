"""A network namespace, and mounts, of its own for one of several nodes on a machine: made from outside, furnished from inside.

The host's end of the node's link is a port of a bridge that all nodes of the cluster have in common. A namespace lives as long
as a process in it does: the node's, its containerd, or the shims of its containers; none of it has a name in a file system, so
nothing of it is left when they have ended.
"""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from tiphys.cmd.data_directory import Unusable

_NOTE = "namespace"
_INSIDE = "eth0"
_PATIENCE = 60.0
_STEP = 0.005
_PLACES = Path("/run/netns")
"""Where runtimes keep the namespaces of pods."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    bridge: str
    link: str
    """The host's end."""
    addresses: tuple[str, ...]
    """With the length of their prefix."""
    gateways: tuple[str, ...]

    def prefix(self, folder: Path) -> list[str]:
        """What has to stand before a command so that it runs in there."""
        pid = inhabitant(folder)
        if pid is not None:
            return into(pid)
        return ["unshare", "--net", "--mount", "--propagation", "private", "--"]

    def uplink(self) -> str:
        """What the node has to know of its link; see `furnish`."""
        return f"{','.join(self.addresses)}@{','.join(self.gateways)}"

    def attach(self, pid: int) -> None:
        """Link the namespace of the process, once it has one, to the bridge. Blocks. Raises Unusable."""
        until = time.monotonic() + _PATIENCE
        while _namespace("net", pid) == _namespace("net", os.getpid()):
            if time.monotonic() > until:
                raise Unusable("the node has no network namespace of its own")
            time.sleep(_STEP)
        with IPRoute() as netlink:
            if netlink.link_lookup(ifname=self.link):
                return
            peer = {"ifname": _INSIDE, "net_ns_fd": f"/proc/{pid}/ns/net"}
            netlink.link("add", ifname=self.link, kind="veth", peer=peer)
            index = netlink.link_lookup(ifname=self.link)[0]
            netlink.link("set", index=index, master=netlink.link_lookup(ifname=self.bridge)[0], state="up")


def furnish(folder: Path, uplink: str) -> None:
    """From inside: the link gets its addresses and leads outside, pods' namespaces are kept from the host's. Blocks."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _NOTE).write_text(_home(os.getpid()))
    _PLACES.mkdir(exist_ok=True)
    if not os.path.ismount(_PLACES):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(_PLACES)], check=True)
    addresses, _, gateways = uplink.partition("@")
    until = time.monotonic() + _PATIENCE
    with IPRoute() as netlink:
        netlink.link("set", index=netlink.link_lookup(ifname="lo")[0], state="up")
        while not (found := netlink.link_lookup(ifname=_INSIDE)):
            if time.monotonic() > until:
                raise Unusable("nobody linked the node's network namespace to others")
            time.sleep(_STEP)
        for each in addresses.split(","):
            address, _, length = each.partition("/")
            # Without the wait for duplicates, which an address of IPv6 otherwise begins with.
            flags = {"ifa_flags": 0x02} if ":" in address else {}
            netlink.addr("replace", index=found[0], address=address, prefixlen=int(length), **flags)
        netlink.link("set", index=found[0], state="up")
        for gateway in gateways.split(","):
            netlink.route("replace", dst="::/0" if ":" in gateway else "default", gateway=gateway, oif=found[0])


def inhabitant(folder: Path) -> int | None:
    """A process that still runs in the namespaces of the node that lives, or lived, in `folder`."""
    try:
        noted = (folder / _NOTE).read_text()
    except OSError:
        return None
    if noted == _home(os.getpid()):
        return None
    return next((int(each) for each in os.listdir("/proc") if each.isdecimal() and _home(int(each)) == noted), None)


def into(pid: int) -> list[str]:
    return ["nsenter", "--target", str(pid), "--net", "--mount", "--"]


def _home(pid: int) -> str:
    """Both namespaces of a node: the kernel gives the number of one that is gone to the next, a container's maybe."""
    return f"{_namespace('mnt', pid)} {_namespace('net', pid)}"


def _namespace(kind: str, pid: int) -> str:
    """Empty: the process is gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return ""
