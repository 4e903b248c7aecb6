"""Do two kubelets make the same of the same hundred pods?

    python -m bench.pods A.kubeconfig B.kubeconfig [--only init ...]

Each cluster has one node whose containerd holds docker.io/library/busybox:1.36, and a scheduler and controllers. Pods of some
forty kinds (kinds.py), two of each, and Jobs are made in both clusters; each is looked at when it has come as far as it is to
come. Then times, names that were made up and addresses are taken out and the rest is compared. Prints the differences and how
long each cluster took; ends with 1 if there are any.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from bench.pods.kinds import KINDS
from bench.pods.wishes import Wish, run
from bench.stories.compare import Found, Plain, differences
from bench.stories.shapes import job
from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.pods import PODS
from tiphys.api.core.secrets import SECRETS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

SPACE = "hundred"
TIMES = 2
PATIENCE = 240.0


@dataclass
class Seen:
    pods: dict[str, Obj] = field(default_factory=dict)
    """As they were when they had come far enough."""
    last: dict[str, Obj] = field(default_factory=dict)
    jobs: dict[str, Obj] = field(default_factory=dict)
    seconds: float = 0.0
    gone: float = 0.0


def _jobs() -> dict[str, Obj]:
    def of(script: str, **spec: object) -> Obj:
        whole: Obj = job("", **spec)
        template = {"spec": {"containers": [run(script)], "restartPolicy": "Never"}}
        return {**whole, "template": template}

    indexed = {"completions": 6, "parallelism": 3, "completionMode": "Indexed"}
    return {
        "three": of("exit 0", completions=6, parallelism=2),
        "twice": of("exit 1", backoffLimit=1),
        "each": of("exit 0", **indexed),
    }


async def _accounts(client: RestClient) -> bool:
    return bool((await client.list(SERVICE_ACCOUNTS, SPACE)).items)


async def _is_gone(client: RestClient) -> bool:
    return all(each["metadata"]["name"] != SPACE for each in (await client.list(NAMESPACES)).items)


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while not await holds():
        if loop.time() > deadline:
            raise TimeoutError("what is awaited does not come about")
        await asyncio.sleep(0.2)


async def _begin(client: RestClient) -> None:
    await _end(client)
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    made = ((CONFIG_MAPS, "settings", {"data": {"a": "one"}}), (SECRETS, "hidden", {"stringData": {"key": "secret"}}))
    for kind, name, parts in made:
        await client.create(kind, {"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": name}, **parts}, SPACE)
    await _until(lambda: _accounts(client))


async def _end(client: RestClient) -> None:
    try:
        await client.delete(NAMESPACES, SPACE)
    except ApiError as error:
        if error.reason not in ("NotFound", "Conflict"):
            raise
    await _until(lambda: _is_gone(client))


async def _follow(client: RestClient, wishes: dict[str, Wish], seen: Seen) -> None:
    listed = await client.list(PODS, SPACE)
    async for event in client.watch(PODS, SPACE, params={"resourceVersion": listed.revision}):
        name = event.object["metadata"]["name"]
        seen.last[name] = event.object
        if name in wishes and name not in seen.pods and wishes[name].reached(event.object):
            seen.pods[name] = event.object
        owners = event.object["metadata"].get("ownerReferences") or ()
        if owners and name not in seen.pods and event.object["status"]["phase"] in ("Succeeded", "Failed"):
            seen.pods[name] = event.object


async def live(path: Path, wishes: dict[str, Wish], jobs: dict[str, Obj]) -> Seen:
    client, seen = RestClient(kubeconfig.resolve(kubeconfig.read(path)), user_agent="bench", timeout=None), Seen()
    loop = asyncio.get_running_loop()
    try:
        await _begin(client)
        following = asyncio.create_task(_follow(client, wishes, seen))
        await asyncio.sleep(0.5)
        began = loop.time()
        for name, each in wishes.items():
            metadata = {**each.metadata, "name": name}
            await client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": each.spec}, SPACE)
        for name, spec in jobs.items():
            await client.create(
                JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}, SPACE
            )
        while loop.time() - began < PATIENCE and not (wishes.keys() <= seen.pods.keys() and seen.jobs.keys() == jobs.keys()):
            await asyncio.sleep(0.2)
            for each in (await client.list(JOBS, SPACE)).items:
                if any(found["type"] in ("Complete", "Failed") for found in each.get("status", {}).get("conditions") or ()):
                    seen.jobs[each["metadata"]["name"]] = each
        seen.seconds = loop.time() - began
        began = loop.time()
        await _end(client)
        seen.gone = loop.time() - began
        following.cancel()
    finally:
        client.close()
    return seen


def found(seen: Seen, wishes: dict[str, Wish]) -> Found:
    pods = {**{name: seen.last[name] for name in wishes if name in seen.last}, **seen.pods}
    plain = Plain((*pods.values(), *seen.jobs.values()))
    objects = {
        ("Pod", SPACE): [_without_machine(plain.of(each)) for each in pods.values()],
        ("Job", SPACE): [plain.of(each) for each in seen.jobs.values()],
    }
    return Found(objects, {})


NO_LIMIT = "9007199254740988Ki"
"""What the first version of control groups says where nothing limits memory; upstream's kubelet shows it as a limit."""


def _without_machine(pod: Obj) -> Obj:
    """Without ids that a runtime gave, and without limits that are none."""
    resources = pod["status"].get("resources") or {}
    if (resources.get("limits") or {}).get("memory") == NO_LIMIT:
        pod["status"]["resources"] = {part: each for part, each in resources.items() if part != "limits"}
    for group in ("initContainerStatuses", "containerStatuses"):
        for container in pod["status"].get(group) or ():
            ends = [container[part].get("terminated") for part in ("state", "lastState")]
            for each in (container, *filter(None, ends)):
                if "containerID" in each:
                    each["containerID"] = "<id>"
    return pod


async def compare(given: argparse.Namespace) -> int:
    chosen = [each for each in KINDS if not given.only or any(part in each.name for part in given.only)]
    wishes = {f"{each.name}-{chr(97 + number)}": each for number in range(TIMES) for each in chosen}
    jobs = {} if given.only else _jobs()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(live(path, wishes, jobs)) for path in given.kubeconfig]
    one, other = (task.result() for task in tasks)
    lines = differences(found(one, wishes), found(other, wishes))
    for path, seen in zip(given.kubeconfig, (one, other), strict=True):
        late = sorted(wishes.keys() - seen.pods.keys()) + sorted(jobs.keys() - seen.jobs.keys())
        took = f"{seen.seconds:.1f} s, all gone in {seen.gone:.1f} s"
        print(f"{path}: {len(seen.pods)} pods as far as they go in {took}; not so far: {late}")
    for line in lines:
        print(line)
    print(f"{len(lines)} differences")
    return 1 if lines else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig", type=Path, nargs=2)
    parser.add_argument("--only", nargs="*", default=[], metavar="PART", help="kinds whose names contain this")
    return int(uvloop.run(compare(parser.parse_args())))


if __name__ == "__main__":
    sys.exit(main())
