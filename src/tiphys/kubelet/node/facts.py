"""What this machine is and how it is: from /proc, /etc and the file systems."""

import os
import platform
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change while the machine runs."""

    cpus: int
    memory: int
    disk: int
    inodes: int
    machine_id: str
    system_uuid: str
    boot_id: str
    kernel: str
    os_image: str
    architecture: str


@dataclass(frozen=True, slots=True)
class Levels:
    """What does."""

    memory_available: int
    disk_available: int
    inodes_free: int
    pids_available: int
    pids: int
    """The most that there can be."""


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def facts(root: Path) -> Facts:
    """`root`: a folder on the file system that containers use."""
    disk = os.statvfs(root)
    return Facts(
        cpus=len(os.sched_getaffinity(0)),
        memory=_meminfo()["MemTotal"],
        disk=disk.f_blocks * disk.f_frsize,
        inodes=disk.f_files,
        machine_id=_text("/etc/machine-id"),
        system_uuid=_text("/sys/class/dmi/id/product_uuid") or _text("/etc/machine-id"),
        boot_id=_text("/proc/sys/kernel/random/boot_id"),
        kernel=platform.release(),
        os_image=platform.freedesktop_os_release().get("PRETTY_NAME", "Linux"),
        architecture=_ARCHITECTURES.get(platform.machine(), platform.machine()),
    )


def levels(root: Path) -> Levels:
    disk = os.statvfs(root)
    most = int(_text("/proc/sys/kernel/pid_max") or "32768")
    used = sum(1 for each in os.listdir("/proc") if each.isdecimal())
    return Levels(
        memory_available=_meminfo()["MemAvailable"],
        disk_available=disk.f_bavail * disk.f_frsize,
        inodes_free=disk.f_favail,
        pids_available=most - used,
        pids=most,
    )


def swaps() -> list[str]:
    """Files and devices that the machine swaps to."""
    try:
        return [line.split()[0] for line in Path("/proc/swaps").read_text().splitlines()[1:]]
    except OSError:
        return []


def hostname() -> str:
    return socket.gethostname().lower()


def _meminfo() -> dict[str, int]:
    """Bytes."""
    found = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, rest = line.partition(":")
        found[name] = int(rest.split()[0]) * 1024
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
