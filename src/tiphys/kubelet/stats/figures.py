"""Figures of use, and how the kernel's texts become such figures. Memory in bytes, CPU in nanoseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tiphys.machinery.tree import Obj

_NO_LIMIT = 1 << 60
"""Version 1 shows a limit that is not there as a huge number."""


@dataclass(frozen=True, slots=True)
class Use:
    """Of one cgroup with everything below it."""

    at: float
    cpu: int = 0
    user: int = 0
    system: int = 0
    periods: int = 0
    throttled: int = 0
    throttled_time: int = 0
    memory: int = 0
    working_set: int = 0
    rss: int = 0
    cache: int = 0
    mapped: int = 0
    swap: int = 0
    faults: int = 0
    major_faults: int = 0
    most_memory: int = 0
    failures: int = 0
    memory_limit: int = 0
    """0: none."""
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Disk:
    """Of a file system, and of that part of it which is meant."""

    at: float
    available: int
    capacity: int
    used: int
    inodes_free: int
    inodes: int
    inodes_used: int


@dataclass(frozen=True, slots=True)
class Interface:
    name: str
    received: int
    receive_errors: int
    sent: int
    send_errors: int
    received_packets: int = 0
    sent_packets: int = 0


@dataclass(frozen=True, slots=True)
class ContainerUse:
    name: str
    id: str
    image: str
    started_at: float
    use: Use
    nanocores: int
    rootfs: Disk | None = None
    logs: Disk | None = None


@dataclass(frozen=True, slots=True)
class PodUse:
    pod: Obj
    started_at: float
    use: Use
    nanocores: int
    interfaces: tuple[Interface, ...] = ()
    containers: tuple[ContainerUse, ...] = ()
    volumes: Mapping[str, Disk] = field(default_factory=dict)
    sandbox: str = ""


@dataclass(frozen=True, slots=True)
class NodeUse:
    name: str
    started_at: float
    use: Use
    nanocores: int
    disk: Disk
    image_disk: Disk
    memory_capacity: int
    processes: int
    most_processes: int
    interfaces: tuple[Interface, ...] = ()
    system: tuple[ContainerUse, ...] = ()
    """The kubelet, the runtime, and all pods together."""
    cpus: int = 1


def pairs(text: str) -> dict[str, int]:
    """Of files with a name and a number in each line."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.strip().isdecimal():
            found[name] = int(value)
    return found


def number(text: str) -> int:
    """`max`, and nothing, are 0."""
    text = text.strip()
    return int(text) if text.isdecimal() else 0


def limit(text: str) -> int:
    value = number(text)
    return 0 if value >= _NO_LIMIT else value


def use_v2(files: Mapping[str, str], at: float) -> Use:
    """`files`: what the files of the cgroup hold, empty for those that are not there."""
    cpu, memory = pairs(files["cpu.stat"]), pairs(files["memory.stat"])
    now = number(files["memory.current"])
    return Use(
        at,
        cpu=1000 * cpu.get("usage_usec", 0),
        user=1000 * cpu.get("user_usec", 0),
        system=1000 * cpu.get("system_usec", 0),
        periods=cpu.get("nr_periods", 0),
        throttled=cpu.get("nr_throttled", 0),
        throttled_time=1000 * cpu.get("throttled_usec", 0),
        memory=now,
        working_set=max(0, now - memory.get("inactive_file", 0)),
        rss=memory.get("anon", 0),
        cache=memory.get("file", 0),
        mapped=memory.get("file_mapped", 0),
        swap=number(files["memory.swap.current"]),
        faults=memory.get("pgfault", 0),
        major_faults=memory.get("pgmajfault", 0),
        most_memory=number(files["memory.peak"]),
        failures=pairs(files["memory.events"]).get("max", 0),
        memory_limit=limit(files["memory.max"]),
        processes=number(files["pids.current"]),
    )


def use_v1(files: Mapping[str, str], at: float, ticks: int) -> Use:
    """`ticks`: of the kernel's clock in a second."""
    memory, spent, cpu = pairs(files["memory.stat"]), pairs(files["cpuacct.stat"]), pairs(files["cpu.stat"])
    now = number(files["memory.usage_in_bytes"])
    return Use(
        at,
        cpu=number(files["cpuacct.usage"]),
        user=spent.get("user", 0) * 1_000_000_000 // ticks,
        system=spent.get("system", 0) * 1_000_000_000 // ticks,
        periods=cpu.get("nr_periods", 0),
        throttled=cpu.get("nr_throttled", 0),
        throttled_time=cpu.get("throttled_time", 0),
        memory=now,
        working_set=max(0, now - memory.get("total_inactive_file", 0)),
        rss=memory.get("total_rss", 0),
        cache=memory.get("total_cache", 0),
        mapped=memory.get("total_mapped_file", 0),
        swap=memory.get("total_swap", 0),
        faults=memory.get("total_pgfault", 0),
        major_faults=memory.get("total_pgmajfault", 0),
        most_memory=number(files["memory.max_usage_in_bytes"]),
        failures=number(files["memory.failcnt"]),
        memory_limit=limit(files["memory.limit_in_bytes"]),
        processes=number(files["pids.current"]),
    )


V1_FILES = (
    "memory/memory.stat",
    "memory/memory.usage_in_bytes",
    "memory/memory.max_usage_in_bytes",
    "memory/memory.failcnt",
    "memory/memory.limit_in_bytes",
    "cpuacct/cpuacct.usage",
    "cpuacct/cpuacct.stat",
    "cpu/cpu.stat",
    "pids/pids.current",
)
"""Each below the folder of its controller."""
V2_FILES = (
    "cpu.stat",
    "memory.stat",
    "memory.current",
    "memory.swap.current",
    "memory.peak",
    "memory.events",
    "memory.max",
    "pids.current",
)


def interfaces(text: str) -> tuple[Interface, ...]:
    """Of /proc/<pid>/net/dev, without loopback."""
    found = []
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        values = [int(each) for each in rest.split()]
        if name.strip() != "lo" and len(values) >= 16:
            found.append(Interface(name.strip(), values[0], values[2], values[8], values[10], values[1], values[9]))
    return tuple(found)


def rate(use: Use, before: Use | None, started_at: float) -> int:
    """Nanocores: since the look before, and at the first look since it began."""
    if before is not None and use.at > before.at and use.cpu >= before.cpu:
        return int((use.cpu - before.cpu) / (use.at - before.at))
    return int(use.cpu / (use.at - started_at)) if use.at > started_at else 0


def sized(within: Disk, used: int, inodes_used: int) -> Disk:
    """A part of a file system."""
    return Disk(within.at, within.available, within.capacity, used, within.inodes_free, within.inodes, inodes_used)
