"""Measure one API server, or two and how they compare."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import uvloop

from bench.api.load import Endpoint, drive
from bench.api.measures import Bench, Figures, Plan
from tiphys.client import kubeconfig


async def ready(endpoint: Endpoint, since: float, limit: float = 60.0) -> float:
    """Seconds from `since` until /readyz says yes."""
    while time.monotonic() - since < limit:
        try:
            result = await drive(endpoint, [endpoint.request("GET", "/readyz")], 1, 5)
        except OSError:
            result = None
        if result is not None and result.count and not result.failures:
            return time.monotonic() - since
        time.sleep(0.01)  # noqa: ASYNC251 - nothing else is to be done
    raise SystemExit("the server did not become ready")


def measure(title: str, config: Path, context: str, plan: Plan, pids: list[int], start: str) -> Figures:
    since = time.monotonic()
    child = subprocess.Popen(shlex.split(start)) if start else None
    try:
        while child is not None and not config.exists():
            time.sleep(0.005)
        endpoint = Endpoint(kubeconfig.resolve(kubeconfig.load([config]), context))
        took = uvloop.run(ready(endpoint, since))
        if child is not None:
            pids = [*pids, child.pid]
        bench = Bench(endpoint, plan, pids, lambda text: print(f"  {title}: {text or 'filling'}", file=sys.stderr))
        figures = uvloop.run(bench.run())
        if child is not None:
            figures.values = {"ready, seconds": took, **figures.values}
        return figures
    finally:
        if child is not None:
            child.send_signal(signal.SIGTERM)
            child.wait(30)


def table(one: Figures, other: Figures | None) -> str:
    lines = [f"{'':34}{'this':>12}" + (f"{'other':>12}{'this/other':>12}" if other else "")]
    for name, value in one.values.items():
        line = f"{name:34}{value:12.1f}"
        if other is not None:
            beside = other.values.get(name)
            line += f"{beside:12.1f}{value / beside:12.2f}" if beside else f"{'-':>12}{'-':>12}"
        lines.append(line)
    for title, figures in (("this", one), ("other", other)):
        lines += [f"! {title}: {problem}" for problem in (figures.problems if figures else ())]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.api", description=__doc__)
    for prefix, what in (("", "the server"), ("compare-", "the server beside it")):
        parser.add_argument(f"--{prefix}pid", type=int, action="append", default=[], help=f"a process of {what}")
        parser.add_argument(f"--{prefix}context", default="", help=f"the context that leads to {what}")
        parser.add_argument(f"--{prefix}start", default="", help=f"a command that starts {what}: its time to ready counts")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--compare", type=Path, help="the kubeconfig of a server to measure beside it")
    parser.add_argument("--seconds", type=float, default=Plan.seconds)
    parser.add_argument("--pods", type=int, default=Plan.created)
    parser.add_argument("--watchers", type=int, default=Plan.watchers)
    parser.add_argument("--connections", type=int, default=Plan.connections)
    parser.add_argument("--bindings", type=int, default=0, help="also GETs of a user with so many role bindings")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    given = parser.parse_args()
    # A name of its own: where no controllers run, the namespace of an earlier run never ends.
    namespace = f"bench-api-{os.getpid()}"
    plan = Plan(
        namespace,
        seconds=given.seconds,
        created=given.pods,
        watchers=given.watchers,
        connections=given.connections,
        bindings=given.bindings,
    )
    one = measure("this", given.kubeconfig, given.context, plan, given.pid, given.start)
    other = None
    if given.compare:
        other = measure("other", given.compare, given.compare_context, plan, given.compare_pid, given.compare_start)
    print(table(one, other))
    if given.json:
        given.json.write_bytes(orjson.dumps({"this": one.values, "other": other.values if other else None}))


if __name__ == "__main__":
    main()
