"""How fast a node runs pods and ends them, and what it costs when nothing happens.

    python -m bench.node --kubeconfig F --image busybox:1 --command "sleep 3600" --node-pid PID --cluster-pid PID ...

Any cluster with a node where pods may run; the image has to be there already. One pod, create to Ready, several times; many
pods at once; then as many that only run, during which CPU and memory of the given processes are read.
"""

import argparse
import asyncio
import shlex
import statistics
import sys
from pathlib import Path
from time import monotonic

import uvloop

from bench.api.process import cpu_seconds, resident_bytes
from bench.node.pods import Population, is_ready, pod
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient


async def one(pods: Population, given: argparse.Namespace, number: int) -> tuple[float, float]:
    """Seconds from create to Ready, and from delete to gone."""
    name = f"one-{number}"
    began = monotonic()
    await pods.create([pod(name, given.image, given.command)])
    ready = await pods.until(lambda known: name in known and is_ready(known[name]))
    ending = monotonic()
    await pods.delete([name])
    gone = await pods.until(lambda known: name not in known)
    return ready - began, gone - ending


async def begin(pods: Population, given: argparse.Namespace, prefix: str, count: int) -> float:
    """Seconds until all of them are Ready."""
    names = [f"{prefix}-{number}" for number in range(count)]
    began = monotonic()
    await pods.create(pod(name, given.image, given.command) for name in names)
    return await pods.until(lambda known: all(name in known and is_ready(known[name]) for name in names)) - began


async def end(pods: Population) -> float:
    """Seconds until all are gone."""
    began = monotonic()
    await pods.delete(list(pods.pods))
    return await pods.until(lambda known: not known) - began


def cost(pids: list[int], seconds: float, before: float) -> str:
    share = 100 * (cpu_seconds(pids) - before) / seconds
    return f"{share:5.2f} % of a core, {resident_bytes(pids) / 1e6:.0f} MB"


async def idle(given: argparse.Namespace, count: int) -> None:
    await asyncio.sleep(given.settle)
    groups = {"node": given.node_pid, "cluster": given.cluster_pid}
    before = {name: cpu_seconds(pids) for name, pids in groups.items()}
    began = monotonic()
    await asyncio.sleep(given.seconds)
    for name, pids in groups.items():
        if pids:
            print(f"{count} pods idle, {name:30} {cost(pids, monotonic() - began, before[name])}", flush=True)


async def run(given: argparse.Namespace) -> None:
    client = RestClient(kubeconfig.resolve(kubeconfig.read(given.kubeconfig)), user_agent="bench")
    try:
        async with Population(client) as pods:
            await end(pods)
            took = [await one(pods, given, number) for number in range(given.rounds)]
            if took:
                first, last = ([each[at] for each in took] for at in (0, 1))
                told = f"{statistics.median(first):.3f} s (least {min(first):.3f})"
                print(f"one pod, create to Ready, median of {given.rounds}: {told}; gone in {statistics.median(last):.3f} s")
            for _ in range(given.batches):
                ready = await begin(pods, given, "many", given.pods)
                print(f"{given.pods} pods at once: all Ready {ready:.2f} s, all gone {await end(pods):.2f} s", flush=True)
            if given.idle >= 0:
                await begin(pods, given, "idle", given.idle)
                await idle(given, given.idle)
                await end(pods)
    finally:
        client.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kubeconfig", type=Path, required=True)
    add("--image", required=True)
    add("--command", type=shlex.split, default=[], help="what the container runs, if not what its image says")
    add("--rounds", type=int, default=5, help="of one pod (default: %(default)s)")
    add("--pods", type=int, default=30, help="at once (default: %(default)s)")
    add("--batches", type=int, default=2, help="how often so many at once (default: %(default)s)")
    add("--idle", type=int, default=-1, metavar="N", help="look also at a node with N pods that do nothing")
    add("--seconds", type=float, default=60.0, help="for how long (default: %(default)s)")
    add("--settle", type=float, default=15.0, help="after so many (default: %(default)s)")
    add("--node-pid", type=int, action="append", default=[], help="a process of the node; may be repeated")
    add("--cluster-pid", type=int, action="append", default=[], help="one of the whole cluster; may be repeated")
    uvloop.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
