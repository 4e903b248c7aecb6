"""Ten minutes of work for a controller manager and a scheduler, whoever wrote them, and what their logs say of it.

    python -m bench.beside CLUSTER.kubeconfig --minutes 10 --log KCM.log SCHEDULER.log [--control KCM.log SCHEDULER.log]

This program is the kubelet of nodes it makes up; the cluster must have a scheduler and controllers, and no nodes of its own. In
each round a Deployment of fifty gets its pods and is rolled, owners go with what they own, a namespace goes with all that is in
it, and the stories (bench/stories) are told. Then the errors and warnings of the logs are counted by their shape; `--control`
names logs of the same programs from a run beside another API server, to tell what they say anyway. Ends with 1 if work was left
undone.
"""

import argparse
import asyncio
import sys
from pathlib import Path

import uvloop

from bench.beside import logs, rounds
from bench.stories.__main__ import STORIES
from bench.stories.kubelet import NODES_OF_STORIES, Kubelet
from bench.stories.play import Cluster, tell
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient

QUIET = 5.0
"""Seconds: controllers and scheduler each do only so much a second, and all stories are told at once."""


async def work(path: Path, minutes: float) -> list[str]:
    """What was left undone."""
    client = RestClient(kubeconfig.resolve(kubeconfig.read(path)), user_agent="bench")
    kubelet = Kubelet(client, binds=False)
    loop = asyncio.get_running_loop()
    until = loop.time() + minutes * 60
    undone: list[str] = []
    number = 0
    try:
        await kubelet.prepare(NODES_OF_STORIES)
        beating = asyncio.create_task(kubelet.run())
        try:
            while loop.time() < until:
                number += 1
                for each in rounds.ROUNDS:
                    began = loop.time()
                    left = await each(client, f"{each.__name__.replace('_', '-')}-{number}")
                    print(f"round {number}: {each.__name__} {left or 'done'} ({loop.time() - began:.1f} s)", flush=True)
                    undone += [f"{each.__name__}: {left}"] if left else []
                if loop.time() < until:
                    steps = await tell(Cluster(client), kubelet, list(STORIES), QUIET)
                    print(f"round {number}: {len(STORIES)} stories, {steps} steps", flush=True)
        finally:
            beating.cancel()
    finally:
        client.close()
    return undone


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--log", type=Path, nargs="*", default=[], help="of the programs that are watched")
    parser.add_argument("--control", type=Path, nargs="*", default=[], help="of the same programs beside another server")
    given = parser.parse_args()
    undone = uvloop.run(work(given.kubeconfig, given.minutes)) if given.minutes else []
    for line in (*undone, *logs.table(given.log, given.control)):
        print(line)
    return 1 if undone else 0


if __name__ == "__main__":
    sys.exit(main())
