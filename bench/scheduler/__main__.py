"""How many pods a scheduler places per second.

    python -m bench.scheduler --kubeconfig F --start "tiphys scheduler --kubeconfig F" --start "kube-scheduler --config C"

For each command in turn: pods are created while nobody schedules, the scheduler is started, and it is measured from the first
pod it has bound to the last. No scheduler may be running already (`tiphys up --disable scheduler`).
`python -m bench.scheduler.decisions` measures single decisions, without an API server.
"""

import argparse
import asyncio
import contextlib
import itertools
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import uvloop

from bench.api.process import cpu_seconds, peak_bytes
from bench.scheduler import cluster, server
from bench.scheduler.cases import CASES, Case
from tiphys.api.core.pods import PODS
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient


async def watch_bound(client: RestClient, since: str, wanted: int) -> tuple[float, float]:
    """When the first pod was bound, and when the last."""
    first = last = 0.0
    bound: set[str] = set()
    async for event in client.watch(PODS, cluster.NAMESPACE, params={"resourceVersion": since}):
        name = event.object["metadata"]["name"]
        if name.startswith("bench-") and event.object.get("spec", {}).get("nodeName"):
            last = time.monotonic()
            first = first or last
            bound.add(name)
            if len(bound) >= wanted:
                break
    return first, last


async def churn(client: RestClient) -> None:
    """Nodes that nothing fits on, Services, and pods that nothing takes: each second one comes and another goes."""
    for number in itertools.count():
        await server.churn(client, number)
        await asyncio.sleep(1.0)


async def measure(client: RestClient, command: str, given: argparse.Namespace, title: str, case: Case) -> str:
    if case.devices:
        await server.offer(client, case.devices, given.nodes, given.pods)
    there = case.already(given.pods, given.nodes)
    await server.create_pods(client, (cluster.on_a_node(case.there(at), at, given.nodes) for at in range(there)))
    await server.create_pods(client, (cluster.hopeless(at) for at in range(case.hopeless)))
    await server.create_pods(client, (case.waiting(at) for at in range(given.pods)))
    listed = await client.list(PODS, cluster.NAMESPACE, params={"limit": "1"})
    began = time.monotonic()
    child = subprocess.Popen(shlex.split(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: ASYNC220
    beside = asyncio.ensure_future(churn(client)) if case.churns else None
    try:
        async with asyncio.timeout(given.limit):
            first, last = await watch_bound(client, listed.revision, given.pods)
        used, memory = cpu_seconds([child.pid]), peak_bytes(child.pid)
    except TimeoutError:
        return f"{title:31}not done in {given.limit:.0f} s   {command.split()[0]}"
    finally:
        if beside is not None:
            beside.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beside
        child.send_signal(signal.SIGTERM)
        child.wait(30)
        await server.delete_pods(client)
        if case.devices:
            await server.withdraw(client, given.nodes, given.pods)
    seconds = max(last - first, 1e-9)
    return (
        f"{title:31}{given.pods:6} pods{given.pods / seconds:8.0f} pods/s{first - began:7.2f} s to the first"
        f"{1000 * used / given.pods:8.3f} ms CPU a pod{memory / 2**20:6.0f} MiB   {command.split()[0]}"
    )


async def run(given: argparse.Namespace) -> None:
    client = RestClient(kubeconfig.resolve(kubeconfig.read(given.kubeconfig)), user_agent="bench")
    titles = given.case or ["basic"]
    nodes = [cluster.node(number) for number in range(given.nodes)]
    try:
        await server.delete_nodes(client, nodes)
        await server.prepare(client, nodes)
        await server.delete_pods(client)
        for title in titles:
            for command in given.start:
                print(await measure(client, command, given, title, CASES[title]), flush=True)
    finally:
        await server.delete_pods(client)
        await server.delete_nodes(client, nodes)
        client.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--start", action="append", required=True, metavar="COMMAND", help="a scheduler; may be repeated")
    parser.add_argument("--case", action="append", choices=CASES, help="what the pods ask for (default: basic)")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds before giving up")
    uvloop.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
