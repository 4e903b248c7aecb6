"""Do two control planes make the same of the same wishes?

    python -m bench.stories A.kubeconfig B.kubeconfig [--only deployment ...]

Every story (stories/*.py: some two hundred steps over all kinds of workloads) is told to both clusters, with this program as
scheduler and kubelet, until each is at rest; then all objects are compared after names that were made up, times, uids and
addresses have been taken out. Neither cluster may run a scheduler or have nodes of its own. Prints the differences; ends with 1
if there are any.
"""

import argparse
import asyncio
import sys
from pathlib import Path

import uvloop

from bench.stories import batch, compare, others, workloads
from bench.stories.kubelet import NODES_OF_STORIES, Kubelet
from bench.stories.play import Cluster, Story, tell
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient

STORIES: tuple[Story, ...] = (*workloads.STORIES, *batch.STORIES, *others.STORIES)


async def live(path: Path, stories: list[Story]) -> tuple[compare.Found, int]:
    """What the stories have led to in a cluster, and how many steps they took."""
    client = RestClient(kubeconfig.resolve(kubeconfig.read(path)), user_agent="bench")
    cluster = Cluster(client)
    kubelet = Kubelet(client)
    try:
        await kubelet.prepare(NODES_OF_STORIES)
        beating = asyncio.create_task(kubelet.run())
        try:
            steps = await tell(cluster, kubelet, stories)
            found = await compare.collect(client, [story.__name__ for story in stories])
        finally:
            beating.cancel()
        return found, steps
    finally:
        client.close()


async def run(given: argparse.Namespace) -> int:
    wanted = [story for story in STORIES if not given.only or any(part in story.__name__ for part in given.only)]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(live(path, wanted)) for path in given.kubeconfig]
    (one, steps), (other, _) = (task.result() for task in tasks)
    differences = compare.differences(one, other)
    for line in differences:
        print(line)
    count = sum(len(objects) for objects in one.objects.values())
    print(f"{len(wanted)} stories, {steps} steps, {count} objects, {len(differences)} differences")
    if given.events:
        for line in compare.events(one, other):
            print(line)
    return 1 if differences else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig", type=Path, nargs=2)
    parser.add_argument("--only", nargs="*", default=[], metavar="PART", help="stories whose names contain this")
    parser.add_argument("--events", action="store_true", help="compare what was told in events, too")
    return int(uvloop.run(run(parser.parse_args())))


if __name__ == "__main__":
    sys.exit(main())
