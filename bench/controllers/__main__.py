"""How fast controllers make the pods that Deployments ask for, and what they cost while they do, at rest, and when all goes.

    python -m bench.controllers --kubeconfig F --start "tiphys controller-manager --kubeconfig F"
                                               --start "kube-controller-manager --kubeconfig F"

For each command in turn: it is started and has found every node fit; Deployments are created and all their pods become Ready;
nothing happens for a while; the Deployments are deleted and all pods are gone. Scheduler and (simulated) nodes must be there
already, and controllers must not (`tiphys up --node sim:1000 --disable controllers`).
"""

import argparse
import asyncio
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from bench.api.process import cpu_seconds, resident_bytes
from bench.controllers import cluster
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient

SETTLING = 10.0
"""Seconds after the last pod is Ready before the controllers count as idle."""


@dataclass(slots=True)
class Meter:
    """What some processes use from one look to the next."""

    pids: Sequence[int]
    at: float = 0.0
    used: float = 0.0

    def begin(self) -> None:
        self.at, self.used = time.monotonic(), cpu_seconds(self.pids)

    def seconds(self) -> float:
        return time.monotonic() - self.at

    def cpu(self) -> float:
        return cpu_seconds(self.pids) - self.used

    def share(self) -> float:
        """Percent of a core."""
        return 100 * self.cpu() / self.seconds()


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


async def measure(client: RestClient, command: str, given: argparse.Namespace) -> None:
    print(f"\n{command}", flush=True)
    with Path(given.log).open("ab") as log:  # noqa: ASYNC230 - once, before anything is measured
        child = subprocess.Popen(shlex.split(command), stdout=log, stderr=log)  # noqa: ASYNC220
    own, others = Meter([child.pid]), Meter(given.pid)
    try:
        async with asyncio.timeout(given.limit):
            await _grow(client, child.pid, own, others, given)
            await _rest(child.pid, own, others, given.idle)
            await _shrink(client, own, others)
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(60)


async def _grow(client: RestClient, pid: int, own: Meter, others: Meter, given: argparse.Namespace) -> None:
    own.begin()
    await cluster.nodes_are_fit(client)
    nodes = await cluster.count_nodes(client)
    _told(f"{nodes} nodes fit", own, others)
    _begin(own, others)
    async with asyncio.TaskGroup() as group:
        group.create_task(cluster.all_ready(client, given.deployments, given.replicas))
        group.create_task(cluster.create_deployments(client, given.deployments, given.replicas))
    _told(f"{given.deployments * given.replicas} pods Ready", own, others)
    print(f"    memory {_mb(resident_bytes([pid]))}, at most {_mb(peak_bytes(pid))}", flush=True)


async def _rest(pid: int, own: Meter, others: Meter, seconds: float) -> None:
    if not seconds:
        return
    await asyncio.sleep(SETTLING)
    _begin(own, others)
    await asyncio.sleep(seconds)
    beside = f", the others {others.share():.2f} %, {_mb(resident_bytes(others.pids))}" if others.pids else ""
    print(f"    idle for {seconds:.0f} s: {own.share():.2f} % of a core, {_mb(resident_bytes([pid]))}{beside}", flush=True)


async def _shrink(client: RestClient, own: Meter, others: Meter) -> None:
    _begin(own, others)
    await cluster.delete_deployments(client)
    await cluster.all_gone(client)
    _told("all pods gone", own, others)


def _begin(*meters: Meter) -> None:
    for meter in meters:
        meter.begin()


def _told(what: str, own: Meter, others: Meter) -> None:
    beside = f", the others {others.cpu():.2f} s" if others.at and others.pids else ""
    print(f"    {what}: {own.seconds():.2f} s, CPU {own.cpu():.2f} s{beside}", flush=True)


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


async def run(given: argparse.Namespace) -> None:
    client = RestClient(kubeconfig.resolve(kubeconfig.read(given.kubeconfig)), user_agent="bench", timeout=None)
    try:
        await cluster.prepare(client)
        for command in given.start:
            await measure(client, command, given)
    finally:
        client.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--start", action="append", required=True, metavar="COMMAND", help="controllers; may be repeated")
    parser.add_argument("--deployments", type=int, default=100)
    parser.add_argument("--replicas", type=int, default=100, help="of each")
    parser.add_argument("--idle", type=float, default=60.0, metavar="SECONDS", help="how long to watch them do nothing")
    parser.add_argument("--pid", type=int, action="append", default=[], help="of other processes whose cost to tell")
    parser.add_argument("--log", default=os.devnull, metavar="F", help="where the controllers' output goes")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds before giving up")
    uvloop.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
