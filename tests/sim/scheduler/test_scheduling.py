"""The scheduler against the real API server pipeline, in virtual time."""

import asyncio
import random

import pytest
from tests.cluster import Cluster, simulate
from tests.sim.scheduler.scene import ACCOUNT, SCHEDULER, Scene, node, play, pod

from tiphys.api.core.nodes import NODES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.persistentvolumes import PERSISTENT_VOLUMES
from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.storage.storageclasses import STORAGECLASSES
from tiphys.base.log import Log, Logger
from tiphys.base.tasks import cancel, start
from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.settings import DEFAULT_SCHEDULER
from tiphys.scheduler.events import Event
from tiphys.scheduler.framework import Profile
from tiphys.scheduler.loop import Scheduler
from tiphys.scheduler.one_node import Node, OneNodePlugin, Rejected
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.state import State


# v1.36.4 pkg/scheduler/schedule_one.go (finishBinding)
def test_a_pod_gets_a_node_and_people_are_told():
    async def scenario(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a"))
        await scene.cluster.create(PODS, pod("p"))
        await scene.bound("p")
        await scene.cluster.settle()
        assert await scene.told("p") == ["Successfully assigned default/p to a"]
        assert facts.has_condition(await scene.cluster.get(PODS, "default/p"), "PodScheduled")

    play(scenario)


# v1.36.4 pkg/scheduler/schedule_one.go (handleSchedulingFailure)
def test_a_pod_without_room_says_why_and_goes_once_there_is_some():
    async def scenario(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("small", "1"))
        await scene.cluster.create(PODS, pod("p", "2"))
        await scene.cluster.settle(5)
        condition = facts.condition(await scene.cluster.get(PODS, "default/p"), "PodScheduled")
        assert condition is not None
        assert condition["reason"] == "Unschedulable"
        assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu. ")
        assert condition["observedGeneration"] == 1
        await scene.cluster.create(NODES, node("big"))
        await scene.bound("p")
        assert await scene.node_of("p") == "big"

    play(scenario)


def test_room_that_becomes_free_is_used():
    async def scenario(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a", "1"))
        await scene.cluster.create(PODS, pod("first"))
        await scene.bound("first")
        await scene.cluster.create(PODS, pod("second"))
        await scene.cluster.settle(60)
        assert await scene.node_of("second") == ""
        await scene.cluster.delete(PODS, "default/first", gracePeriodSeconds=0)
        await scene.bound("second")

    play(scenario)


def test_a_gated_pod_waits():
    async def scenario(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a"))
        await scene.cluster.create(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
        await scene.cluster.settle(600)
        assert await scene.node_of("p") == ""
        await scene.cluster.patch(PODS, "default/p", {"spec": {"schedulingGates": None}})
        await scene.bound("p")

    play(scenario)


# v1.36.4 pkg/scheduler/framework/preemption/executor.go (PreemptPod)
def test_a_more_important_pod_takes_the_place_of_another():
    async def scenario(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a", "1"))
        await scene.cluster.create(PODS, pod("low"))
        await scene.bound("low")
        await scene.cluster.create(PODS, pod("high", priorityClassName="system-node-critical"))
        await scene.bound("high")
        assert [each["metadata"]["name"] for each in await scene.cluster.list(PODS)] == ["high"]
        await scene.cluster.settle()
        high = await scene.cluster.get(PODS, "default/high")
        assert (await scene.told("low"))[-1] == f"Preempted by pod {high['metadata']['uid']} on node a"
        assert "nominatedNodeName" not in high["status"]

    play(scenario)


def test_pods_of_other_schedulers_are_left_alone_but_take_room():
    async def scenario(scene: Scene) -> None:
        await scene.cluster.create(NODES, node("a", "1"))
        await scene.cluster.create(PODS, pod("theirs", schedulerName="another"))
        await scene.cluster.create(PODS, pod("placed", nodeName="a"))
        await scene.cluster.create(PODS, pod("ours"))
        await scene.cluster.settle(600)
        assert await scene.node_of("theirs") == ""
        assert await scene.node_of("ours") == ""

    play(scenario)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_and_goes_no_node_is_overbooked_and_nobody_is_forgotten(seed: int):
    async def scenario(scene: Scene) -> None:
        chance = random.Random(seed)
        for number in range(4):
            await scene.cluster.create(NODES, node(f"n{number}", "4"))
        for number in range(60):
            await scene.cluster.create(PODS, pod(f"p{number}", chance.choice(("500m", "1", "2"))))
            if chance.random() < 0.5:
                await scene.cluster.settle(chance.random())
            if chance.random() < 0.4:
                name = chance.choice(await scene.cluster.list(PODS))["metadata"]["name"]
                await scene.cluster.delete(PODS, f"default/{name}", gracePeriodSeconds=0)
        await scene.cluster.settle(30)
        used: dict[str, int] = {}
        for each in await scene.cluster.list(PODS):
            found = each["spec"].get("nodeName", "")
            if not found:
                assert facts.condition(each, "PodScheduled") is not None
                assert each["metadata"]["uid"] in scene.scheduler.state.queue
            used[found] = used.get(found, 0) + facts.requests(each)["cpu"].milli()
        assert all(amount <= 4000 for name, amount in used.items() if name)
        # A node for all that are left.
        await scene.cluster.create(NODES, node("huge", "64"))
        await scene.bound(*(each["metadata"]["name"] for each in await scene.cluster.list(PODS)))

    play(scenario)


STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "local"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def local_volume(name: str, on: str) -> Obj:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


CLAIM: Obj = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


# v1.36.4 pkg/scheduler/framework/plugins/volumebinding/binder.go (BindPodVolumes)
def test_a_volume_is_set_aside_and_waited_for_before_the_pod_is_bound():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        for name in ("a", "b"):
            made = node(name)
            made["metadata"]["labels"] = {"kubernetes.io/hostname": name}
            await cluster.create(NODES, made)
        await cluster.create(STORAGECLASSES, STORAGE_CLASS)
        await cluster.create(PERSISTENT_VOLUMES, local_volume("v", "b"))
        await cluster.patch(PERSISTENT_VOLUMES, "v", {"status": {"phase": "Available"}}, "status")
        await cluster.create(PERSISTENT_VOLUME_CLAIMS, CLAIM)
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
        await cluster.create(PODS, pod("p", volumes=volumes))
        await cluster.settle(30)
        volume = await cluster.get(PERSISTENT_VOLUMES, "v")
        assert volume["spec"]["claimRef"]["name"] == "c"
        assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
        assert await scene.node_of("p") == ""
        # What the controller of volumes does once it sees that.
        done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "v"}}
        await cluster.patch(PERSISTENT_VOLUME_CLAIMS, "default/c", done)
        await scene.bound("p")
        assert await scene.node_of("p") == "b"

    play(scenario)


def test_a_pod_that_another_has_bound_is_let_go():
    async def scenario(scene: Scene) -> None:
        cluster = scene.cluster
        for name in ("a", "b"):
            await cluster.create(NODES, node(name, "1"))
        made = await cluster.create(PODS, pod("p"))
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "b"}}
        await cluster.admin.create(PODS, binding, "default", name="p", subresource="binding")
        await cluster.create(PODS, pod("q"))
        await scene.bound("p", "q")
        await cluster.settle(60)
        assert await scene.node_of("p") == "b"
        assert await scene.node_of("q") == "a"
        assert made["metadata"]["uid"] not in scene.scheduler.state.queue

    play(scenario)


class Broken(OneNodePlugin):
    name = "Broken"
    unblocked_by = Event.NODE_ADDED

    def judge(self, pod: PodInfo, node: Node) -> Rejected | None:
        if pod.name == "unlucky":
            raise RuntimeError("a bug of the plugin")
        return None


def test_a_plugin_that_fails_for_one_pod_does_not_keep_others_waiting():
    async def whole(cluster: Cluster) -> None:
        lines: list[str] = []
        log = Logger(Log(lines.append, clock=cluster.clock), "test", {})
        profile = Profile(DEFAULT_SCHEDULER, filters=(Broken(),))
        state = State(lambda _: {DEFAULT_SCHEDULER: profile}, lambda _: 0)
        scheduler = Scheduler(cluster.client(SCHEDULER, "scheduler"), state, cluster.clock, lambda: 0.5, log)
        await cluster.create(SERVICE_ACCOUNTS, ACCOUNT)
        async with asyncio.TaskGroup() as group:
            task = await start(group, scheduler.run, name="scheduler")
            scene = Scene(cluster, scheduler)
            await cluster.create(NODES, node("a"))
            await cluster.create(PODS, pod("unlucky"))
            await cluster.create(PODS, pod("lucky"))
            await scene.bound("lucky")
            await cluster.settle(30)
            condition = facts.condition(await cluster.get(PODS, "default/unlucky"), "PodScheduled")
            assert condition is not None
            assert (condition["reason"], condition["message"]) == ("SchedulerError", "a bug of the plugin")
            assert 4 <= len(lines) <= 8  # backing off, not spinning
            await cancel(task)

    simulate(whole)
