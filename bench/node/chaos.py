"""kill -9 of a node's kubelet and its containerd at random moments while pods come and go: is anything lost, doubled, left?

    tiphys up --data-dir D --node real --detach
    python -m bench.node.chaos --data-dir D --image busybox:1 --rounds 100

Every container has its pod's uid among its arguments: several times a second the machine's processes are looked through for
two of the same pod. Some pods are there from the beginning: they have to keep their containers. The image needs a shell and
sleep.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
import uvloop

from bench.node.pods import Population, is_ready, pod
from bench.node.traces import MARK, doubled, traces
from tiphys.api.core.pods import PODS
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient
from tiphys.cmd.node_home import NodeHome
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.machinery.tree import Obj

STEADY = 5
MOST = 20
"""Pods that come and go."""
_LOOKS = 0.2


def _pod(name: str, image: str) -> Obj:
    made = pod(name, image, ["sh", "-c", "trap 'exit 0' TERM; sleep 86400 & wait", MARK, "$(UID_OF_POD)"])
    main = made["spec"]["containers"][0]
    main["env"] = [{"name": "UID_OF_POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]
    main["volumeMounts"] = [{"name": "room", "mountPath": "/room"}]
    made["spec"]["volumes"] = [{"name": "room", "emptyDir": {"medium": "Memory"}}]
    return made


class Chaos:
    def __init__(self, given: argparse.Namespace, pods: Population, chance: random.Random) -> None:
        self._data: Path = given.data_dir
        self._image: str = given.image
        self.doubled: set[str] = set()
        self._pods = pods
        self._chance = chance
        self.home = NodeHome(given.data_dir.absolute() / "node")
        self.killed: Counter[str] = Counter()
        self.made = 0

    async def begin(self) -> None:
        await self._pods.create(_pod(f"steady-{number}", self._image) for number in range(STEADY))
        await self.settle()

    async def churn(self) -> None:
        """Pods come and go until cancelled."""
        while True:
            comers = [name for name in self._pods.pods if name.startswith("comer-")]
            if len(comers) < MOST and self._chance.random() < 0.6:
                self.made += 1
                await self._pods.create([_pod(f"comer-{self.made}", self._image)])
            elif comers:
                await self._pods.delete([self._chance.choice(comers)])
            await asyncio.sleep(self._chance.uniform(0.02, 0.3))

    def kill(self) -> None:
        which = self._chance.choice(("kubelet", "containerd"))
        pid = self._kubelet() if which == "kubelet" else self.home.containerd().pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.killed[which] += 1

    def _kubelet(self) -> int | None:
        run = orjson.loads((self._data / "run.json").read_bytes())
        pid: int = next(each["pid"] for each in run["components"] if each["name"].startswith("node "))
        return pid if Path(f"/proc/{pid}").exists() else None

    async def settle(self) -> None:
        """Every pod that is there and is not to go runs, and those that are to go are gone."""
        async with asyncio.timeout(180):
            await self._pods.until(
                lambda known: all(is_ready(each) and "deletionTimestamp" not in each["metadata"] for each in known.values())
            )

    def containers(self, prefix: str) -> dict[str, str]:
        """Of each pod by its uid."""
        return {
            each["metadata"]["uid"]: each["status"]["containerStatuses"][0]["containerID"]
            for name, each in self._pods.pods.items()
            if name.startswith(prefix)
        }

    async def look(self) -> None:
        """For two containers of one pod, until cancelled."""
        while True:
            self.doubled |= await asyncio.to_thread(doubled)
            await asyncio.sleep(_LOOKS)


async def agreement(client: RestClient, home: NodeHome) -> list[str]:
    """Where the runtime and the API disagree about what runs."""
    runtime = Runtime(home.socket)
    try:
        seen = await runtime.seen()
    finally:
        await runtime.close()
    known = {each["metadata"]["uid"] for each in (await client.list(PODS)).items}
    ready = Counter(each.pod_uid for each in seen if each.is_sandbox and each.state == "ready")
    run = Counter(each.pod_uid for each in seen if not each.is_sandbox and each.state == "running")
    unknown = {each.pod_uid for each in seen} - known
    return [
        *(f"the runtime has a pod that the API does not know: {uid}" for uid in sorted(unknown)),
        *(f"{count} sandboxes of one pod: {uid}" for uid, count in ready.items() if count > 1),
        *(f"{count} containers of one pod run: {uid}" for uid, count in run.items() if count > 1),
    ]


async def eventually(problems: Callable[[], Awaitable[list[str]]], seconds: float) -> list[str]:
    """What is still wrong after so long."""
    for _ in range(int(seconds * 2)):
        try:
            if not (found := await problems()):
                return []
        except RuntimeFailed as failed:
            found = [str(failed)]
        await asyncio.sleep(0.5)
    return found


async def rounds(chaos: Chaos, client: RestClient, given: argparse.Namespace, chance: random.Random) -> list[str]:
    problems: list[str] = []
    for number in range(1, given.rounds + 1):
        churn = asyncio.create_task(chaos.churn())
        await asyncio.sleep(chance.uniform(0.2, given.longest))
        chaos.kill()
        # What is to be found may be killed while it is just starting again.
        await asyncio.sleep(chance.uniform(0.0, 2.0))
        churn.cancel()
        await asyncio.wait([churn])
        if number % given.check_every and number != given.rounds:
            continue
        try:
            await chaos.settle()
        except TimeoutError:
            problems.append(f"round {number}: pods are lost")
            break
        problems += await eventually(lambda: agreement(client, chaos.home), 30)
        print(f"round {number}: {dict(chaos.killed)}, {chaos.made} pods so far, problems: {problems}", flush=True)
    return problems


async def run(given: argparse.Namespace) -> int:
    chance = random.Random(given.seed)
    client = RestClient(kubeconfig.resolve(kubeconfig.read(given.data_dir / "admin.kubeconfig")), user_agent="bench")
    try:
        async with Population(client) as pods:
            await pods.delete(list(pods.pods))
            await pods.until(lambda known: not known)
            chaos = Chaos(given, pods, chance)
            before = await asyncio.to_thread(traces, chaos.home)
            await chaos.begin()
            steady = chaos.containers("steady-")
            looking = asyncio.create_task(chaos.look())
            problems = await rounds(chaos, client, given, chance)
            looking.cancel()
            await asyncio.wait([looking])
            if chaos.containers("steady-") != steady:
                problems.append(
                    f"pods that were there all the time have other containers: {steady} {chaos.containers('steady-')}"
                )
            problems += [f"two containers of one pod ran at once: {uid}" for uid in sorted(chaos.doubled)]
            await pods.delete(list(pods.pods))
            await pods.until(lambda known: not known)

            async def left() -> list[str]:
                return sorted(await asyncio.to_thread(traces, chaos.home) - before)

            problems += [f"left: {each}" for each in await eventually(left, 60)]
    finally:
        client.close()
    print(f"{given.rounds} rounds, seed {given.seed}, killed {dict(chaos.killed)}, {chaos.made} pods came and went")
    print("\n".join(problems) or "nothing lost, nothing doubled, nothing left")
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data-dir", type=Path, required=True, help="of a cluster with one real node")
    add("--image", required=True)
    add("--rounds", type=int, default=100, help="(default: %(default)s)")
    add("--longest", type=float, default=3.0, help="seconds between two kills, at most (default: %(default)s)")
    add("--check-every", type=int, default=5, help="rounds (default: %(default)s)")
    add("--seed", type=int, default=1, help="(default: %(default)s)")
    return uvloop.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
