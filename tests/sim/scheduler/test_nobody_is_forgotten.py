"""Whatever happens, and wherever the scheduler dies: no pod goes where a filter refuses it, and none is forgotten.

Hypothesis plays random stories against the real loop and API server, in virtual time: nodes come, change and go, pods come and
go, bindings are lost before they are written or after, hang, and die with the scheduler that asked for them; another scheduler
starts from nothing but the API. Every decision is judged again, node by node, in a few plain lines.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cluster import Cluster, simulate
from tests.sim.scheduler.scene import ACCOUNT, SCHEDULER, node, pod

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.kind import Kind
from tiphys.base.tasks import cancel, start
from tiphys.client.interface import Client
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER
from tiphys.scheduler.cycle import Cycle, Placed, Unplaced
from tiphys.scheduler.loop import Scheduler
from tiphys.scheduler.opinion import Opinion
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.profiles import default_profile
from tiphys.scheduler.state import State

NAMES = ("n0", "n1", "n2")
ROOMY = "roomy"


class Lossy:
    """A client whose bindings go as the story wants; everything else is passed on."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.fates: list[str] = []
        """Of the next bindings: "lost" or "stalls" before it is written, "unheard" or "hangs" after."""
        self.hanging = False
        self.bound: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def create(self, kind: Kind, obj: Obj, namespace: str = "", **more: Any) -> Obj:
        if more.get("subresource") != "binding":
            return await self._client.create(kind, obj, namespace, **more)
        fate = self.fates.pop() if self.fates else ""
        if fate == "lost":
            raise ConnectionError("the server is away")
        self.bound.append((obj["metadata"]["uid"], obj["target"]["name"]))
        if fate == "stalls":
            self.hanging = True
            await asyncio.Event().wait()
        answer = await self._client.create(kind, obj, namespace, **more)
        if fate == "unheard":
            raise ConnectionError("the answer was lost")
        if fate == "hangs":
            self.hanging = True
            await asyncio.Event().wait()
        return answer


class Judged:
    """A cycle whose every decision is checked."""

    def __init__(self, cycle: Cycle, state: State) -> None:
        self._cycle = cycle
        self._state = state
        self.decided: set[tuple[str, str]] = set()
        self.wrong: list[str] = []
        """Collected: the loop takes whatever is raised here for a plugin's trouble."""

    def feasible(self, info: PodInfo) -> list[str]:
        return self._cycle.feasible(info)

    def schedule(self, info: PodInfo, now: float, opinion: Opinion | None = None) -> Placed | Unplaced:
        table = self._state.table
        possible = {
            name
            for name, row in table.rows.items()
            if (there := table.node(name)) is not None and may(info.obj, there, [each.obj for each in table.pods[row].values()])
        }
        outcome = self._cycle.schedule(info, now, opinion)
        if isinstance(outcome, Placed):
            self.decided.add((info.uid, outcome.node))
            if outcome.node not in possible:
                self.wrong.append(f"{info.key} is sent to {outcome.node}, which cannot take it")
        elif possible:
            self.wrong.append(f"{info.key} is sent nowhere, though {possible} could take it: {outcome.message}")
        return outcome


def may(wanted: Obj, there: Obj, others: list[Obj]) -> bool:
    """Said again, slowly: every filter that these stories can run into."""
    spec, allocatable = wanted["spec"], there["status"]["allocatable"]
    used = sum(facts.requests(each)["cpu"].milli() for each in (*others, wanted))
    fits = used <= quantity.parse(allocatable["cpu"]).milli() and len(others) < int(allocatable["pods"])
    labels = there["metadata"].get("labels") or {}
    chosen = all(labels.get(key) == value for key, value in (spec.get("nodeSelector") or {}).items())
    # Pods of these stories tolerate all taints but this one.
    tainted = any(each["key"] == "keep-off" for each in there["spec"].get("taints") or ())
    mine = ports(wanted)
    free = all(not mine & ports(each) for each in others)
    apart = all(not keeps_away(wanted, each) and not keeps_away(each, wanted) for each in others)
    return fits and chosen and not tainted and not there["spec"].get("unschedulable") and free and apart


def ports(each: Obj) -> set[int]:
    return {port["hostPort"] for port in each["spec"]["containers"][0].get("ports") or ()}


def keeps_away(one: Obj, other: Obj) -> bool:
    return bool(one["spec"].get("affinity")) and (other["metadata"].get("labels") or {}).get("app") == "lonely"


