"""DaemonSets: nodes that come and change, updates, failures. v1.36.4 test/e2e/apps/daemon_set.go."""

from typing import Any

from tests.cluster import Cluster, simulate
from tests.kubelet import run_pod, work

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.api.core.events import EVENTS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.controllers.daemonset import DaemonSetController
from tiphys.controllers.daemonset.placing import node_of
from tiphys.controllers.service_account import ServiceAccountController
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


def concerned() -> list[Any]:
    return [ServiceAccountController(), DaemonSetController()]


def daemon_set(strategy: Obj | None = None, **pod: Any) -> Obj:
    labels = {"app": "log"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "one"}], **pod}}
    spec = {"selector": {"matchLabels": labels}, "template": template, **({"updateStrategy": strategy} if strategy else {})}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "log", "namespace": "default"}, "spec": spec}


async def add_node(cluster: Cluster, name: str, **labels: str) -> None:
    await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    await cluster.patch(NODES, name, {"spec": {"taints": None}})


async def placed(cluster: Cluster) -> dict[str, str]:
    """Image by node."""
    return {node_of(pod): pod["spec"]["containers"][0]["image"] for pod in await cluster.list(PODS)}


async def status(cluster: Cluster) -> Obj:
    found: Obj = (await cluster.get(DAEMONSETS, "default/log"))["status"]
    return found


def test_pods_follow_the_nodes():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await add_node(cluster, "a", kind="big")
        await add_node(cluster, "b")
        await cluster.create(DAEMONSETS, daemon_set(nodeSelector={"kind": "big"}))
        await work(cluster, 2)
        assert sorted(await placed(cluster)) == ["a"]
        await cluster.patch(NODES, "b", {"metadata": {"labels": {"kind": "big"}}})
        await add_node(cluster, "c", kind="big")
        await work(cluster, 2)
        assert sorted(await placed(cluster)) == ["a", "b", "c"]
        found = await status(cluster)
        counts = [
            found[name] for name in ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
        ]
        assert (counts, found["numberMisscheduled"]) == ([3, 3, 3, 3], 0)
        await cluster.patch(NODES, "a", {"metadata": {"labels": {"kind": "small"}}})
        await cluster.patch(NODES, "c", {"spec": {"taints": [{"key": "gpu", "effect": "NoExecute"}]}})
        await work(cluster, 3)
        assert sorted(await placed(cluster)) == ["b"]

    simulate(scenario, concerned)


def test_an_update_goes_node_by_node_and_back():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        for name in "abc":
            await add_node(cluster, name)
        await cluster.create(DAEMONSETS, daemon_set())
        await work(cluster, 2)
        for image in ("two", "one"):
            containers = [{"name": "c", "image": image}]
            await cluster.patch(DAEMONSETS, "default/log", {"spec": {"template": {"spec": {"containers": containers}}}})
            await cluster.settle()
            assert sorted((await placed(cluster)).values()).count(image) == 1
            await work(cluster, 6)
            assert await placed(cluster) == dict.fromkeys("abc", image)
        found = await status(cluster)
        assert (found["updatedNumberScheduled"], found["observedGeneration"]) == (3, 3)
        assert sorted(each["revision"] for each in await cluster.list(CONTROLLERREVISIONS)) == [2, 3]

    simulate(scenario, concerned)


def test_with_surge_the_new_pod_comes_first():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await add_node(cluster, "a")
        await cluster.create(
            DAEMONSETS, daemon_set({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}})
        )
        await work(cluster, 2)
        containers = [{"name": "c", "image": "two"}]
        await cluster.patch(DAEMONSETS, "default/log", {"spec": {"template": {"spec": {"containers": containers}}}})
        await cluster.settle()
        assert [(meta.is_deleting(pod), pod["status"]["phase"]) for pod in await cluster.list(PODS)].count(
            (False, "Running")
        ) == 1
        assert len(await cluster.list(PODS)) == 2
        await work(cluster, 3)
        assert await placed(cluster) == {"a": "two"}

    simulate(scenario, concerned)


def test_a_pod_that_fails_again_and_again_is_made_anew_later_and_later():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await add_node(cluster, "a")
        await cluster.create(DAEMONSETS, daemon_set())
        lives: list[float] = []
        for _ in range(5):
            await cluster.settle(0.1)
            (pod,) = await cluster.list(PODS)
            await run_pod(cluster, pod, phase="Failed", ready=False)
            began, uid = cluster.clock.monotonic(), meta.uid(pod)
            while meta.uid((await cluster.list(PODS))[0]) == uid:
                await cluster.settle(0.05)
            lives.append(cluster.clock.monotonic() - began)
        # 1, 2, 4, ... seconds between two ends; the first is at once.
        assert [round(each) for each in lives] == [0, 1, 2, 4, 8]
        told = {each["reason"] for each in await cluster.list(EVENTS)}
        assert {"FailedDaemonPod", "SuccessfulCreate", "SuccessfulDelete"} <= told

    simulate(scenario, concerned)
