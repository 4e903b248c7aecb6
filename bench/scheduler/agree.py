"""Whether another scheduler decides as ours would: random pods, one after the other, on random nodes.

    python -m bench.scheduler.agree --kubeconfig F --pods 300

The other scheduler runs against that API server already (`tiphys up --disable scheduler`, then kube-scheduler). For every pod
ours says which nodes it finds best, or why there is none, without writing anything; then the other's word is read and compared,
and stands. Keep below 100 nodes: upstream looks at a sample of more.
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvloop

from bench.scheduler import server
from bench.scheduler.cluster import NAMESPACE, hopeless
from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.services import SERVICES
from tiphys.api.scheduling.priorityclasses import PRIORITYCLASSES
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient
from tiphys.machinery.tree import Obj
from tiphys.scheduler import pod_info
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER
from tiphys.scheduler.cycle import Cycle, Placed, Unplaced
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.profiles import default_profile
from tiphys.scheduler.state import State

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ("red", "green", "blue")
CLASSES = tuple(f"agree-{each}" for each in range(1, 5))
IMAGES = ("one:1", "two:2", "three:latest", "four:4")


class Maker:
    def __init__(self, seed: int, classes: bool) -> None:
        self._chance = random.Random(seed)
        self._classes = classes

    def node(self, number: int) -> Obj:
        pick = self._chance.choice
        name = f"agree-{number}"
        labels = {HOST: name, "disk": pick(("ssd", "hdd")), "rank": str(number % 7)}
        if self._chance.random() < 0.9:
            labels[ZONE] = pick(("a", "b", "c"))
        amounts = {"cpu": pick(("2", "4", "8")), "memory": pick(("4Gi", "8Gi", "15Gi")), "pods": pick(("5", "20", "110"))}
        if self._chance.random() < 0.2:
            amounts["example.com/gpu"] = pick(("1", "2"))
        taints = []
        if self._chance.random() < 0.2:
            taints.append({"key": "dedicated", "value": "x", "effect": pick(("NoSchedule", "PreferNoSchedule"))})
        images = [
            {"names": [f"example.com/{each}"], "sizeBytes": (at + 1) * 200_000_000}
            for at, each in enumerate(IMAGES)
            if self._chance.random() < 0.4
        ]
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints, "unschedulable": self._chance.random() < 0.05},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "images": images,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            },
        }

    def pod(self, number: int) -> Obj:
        app = self._chance.choice(APPS)
        spec: Obj = {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "tolerations": self._tolerations(),
            "containers": [self._container(at) for at in range(self._chance.choice((1, 1, 2)))],
        }
        if self._chance.random() < 0.15:
            spec["initContainers"] = [{**self._container(9), "restartPolicy": "Always"}, self._container(8)]
        if self._chance.random() < 0.2:
            spec["nodeSelector"] = {"disk": self._chance.choice(("ssd", "hdd", "tape"))}
        if self._chance.random() < 0.2:
            key = self._chance.choice((ZONE, HOST))
            spec["topologySpreadConstraints"] = [self._spread(key, app)]
        spec["affinity"] = self._affinity(app)
        if self._classes:
            spec["priorityClassName"] = self._chance.choice(CLASSES)
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"agree-{number}", "namespace": NAMESPACE, "labels": {"app": app}},
            "spec": spec,
        }

    def _tolerations(self) -> list[Obj]:
        often = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
        return [*often, {"key": "dedicated", "operator": "Exists"}] if self._chance.random() < 0.3 else often

    def _container(self, number: int) -> Obj:
        requests: Obj = {}
        if self._chance.random() < 0.8:
            requests["cpu"] = self._chance.choice(("50m", "100m", "250m", "1", "3"))
        if self._chance.random() < 0.8:
            requests["memory"] = self._chance.choice(("64Mi", "200Mi", "1Gi", "5Gi"))
        if self._chance.random() < 0.05:
            requests["example.com/gpu"] = "1"
        image = f"example.com/{self._chance.choice(IMAGES)}"
        container: Obj = {"name": f"c{number}", "image": image, "resources": {"requests": requests}}
        if "example.com/gpu" in requests:
            container["resources"]["limits"] = {"example.com/gpu": "1"}
        if self._chance.random() < 0.1:
            container["ports"] = [{"containerPort": 80, "hostPort": 8000 + number}]
        return container

    def _spread(self, key: str, app: str) -> Obj:
        return {
            "maxSkew": self._chance.choice((1, 2)),
            "topologyKey": key,
            "whenUnsatisfiable": self._chance.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": {"app": app}},
        }

    def _affinity(self, app: str) -> Obj:
        affinity: Obj = {}
        if self._chance.random() < 0.25:
            affinity["nodeAffinity"] = self._node_affinity()
        for kind in ("podAffinity", "podAntiAffinity"):
            if self._chance.random() < 0.15:
                other = self._chance.choice((app, *APPS))
                term = {
                    "topologyKey": self._chance.choice((ZONE, HOST)),
                    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": [other]}]},
                }
                if self._chance.random() < 0.5:
                    affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
                else:
                    weighted = {"weight": self._chance.randint(1, 100), "podAffinityTerm": term}
                    affinity[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
        return affinity

    def _node_affinity(self) -> Obj:
        conditions: list[Obj] = [
            {"key": "rank", "operator": "Gt", "values": ["3"]},
            {"key": "rank", "operator": "Lt", "values": ["5"]},
            {"key": "rank", "operator": "NotIn", "values": ["1", "2"]},
            {"key": ZONE, "operator": "DoesNotExist"},
            {"key": ZONE, "operator": "Exists"},
            {"key": "disk", "operator": "In", "values": ["ssd"]},
        ]
        if self._chance.random() < 0.5:
            weighted = [
                {"weight": self._chance.randint(1, 100), "preference": {"matchExpressions": [each]}}
                for each in self._chance.sample(conditions, 2)
            ]
            return {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
        term: Obj = {"matchExpressions": self._chance.sample(conditions, 1)}
        if self._chance.random() < 0.2:
            named = self._chance.randint(0, 60)
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"agree-{named}"]}]}
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def best(outcome: Placed | Unplaced) -> dict[str, Any]:
    """Nodes by their score; only those that tie for the best."""
    nodes = outcome.decision.explain()["nodes"]
    totals = {name: told["total"] for name, told in nodes.items() if "total" in told}
    top = max(totals.values(), default=0)
    return {name: total for name, total in totals.items() if total == top}


def preempts(outcome: Placed | Unplaced) -> bool:
    return isinstance(outcome, Unplaced) and outcome.victims is not None


def loss(pods: Sequence[PodInfo]) -> tuple[float, ...]:
    """How dear the victims are: upstream's order, but for their budgets, of which there are none."""
    priorities = [each.priority for each in pods]
    top = max(priorities, default=0)
    first = min((each.started for each in pods if each.priority == top), default=0.0)
    return top, sum(priorities), len(priorities), -first


