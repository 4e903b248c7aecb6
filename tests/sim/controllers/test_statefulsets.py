"""StatefulSets against the real API server: order, updates, history, claims. v1.36.4 test/e2e/apps/statefulset.go."""

from typing import Any

from tests.cluster import Cluster, simulate
from tests.kubelet import beat, run_pod, work

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.core.events import EVENTS
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def stateful_set(replicas: int = 3, **spec: Any) -> Obj:
    labels = {"app": "db"}
    # A node of their own makes their deletion a matter of the kubelet.
    pod = {"nodeName": "n1", "containers": [{"name": "c", "image": "one"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    whole = {"replicas": replicas, "serviceName": "svc", "selector": {"matchLabels": labels}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"}, "spec": whole}


async def images(cluster: Cluster) -> dict[str, str]:
    return {meta.name(pod): pod["spec"]["containers"][0]["image"] for pod in await cluster.list(PODS)}


async def set_image(cluster: Cluster, image: str) -> None:
    containers = [{"name": "c", "image": image}]
    await cluster.patch(STATEFULSETS, "default/db", {"spec": {"template": {"spec": {"containers": containers}}}})


async def status(cluster: Cluster) -> Obj:
    found: Obj = (await cluster.get(STATEFULSETS, "default/db"))["status"]
    return found


def test_pods_come_one_after_the_other_and_go_the_other_way():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        claim = {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
        }
        await cluster.create(STATEFULSETS, stateful_set(volumeClaimTemplates=[claim]))
        for count in (1, 2, 3, 3):
            await cluster.settle(5)
            assert sorted(await images(cluster)) == [f"db-{number}" for number in range(count)]
            await beat(cluster)
        assert (await status(cluster)) == {
            "observedGeneration": 1,
            "replicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "currentReplicas": 3,
            "updatedReplicas": 3,
            "currentRevision": (await status(cluster))["updateRevision"],
            "updateRevision": (await status(cluster))["updateRevision"],
            "collisionCount": 0,
        }
        await cluster.patch(STATEFULSETS, "default/db", {"spec": {"replicas": 1}})
        await cluster.settle()
        assert [meta.name(pod) for pod in await cluster.list(PODS) if meta.is_deleting(pod)] == ["db-2"]
        await work(cluster, 4)
        assert sorted(await images(cluster)) == ["db-0"]
        claims = [meta.name(each) for each in await cluster.list(PERSISTENT_VOLUME_CLAIMS)]
        assert sorted(claims) == ["data-db-0", "data-db-1", "data-db-2"]
        told = {(each["reason"], each["message"]) for each in await cluster.list(EVENTS)}
        assert ("SuccessfulCreate", "Create Claim data-db-1 Pod db-1 in StatefulSet db success") in told
        assert ("SuccessfulCreate", "Create Pod db-1 in StatefulSet db successful") in told
        assert ("SuccessfulDelete", "Delete Pod db-2 in StatefulSet db successful") in told

    simulate(scenario, every)


def test_an_update_goes_to_the_partition_then_on_then_back():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        await cluster.create(STATEFULSETS, stateful_set(updateStrategy=rolling))
        await work(cluster, 5)
        await set_image(cluster, "two")
        await work(cluster, 6)
        assert await images(cluster) == {"db-0": "one", "db-1": "one", "db-2": "two"}
        found = await status(cluster)
        assert (found["currentReplicas"], found["updatedReplicas"]) == (2, 1)
        assert found["currentRevision"] != found["updateRevision"]
        # A pod that is lost below the partition comes back as it was.
        await cluster.delete(PODS, "default/db-0", gracePeriodSeconds=0)
        await work(cluster, 2)
        assert (await images(cluster))["db-0"] == "one"
        rolling["rollingUpdate"] = {"partition": 0}
        await cluster.patch(STATEFULSETS, "default/db", {"spec": {"updateStrategy": rolling}})
        await work(cluster, 8)
        assert set((await images(cluster)).values()) == {"two"}
        await set_image(cluster, "one")
        await work(cluster, 12)
        assert set((await images(cluster)).values()) == {"one"}
        found = await status(cluster)
        assert found["currentRevision"] == found["updateRevision"]
        revisions = {meta.name(each): each["revision"] for each in await cluster.list(CONTROLLERREVISIONS)}
        assert (sorted(revisions.values()), revisions[found["updateRevision"]]) == ([2, 3], 3)

    simulate(scenario, every)


def test_claims_go_with_the_set_and_with_the_pods_that_it_gives_up():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        claim = {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
        }
        policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
        wanted = stateful_set(
            volumeClaimTemplates=[claim], persistentVolumeClaimRetentionPolicy=policy, podManagementPolicy="Parallel"
        )
        await cluster.create(STATEFULSETS, wanted)
        await work(cluster, 4)
        kinds = [[each["kind"] for each in meta.owners(found)] for found in await cluster.list(PERSISTENT_VOLUME_CLAIMS)]
        assert kinds == [["StatefulSet"]] * 3
        await cluster.patch(STATEFULSETS, "default/db", {"spec": {"replicas": 2}})
        await work(cluster, 4)
        # The claims' protection is not this controller's matter.
        left = [meta.name(each) for each in await cluster.list(PERSISTENT_VOLUME_CLAIMS) if not meta.is_deleting(each)]
        assert left == ["data-db-0", "data-db-1"]
        await cluster.delete(STATEFULSETS, "default/db", "Background")
        await work(cluster, 4)
        assert await cluster.list(PODS) == []
        assert all(meta.is_deleting(each) for each in await cluster.list(PERSISTENT_VOLUME_CLAIMS))
        assert await cluster.list(CONTROLLERREVISIONS) == []

    simulate(scenario, every)


def test_a_pod_that_has_ended_comes_back_under_its_name():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(STATEFULSETS, stateful_set(2))
        await work(cluster, 4)
        before = {meta.name(pod): meta.uid(pod) for pod in await cluster.list(PODS)}
        for phase in ("Failed", "Succeeded"):
            (pod,) = (each for each in await cluster.list(PODS) if meta.name(each) == "db-0")
            await run_pod(cluster, pod, phase=phase, ready=False)
            await work(cluster, 4)
        after = {meta.name(pod): meta.uid(pod) for pod in await cluster.list(PODS)}
        assert (after["db-1"], after["db-0"] != before["db-0"]) == (before["db-1"], True)

    simulate(scenario, every)


def test_min_ready_seconds_pace_the_start():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(STATEFULSETS, stateful_set(2, minReadySeconds=30))
        await cluster.settle()
        await beat(cluster)
        await cluster.settle(28)
        assert sorted(await images(cluster)) == ["db-0"]
        await cluster.settle(4)
        assert sorted(await images(cluster)) == ["db-0", "db-1"]
        assert (await status(cluster))["availableReplicas"] == 1

    simulate(scenario, every)
