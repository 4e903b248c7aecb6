"""What Prometheus clients tell of their own process: https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics."""

import os
import resource
from pathlib import Path

from tiphys.base.metrics import Registry

_PROC = Path("/proc/self")


def show_process(metrics: Registry) -> None:
    cpu = metrics.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.").only
    resident = metrics.gauge("process_resident_memory_bytes", "Resident memory size in bytes.").only
    virtual = metrics.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.").only
    files = metrics.gauge("process_open_fds", "Number of open file descriptors.").only
    limit = metrics.gauge("process_max_fds", "Maximum number of open file descriptors.").only
    start = metrics.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.").only
    start.set(started())

    def refresh() -> None:
        spent = os.times()
        cpu.set(spent.user + spent.system)
        pages = (_PROC / "statm").read_text().split()
        virtual.set(int(pages[0]) * resource.getpagesize())
        resident.set(int(pages[1]) * resource.getpagesize())
        files.set(len(os.listdir(_PROC / "fd")))
        limit.set(resource.getrlimit(resource.RLIMIT_NOFILE)[0])

    metrics.before_render(refresh)


def started() -> float:
    """Ticks since boot, which /proc/stat places in time."""
    ticks = int((_PROC / "stat").read_text().rpartition(")")[2].split()[19])
    boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
    return float(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
