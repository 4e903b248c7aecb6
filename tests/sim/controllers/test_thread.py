"""From a Deployment to its pods, and back: the real API, the real controllers, simulated time."""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.events import EVENTS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def deployment(name: str = "web", replicas: int = 3, image: str = "nginx:1", **spec: Any) -> Obj:
    labels = {"app": name}
    container = {"name": "c", "image": image}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            **spec,
        },
    }


async def run_pods(cluster: Cluster, node: str = "n1") -> None:
    """What a scheduler and a kubelet would do: pods that are new become ready, pods that must go are gone."""
    for number, pod in enumerate(await cluster.list(PODS)):
        key = meta.key(pod)
        if meta.is_deleting(pod):
            await cluster.delete(PODS, key, gracePeriodSeconds=0)
        elif not pod["spec"].get("nodeName"):
            target = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": meta.name(pod)},
                "target": {"kind": "Node", "name": node},
            }
            await cluster.admin.create(PODS, target, "default", name=meta.name(pod), subresource="binding")
            status = {
                "phase": "Running",
                "podIP": f"10.0.0.{number + 1}",
                "podIPs": [{"ip": f"10.0.0.{number + 1}"}],
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2027-01-15T08:00:00Z"}],
            }
            await cluster.patch(PODS, key, {"status": status}, "status")


def test_a_deployment_gets_its_pods_and_reports_them():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(DEPLOYMENTS, deployment())
        await cluster.settle()
        sets = await cluster.list(REPLICASETS)
        assert [rs["spec"]["replicas"] for rs in sets] == [3]
        assert meta.is_controlled_by(sets[0], await cluster.get(DEPLOYMENTS, "default/web"))
        pods = await cluster.list(PODS)
        assert len(pods) == 3
        assert all(meta.is_controlled_by(pod, sets[0]) for pod in pods)
        status = (await cluster.get(DEPLOYMENTS, "default/web"))["status"]
        assert (status["replicas"], status["updatedReplicas"], status["unavailableReplicas"]) == (3, 3, 3)
        await run_pods(cluster)
        await cluster.settle()
        status = (await cluster.get(DEPLOYMENTS, "default/web"))["status"]
        assert (status["readyReplicas"], status["availableReplicas"]) == (3, 3)
        reasons = {each["type"]: each["reason"] for each in status["conditions"]}
        assert reasons == {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
        told = {(event["involvedObject"]["kind"], event["reason"]) for event in await cluster.list(EVENTS)}
        assert told == {("Deployment", "ScalingReplicaSet"), ("ReplicaSet", "SuccessfulCreate")}

    simulate(scenario, every)


def test_a_rollout_never_leaves_its_bounds():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(DEPLOYMENTS, deployment(replicas=4))
        await cluster.settle()
        await run_pods(cluster)
        await cluster.settle()
        await cluster.patch(DEPLOYMENTS, "default/web", {"spec": {"template": {"metadata": {"annotations": {"a": "1"}}}}})
        await cluster.settle()

        async def done() -> bool:
            live = [pod for pod in await cluster.list(PODS) if not meta.is_deleting(pod)]
            ready = [pod for pod in live if pod["status"].get("conditions")]
            assert len(live) <= 5  # replicas and a quarter of them more
            assert len(ready) >= 3
            await run_pods(cluster)
            status = (await cluster.get(DEPLOYMENTS, "default/web"))["status"]
            return status.get("updatedReplicas") == 4 and status["replicas"] == 4 and status["availableReplicas"] == 4

        await cluster.until(done)
        await cluster.settle()
        sets = {meta.annotations(rs)["deployment.kubernetes.io/revision"]: rs for rs in await cluster.list(REPLICASETS)}
        assert {number: rs["spec"]["replicas"] for number, rs in sets.items()} == {"1": 0, "2": 4}
        assert meta.annotations(await cluster.get(DEPLOYMENTS, "default/web"))["deployment.kubernetes.io/revision"] == "2"

    simulate(scenario, every)


def test_a_namespace_is_furnished_and_emptied():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
        await cluster.settle()
        assert [meta.name(each) for each in await cluster.list(SERVICE_ACCOUNTS, "n")] == ["default"]
        assert [each["data"] for each in await cluster.list(CONFIG_MAPS, "n")] == [{"ca.crt": "certificate"}]
        await cluster.delete(NAMESPACES, "n")
        await cluster.settle(10)
        with pytest.raises(ApiError, match="not found"):
            await cluster.get(NAMESPACES, "n")
        assert not await cluster.list(CONFIG_MAPS, "n")

    simulate(scenario, every)


def test_a_service_stands_for_its_ready_pods():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
        }
        await cluster.create(SERVICES, service)
        await cluster.settle()
        (empty,) = [each for each in await cluster.list(ENDPOINT_SLICES) if meta.name(each).startswith("web-")]
        assert not empty.get("endpoints")
        await cluster.create(DEPLOYMENTS, deployment(replicas=2))
        await cluster.settle()
        await run_pods(cluster)
        await cluster.settle()
        (full,) = [each for each in await cluster.list(ENDPOINT_SLICES) if meta.name(each).startswith("web-")]
        assert meta.uid(full) == meta.uid(empty)
        assert sorted(each["addresses"] for each in full["endpoints"]) == [["10.0.0.1"], ["10.0.0.2"]]
        assert full["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]

    simulate(scenario, every)
