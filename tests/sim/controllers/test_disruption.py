"""Budgets, evictions and protected claims together. v1.36.4 test/e2e/apps/disruption.go, test/e2e/storage/pvc_protection.go."""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate
from tests.kubelet import beat, work

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.controllers.disruption.expected import Scaled, Unwatched, ask
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

LABELS = {"app": "web"}


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def budget(**spec: Any) -> Obj:
    metadata = {"name": "b", "namespace": "default"}
    whole = {"selector": {"matchLabels": LABELS}, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": whole}


def pod(name: str, **spec: Any) -> Obj:
    metadata = {"name": name, "namespace": "default", "labels": LABELS}
    whole = {"containers": [{"name": "c", "image": "x"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


async def status(cluster: Cluster) -> Obj:
    found: Obj = (await cluster.get(PODDISRUPTIONBUDGETS, "default/b"))["status"]
    return found


async def evict(cluster: Cluster, name: str) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
    await cluster.admin.create(PODS, eviction, "default", name=name, subresource="eviction")


def test_evictions_are_granted_as_long_as_enough_are_left():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        template = {"metadata": {"labels": LABELS}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "x"}]}}
        spec = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template}
        metadata = {"name": "web", "namespace": "default"}
        await cluster.create(DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
        await cluster.create(PODDISRUPTIONBUDGETS, budget(maxUnavailable="34%"))
        await cluster.settle()
        assert ((await status(cluster))["expectedPods"], (await status(cluster))["disruptionsAllowed"]) == (3, 0)
        await work(cluster, 2)
        assert (await status(cluster))["disruptionsAllowed"] == 2
        names = [meta.name(each) for each in await cluster.list(PODS)]
        await evict(cluster, names[0])
        await evict(cluster, names[1])
        await cluster.settle()
        found = await status(cluster)
        assert (found["disruptionsAllowed"], found["currentHealthy"], found.get("disruptedPods")) == (0, 1, None)
        with pytest.raises(ApiError, match="disruption budget"):
            await evict(cluster, names[2])
        await work(cluster, 4)
        assert (await status(cluster))["disruptionsAllowed"] == 2

    simulate(scenario, every)


def test_a_scale_is_asked_for_where_nobody_watches():
    async def scenario(cluster: Cluster) -> None:
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        spec = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template}
        metadata = {"name": "web", "namespace": "default"}
        made = await cluster.create(
            DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        )
        uid = meta.uid(made)
        owners = [Unwatched(DEPLOYMENTS, "default", "web", uid), Unwatched(DEPLOYMENTS, "default", "gone", "gone")]
        owners.append(Unwatched(DEPLOYMENTS, "default", "web", "former"))
        assert await ask(cluster.admin, {"owners": owners}) == {uid: Scaled(uid, 3), "gone": None, "former": None}

    simulate(scenario)


def test_an_eviction_that_nothing_follows_is_forgotten():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(PODS, pod("a"))
        await cluster.create(PODDISRUPTIONBUDGETS, budget(minAvailable=0))
        await work(cluster, 2)
        assert (await status(cluster))["disruptionsAllowed"] == 1
        since = (await cluster.get(PODS, "default/a"))["metadata"]["creationTimestamp"]
        await cluster.patch(
            PODDISRUPTIONBUDGETS, "default/b", {"status": {"disruptedPods": {"a": since}, "disruptionsAllowed": 0}}, "status"
        )
        await cluster.settle(60)
        assert (await status(cluster))["currentHealthy"] == 0
        await cluster.settle(90)
        found = await status(cluster)
        assert (found["currentHealthy"], found["disruptionsAllowed"], found.get("disruptedPods")) == (1, 1, None)

    simulate(scenario, every)


def test_a_claim_outlives_its_deletion_until_its_pod_is_gone():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
        await cluster.create(PODS, pod("a", nodeName="n", volumes=volumes))
        await cluster.settle()
        (claim,) = await cluster.list(PERSISTENT_VOLUME_CLAIMS)
        assert (meta.name(claim), meta.finalizers(claim)) == ("a-scratch", ["kubernetes.io/pvc-protection"])
        await beat(cluster)
        await cluster.delete(PERSISTENT_VOLUME_CLAIMS, "default/a-scratch")
        await cluster.settle(5)
        assert meta.is_deleting(await cluster.get(PERSISTENT_VOLUME_CLAIMS, "default/a-scratch"))
        await cluster.delete(PODS, "default/a")
        await cluster.settle(5)
        assert len(await cluster.list(PERSISTENT_VOLUME_CLAIMS)) == 1
        await work(cluster, 2)
        assert await cluster.list(PERSISTENT_VOLUME_CLAIMS) == []

    simulate(scenario, every)