async def start(client: RestClient, state: State, pod: Obj, number: int) -> None:
    """As a kubelet would say it. Upstream takes pods that have not started in any order."""
    at = number * 37 % 3600
    status = {**(pod.get("status") or {}), "startTime": f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z"}
    started = await client.update(PODS, {**pod, "status": status}, subresource="status")
    state.pod_changed(pod, started, 0)


async def settled(client: RestClient, name: str) -> list[Obj]:
    """All pods, once the one that evicted others has its node."""
    while True:
        pods = (await client.list(PODS, NAMESPACE)).items
        if any(each["metadata"]["name"] == name and each["spec"].get("nodeName") for each in pods):
            return pods
        await asyncio.sleep(0.05)


async def compare_victims(client: RestClient, state: State, outcome: Unplaced, name: str, number: int) -> tuple[str, int]:
    """What differs in who had to go; the state follows what happened."""
    assert outcome.victims is not None
    async with asyncio.timeout(30):
        after = await settled(client, name)
    left = {each["metadata"]["uid"] for each in after}
    gone = [each for _, each in list(state.table.present_pods()) if each.uid not in left]
    node = next(each["spec"]["nodeName"] for each in after if each["metadata"]["name"] == name)
    for each in gone:
        state.pod_changed(each.obj, None, 0)
    for each in after:
        if each["spec"].get("nodeName") and state.pods.get(each["metadata"]["uid"]) is None:
            state.pod_changed(None, each, 0)
            await start(client, state, each, number)
    if loss(gone) == loss(outcome.victims.pods):
        return "", len(gone)
    ours = [(each.name, each.priority) for each in outcome.victims.pods]
    return f"they: {node} {[(each.name, each.priority) for each in gone]}; we: {outcome.victims.node} {ours}", len(gone)


async def verdict(client: RestClient, name: str, since: str) -> Obj:
    """The pod, once the other scheduler has said its word."""
    async for event in client.watch(PODS, NAMESPACE, params={"resourceVersion": since}):
        pod = event.object
        if pod["metadata"]["name"] != name:
            continue
        if pod["spec"].get("nodeName") or facts.condition(pod, "PodScheduled"):
            return pod
    raise SystemExit("the API server ended the watch")


async def heard_of(client: RestClient, nodes: int) -> None:
    """Returns once the other scheduler knows all nodes: it says on how many it found no room. It had better know them at the
    first question: what upstream has counted of an image until then it keeps for each node that it has looked at."""
    await asyncio.sleep(1.0)
    said = ""
    while not said.startswith(f"0/{nodes} "):
        created = await client.create(PODS, hopeless(0), NAMESPACE)
        name, since = created["metadata"]["name"], created["metadata"]["resourceVersion"]
        async with asyncio.timeout(20):
            pod = await verdict(client, name, since)
        said = (facts.condition(pod, "PodScheduled") or {}).get("message", "")
        await client.delete(PODS, name, NAMESPACE, options={"gracePeriodSeconds": 0})


def compare(outcome: Placed | Unplaced, pod: Obj) -> str:
    """What differs; empty if nothing."""
    node = pod["spec"].get("nodeName", "")
    if isinstance(outcome, Unplaced):
        said = (facts.condition(pod, "PodScheduled") or {}).get("message", "")
        if node:
            return f"they: {node}; we: {outcome.message}"
        return "" if said == outcome.message else f"they: {said}\n    we:   {outcome.message}"
    if not node:
        return f"they: {(facts.condition(pod, 'PodScheduled') or {}).get('message')}; we: {outcome.node}"
    ties = best(outcome)
    if node == outcome.node or node in ties:
        return ""
    told = outcome.decision.explain()["nodes"]
    return f"they: {node} {told[node]}\n    we:   {outcome.node} {told[outcome.node]}"


async def run(given: argparse.Namespace) -> int:
    client = RestClient(kubeconfig.resolve(kubeconfig.read(given.kubeconfig)), user_agent="bench")
    maker, state = (
        Maker(given.seed, given.preempt),
        State(lambda cluster: {DEFAULT_SCHEDULER: default_profile(cluster)}, lambda _: 0),
    )
    nodes = [maker.node(number) for number in range(given.nodes)]
    await server.delete_nodes(client, nodes)
    await server.prepare(client, nodes)
    await server.delete_pods(client)
    await service(client, state)
    for at, name in enumerate(CLASSES):
        await server.ensure(client, PRIORITYCLASSES, priority_class(name, at))
    found = await client.list(server.NODES)
    for node in found.items:
        state.node_changed(None, node, 0)
    await heard_of(client, len(found.items))
    differing = 0
    cycle: Cycle = state.cycles[DEFAULT_SCHEDULER]
    placed = refused = evicted = 0
    try:
        for number in range(given.pods):
            created = await client.create(PODS, maker.pod(number), NAMESPACE)
            outcome = cycle.schedule(pod_info.of(created), 0.0)
            async with asyncio.timeout(20):
                pod = await verdict(client, created["metadata"]["name"], created["metadata"]["resourceVersion"])
            if preempts(outcome):
                assert isinstance(outcome, Unplaced)
                told, victims = await compare_victims(client, state, outcome, created["metadata"]["name"], number)
                evicted += victims
            else:
                told = compare(outcome, pod)
            if told:
                differing += 1
                print(f"{created['metadata']['name']}:\n    {told}", flush=True)
            if preempts(outcome):
                placed += 1
            elif pod["spec"].get("nodeName"):
                placed += 1
                state.pod_changed(None, pod, 0)
                await start(client, state, pod, number)
            else:
                refused += 1
                await client.delete(PODS, pod["metadata"]["name"], NAMESPACE, options={"gracePeriodSeconds": 0})
    finally:
        await server.delete_pods(client)
        await server.delete_nodes(client, nodes)
        client.close()
    told = f"{placed} placed, {refused} refused, {evicted} evicted; {differing} decided differently"
    print(f"{given.pods} pods on {given.nodes} nodes: {told}")
    return 1 if differing else 0


def priority_class(name: str, value: int) -> Obj:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


async def service(client: RestClient, state: State) -> None:
    """One app has a Service, so that its pods are spread by default."""
    spec = {"selector": {"app": APPS[0]}, "ports": [{"port": 80}]}
    made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "agree", "namespace": NAMESPACE}, "spec": spec}
    await server.ensure(client, SERVICES, made)
    state.cluster.services[NAMESPACE] = {"agree": made}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--pods", type=int, default=300)
    parser.add_argument("--preempt", action="store_true", help="pods of different priorities, which evict each other")
    parser.add_argument("--seed", type=int, default=1)
    return uvloop.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