def made(name: str, traits: Mapping[str, Any]) -> Obj:
    spec: Obj = {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}
    if traits["picky"]:
        spec["nodeSelector"] = {"disk": "ssd"}
    if traits["gated"]:
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    if traits["lonely"]:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "lonely"}}}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    new = pod(name, traits["cpu"], **spec)
    new["metadata"]["labels"] = {"app": "lonely"} if traits["lonely"] else {}
    if traits["port"]:
        new["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    return new


class Story:
    def __init__(self, cluster: Cluster, group: asyncio.TaskGroup) -> None:
        self._cluster = cluster
        self._group = group
        self._count = 0
        self.client = Lossy(cluster.client(SCHEDULER, "scheduler"))
        self.decided: set[tuple[str, str]] = set()
        self.wrong: list[str] = []

    async def begin(self) -> None:
        """Another scheduler, which knows nothing."""
        state = State(lambda known: {DEFAULT_SCHEDULER: default_profile(known)}, random.Random(1).randrange)
        judged = Judged(state.cycles[DEFAULT_SCHEDULER], state)
        judged.decided, judged.wrong = self.decided, self.wrong
        state.cycles[DEFAULT_SCHEDULER] = judged  # type: ignore[assignment]
        self.state = state
        cluster = self._cluster
        scheduler = Scheduler(self.client, state, cluster.clock, random.Random(1).random, cluster.log)  # type: ignore[arg-type]
        self._task = await start(self._group, scheduler.run, name="scheduler")

    async def end(self) -> None:
        await cancel(self._task)

    async def play(self, what: str, given: Any) -> None:
        await getattr(self, f"_{what}")(given)

    async def _dies(self, _: Any) -> None:
        self.client.hanging = False
        await self.end()
        await self.begin()

    async def _fates(self, fates: list[str]) -> None:
        self.client.fates = fates

    async def _passes(self, seconds: float) -> None:
        await self._cluster.settle(seconds)

    async def _node(self, given: tuple[str, Mapping[str, Any]]) -> None:
        name, traits = given
        there = {each["metadata"]["name"] for each in await self._cluster.list(NODES)}
        new = node(name, traits["cpu"])
        new["metadata"]["labels"] = {"kubernetes.io/hostname": name, "disk": "ssd" if traits["ssd"] else "hdd"}
        taints = [{"key": "keep-off", "effect": "NoSchedule"}] if traits["tainted"] else None
        new["spec"] = {"unschedulable": traits["cordoned"] or None, "taints": taints}
        if name not in there:
            await self._cluster.create(NODES, new)
        else:
            await self._cluster.patch(NODES, name, {"metadata": new["metadata"], "spec": new["spec"]})
            await self._cluster.patch(NODES, name, {"status": new["status"]}, "status")

    async def _leaves(self, name: str) -> None:
        if name in {each["metadata"]["name"] for each in await self._cluster.list(NODES)}:
            await self._cluster.delete(NODES, name)

    async def _pod(self, traits: Mapping[str, Any]) -> None:
        self._count += 1
        await self._cluster.create(PODS, made(f"p{self._count}", traits))

    async def _goes(self, at: int) -> None:
        pods = await self._cluster.list(PODS)
        if pods:
            await self._cluster.delete(PODS, f"default/{pods[at % len(pods)]['metadata']['name']}", gracePeriodSeconds=0)

    async def _ungated(self, at: int) -> None:
        gated = [each for each in await self._cluster.list(PODS) if each["spec"].get("schedulingGates")]
        if gated:
            name = gated[at % len(gated)]["metadata"]["name"]
            await self._cluster.patch(PODS, f"default/{name}", {"spec": {"schedulingGates": None}})

    async def check(self) -> None:
        """Once all has come to rest."""
        assert self.wrong == []
        assert set(self.client.bound) <= self.decided
        pods = await self._cluster.list(PODS)
        for each in pods:
            if not each["spec"].get("nodeName"):
                assert each["metadata"]["uid"] in self.state.queue, "forgotten"
        table = self.state.table
        placed = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in pods if each["spec"].get("nodeName")}
        assert {info.name: table.names[row] for row, info in table.present_pods()} == placed

    async def all_find_room(self) -> None:
        self.client.fates = []
        pods = await self._cluster.list(PODS)
        # The roomy node takes one of those that keep apart; the other nodes may have filled up by then.
        apart = [each for each in pods if not each["spec"].get("nodeName") and (keeps_away(each, each) or ports(each))]
        for each in apart[1:]:
            await self._cluster.delete(PODS, f"default/{each['metadata']['name']}", gracePeriodSeconds=0)
        await self._node((ROOMY, {"cpu": "999", "ssd": True, "tainted": False, "cordoned": False}))
        for name in NAMES:
            await self._node((name, {"cpu": "4", "ssd": True, "tainted": False, "cordoned": False}))
        for _ in pods:
            await self._ungated(0)

        async def everybody() -> bool:
            return all(each["spec"].get("nodeName") for each in await self._cluster.list(PODS))

        await self._cluster.until(everybody)


def node_traits(chance: random.Random) -> dict[str, Any]:
    rare = {each: chance.random() < 0.25 for each in ("tainted", "cordoned")}
    return {"cpu": chance.choice(("2", "4", "8")), "ssd": chance.random() < 0.7, **rare}


def pod_traits(chance: random.Random) -> dict[str, Any]:
    rare = {each: chance.random() < 0.2 for each in ("picky", "gated", "lonely", "port")}
    return {"cpu": chance.choice(("500m", "1", "3")), **rare}


def step(chance: random.Random) -> tuple[str, Any]:
    what = chance.choice(
        ("node", "node", "leaves", "pod", "pod", "pod", "goes", "ungated", "fates", "passes", "passes", "dies")
    )
    match what:
        case "node":
            return what, (chance.choice(NAMES), node_traits(chance))
        case "leaves":
            return what, chance.choice(NAMES)
        case "pod":
            return what, pod_traits(chance)
        case "fates":
            return what, chance.choices(("lost", "unheard", "hangs", "stalls", ""), k=3)
        case "passes":
            return what, chance.choice((0.0, 0.001, 0.5, 15.0))
    return what, chance.randrange(10)


@pytest.mark.slow  # plays some dozen long stories
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_whatever_happens(seed: int):
    chance = random.Random(seed)
    told = [("node", (name, node_traits(chance))) for name in NAMES] + [step(chance) for _ in range(60)]

    async def whole(cluster: Cluster) -> None:
        await cluster.create(SERVICE_ACCOUNTS, ACCOUNT)
        async with asyncio.TaskGroup() as group:
            story = Story(cluster, group)
            await story.begin()
            for what, given_to_it in told:
                await story.play(what, given_to_it)
            if story.client.hanging:
                # Which ends with the scheduler that waits for it, and not before.
                await story.play("dies", None)
            story.client.fates = []
            await cluster.settle(60)
            await story.check()
            await story.all_find_room()
            await cluster.settle(1)
            await story.check()
            await story.end()

    simulate(whole)
