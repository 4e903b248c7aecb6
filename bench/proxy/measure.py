"""One proxy: started, given changes, and asked by its own metrics how long that took."""

import asyncio
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.proxy import cluster

METRICS = "127.0.0.1:10249"
LIMIT = 600.0
_TICKS = os.sysconf("SC_CLK_TCK")
_SYNC = "kubeproxy_sync_proxy_rules_duration_seconds"


@dataclass(frozen=True, slots=True)
class Figures:
    started: float
    """Seconds from the start of the process until the kernel has all rules."""
    full: float
    """Seconds of the first writing of rules, as the proxy tells."""
    full_cpu: float
    """Of the proxy and of the programs that it runs, until then."""
    change: float
    """Seconds of writing one change, the median."""
    change_cpu: float
    peak: float
    """Megabytes; of the proxy alone, as is the next."""
    resident: float


def metrics() -> dict[str, float]:
    try:
        with urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=60) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    found = re.findall(r'^(kubeproxy_\w+)\{ip_family="IPv4"\} (\S+)$', text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > until:
            raise SystemExit("that took too long")
        time.sleep(0.05)


def cpu(pid: int) -> float:
    """With children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def memory(pid: int, name: str) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1]) / 1024  # type: ignore[index]


def run(command: list[str], config: Path, *, endpoints: int, changes: int, services: int, turn: int) -> Figures:
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        # Told at the very end of a writing; that it has been done is told a moment earlier.
        wait(lambda: child.poll() is not None or metrics().get(f"{_SYNC}_count", 0) > 0)
        if child.poll() is not None:
            raise SystemExit(f"{command[0]} ended with {child.returncode}")
        started, spent, told = time.monotonic() - began, cpu(child.pid), metrics()
        full = told[f"{_SYNC}_sum"] / told[f"{_SYNC}_count"]
        time.sleep(5)
        before_cpu = cpu(child.pid)
        times = []
        for each in range(changes):
            before = metrics()
            number = (each * 7919) % services
            asyncio.run(cluster.change(config, number, endpoints, turn + each))
            known = before[f"{_SYNC}_count"]
            wait(lambda known=known: metrics()[f"{_SYNC}_count"] > known)  # type: ignore[misc]
            after = metrics()
            times.append((after[f"{_SYNC}_sum"] - before[f"{_SYNC}_sum"]) / (after[f"{_SYNC}_count"] - known))
            # So that the shortest period between two writings is over.
            time.sleep(1.2)
        each_cpu = (cpu(child.pid) - before_cpu) / changes
        median = sorted(times)[len(times) // 2]
        return Figures(started, full, spent, median, each_cpu, memory(child.pid, "VmHWM"), memory(child.pid, "VmRSS"))
    finally:
        child.terminate()
        child.wait()
