"""An autoscaler, a Deployment, and kubelets that say what they use. v1.36.4
test/e2e/autoscaling/horizontal_pod_autoscaling.go."""

from collections.abc import Iterable
from typing import Any

from tests.cluster import Cluster, simulate
from tests.virtual_loop import START

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.autoscaling.horizontalpodautoscalers import HORIZONTALPODAUTOSCALERS
from tiphys.api.core.events import EVENTS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.apiserver.node_metrics.figures import NODE, Look, Point
from tiphys.controllers import conditions
from tiphys.controllers.autoscaler import HorizontalPodAutoscalerController
from tiphys.controllers.deployment import DeploymentController
from tiphys.controllers.replicaset import ReplicaSetController
from tiphys.controllers.service_account import ServiceAccountController
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj

KEY = "default/web"
LABELS = {"app": "web"}
WINDOW = 10.0


def every() -> list[Any]:
    return [
        ServiceAccountController(),
        DeploymentController(),
        ReplicaSetController(),
        HorizontalPodAutoscalerController(),
    ]


class Kubelets:
    """In the place of those who ask kubelets: all pods together use so many cores."""

    def __init__(self, cluster: Cluster, cores: float) -> None:
        self.cluster = cluster
        self.cores = cores

    def forget(self, known: Iterable[str]) -> None:
        """They remember nothing."""

    async def looks(self, nodes: Iterable[Obj]) -> dict[str, tuple[Look, Look]]:
        now = self.cluster.clock.now()
        pods = [pod for pod in await self.cluster.list(PODS) if not meta.is_deleting(pod)]
        each = self.cores / max(1, len(pods))

        def look(at: float) -> Look:
            points = {("default", meta.name(pod), "c"): Point(at, each * (at - START), 1e6, START) for pod in pods}
            return Look({NODE: Point(at, 0.0, 0.0, START), **points})

        return {meta.name(node): (look(now - WINDOW), look(now)) for node in nodes}


async def begin(cluster: Cluster, cores: float, **behavior: Obj) -> Kubelets:
    kubelets = Kubelets(cluster, cores)
    backend: Any = cluster.server.pipeline.backend
    backend.scraper = kubelets
    await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}
    template = {"metadata": {"labels": LABELS}, "spec": {"nodeName": "n", "containers": [container]}}
    metadata = {"name": "web", "namespace": "default"}
    web = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template}
    await cluster.create(DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": web})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
    spec: Obj = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10, "metrics": [metric]}
    if behavior:
        spec["behavior"] = behavior
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    await cluster.create(HORIZONTALPODAUTOSCALERS, {**kind, "metadata": metadata, "spec": spec})
    return kubelets


async def live(cluster: Cluster, seconds: float) -> None:
    """Pods run as soon as they are there, and go as soon as they are told."""
    for _ in range(int(seconds)):
        await cluster.settle()
        for pod in await cluster.list(PODS):
            if meta.is_deleting(pod):
                await cluster.delete(PODS, meta.key(pod), gracePeriodSeconds=0)
            elif pod["status"]["phase"] == "Pending":
                at = times.rfc3339(cluster.clock.now())
                condition = {"type": "Ready", "status": "True", "lastTransitionTime": at}
                running = {"name": "c", "state": {"running": {"startedAt": at}}, "image": "x", "imageID": "x"}
                running = {**running, "ready": True, "restartCount": 0}
                status = {"phase": "Running", "startTime": at, "conditions": [condition], "containerStatuses": [running]}
                await cluster.patch(PODS, meta.key(pod), {"status": status}, "status")


async def size(cluster: Cluster) -> int:
    found: int = (await cluster.get(DEPLOYMENTS, KEY))["spec"]["replicas"]
    return found


async def status(cluster: Cluster) -> Obj:
    found: Obj = (await cluster.get(HORIZONTALPODAUTOSCALERS, KEY))["status"]
    return found


def message(told: Obj, kind: str) -> str:
    found = conditions.find(told["conditions"], kind)
    assert found is not None
    return str(found["message"])


def reasons(told: Obj) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in told["conditions"]}


def test_copies_follow_what_they_use_up_at_once_and_down_after_a_while():
    async def scenario(cluster: Cluster) -> None:
        kubelets = await begin(cluster, cores=0.4)
        await live(cluster, 14)
        assert await size(cluster) == 2, "nothing happens before the first period is over"
        await live(cluster, 32)
        assert await size(cluster) == 8, f"{await status(cluster)}\n{cluster.told()}"
        await live(cluster, 30)
        told = await status(cluster)
        current = {"averageUtilization": 50, "averageValue": "50m"}
        assert told["currentMetrics"] == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
        assert (told["currentReplicas"], told["desiredReplicas"]) == (8, 8)
        assert reasons(told) == {
            "AbleToScale": ("True", "ReadyForNewScale"),
            "ScalingActive": ("True", "ValidMetricFound"),
            "ScalingLimited": ("False", "DesiredWithinRange"),
        }
        messages = [each["message"] for each in await cluster.list(EVENTS) if each["reason"] == "SuccessfulRescale"]
        above = "cpu resource utilization (percentage of request) above target"
        assert sorted(messages) == [f"New size: 4; reason: {above}", f"New size: 8; reason: {above}"]
        kubelets.cores = 0.08
        await live(cluster, 240)
        assert await size(cluster) == 8, f"{await status(cluster)}\n{cluster.told()}"
        assert reasons(await status(cluster))["AbleToScale"] == ("True", "ScaleDownStabilized")
        await live(cluster, 90)
        assert await size(cluster) == 2

    simulate(scenario, every)


def test_its_behavior_sets_the_pace():
    async def scenario(cluster: Cluster) -> None:
        one = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
        kubelets = await begin(
            cluster,
            cores=1.0,
            scaleUp={"policies": one},
            scaleDown={"selectPolicy": "Disabled"},
        )
        await live(cluster, 40)
        assert await size(cluster) == 3
        assert reasons(await status(cluster))["ScalingLimited"] == ("True", "ScaleUpLimit")
        await live(cluster, 60)
        assert await size(cluster) == 4
        kubelets.cores = 0.0
        await live(cluster, 400)
        assert await size(cluster) == 4

    simulate(scenario, every)


def test_bounds_come_before_metrics():
    async def scenario(cluster: Cluster) -> None:
        await begin(cluster, cores=0.0)
        await cluster.patch(HORIZONTALPODAUTOSCALERS, KEY, {"spec": {"minReplicas": 4, "maxReplicas": 5}})
        await live(cluster, 20)
        assert await size(cluster) == 4
        assert (await status(cluster))["currentMetrics"] is None
        await cluster.patch(DEPLOYMENTS, KEY, {"spec": {"replicas": 9}})
        await live(cluster, 20)
        assert await size(cluster) == 5
        await cluster.patch(DEPLOYMENTS, KEY, {"spec": {"replicas": 0}})
        await live(cluster, 40)
        assert await size(cluster) == 0
        assert reasons(await status(cluster))["ScalingActive"] == ("False", "ScalingDisabled")

    simulate(scenario, every)


def test_what_keeps_it_from_scaling_is_told():
    async def scenario(cluster: Cluster) -> None:
        kubelets = await begin(cluster, cores=0.4)
        backend: Any = cluster.server.pipeline.backend

        class Silent(Kubelets):
            async def looks(self, nodes: Iterable[Obj]) -> dict[str, tuple[Look, Look]]:
                return {}

        backend.scraper = Silent(cluster, 0.0)
        await live(cluster, 20)
        told = await status(cluster)
        assert reasons(told) == {
            "AbleToScale": ("True", "SucceededGetScale"),
            "ScalingActive": ("False", "FailedGetResourceMetric"),
        }
        assert message(told, "ScalingActive") == (
            "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for "
            "resource cpu: no metrics returned from resource metrics API"
        )
        backend.scraper = kubelets
        metric = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "3"}}
        change = {"spec": {"metrics": [{"type": "Pods", "pods": metric}]}}
        await cluster.patch(HORIZONTALPODAUTOSCALERS, KEY, change)
        await live(cluster, 40)
        assert message(await status(cluster), "ScalingActive").endswith(
            "unable to get metric queue: unable to fetch metrics from custom metrics API: "
            "no custom metrics API (custom.metrics.k8s.io) registered"
        )
        other = {"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"}}}
        await cluster.patch(HORIZONTALPODAUTOSCALERS, KEY, other)
        await live(cluster, 40)
        assert message(await status(cluster), "AbleToScale") == (
            'the HPA controller was unable to get the target\'s current scale: deployments.apps "gone" not found'
        )
        reported = {each["reason"] for each in await cluster.list(EVENTS)}
        assert {"FailedGetResourceMetric", "FailedComputeMetricsReplicas", "FailedGetPodsMetric", "FailedGetScale"} <= reported

    simulate(scenario, every)


def test_two_autoscalers_of_the_same_pods_stand_in_each_others_way():
    async def scenario(cluster: Cluster) -> None:
        await begin(cluster, cores=0.4)
        twin = await cluster.get(HORIZONTALPODAUTOSCALERS, KEY)
        metadata = {"name": "twin", "namespace": "default"}
        await cluster.create(HORIZONTALPODAUTOSCALERS, {**twin, "metadata": metadata, "status": {}})
        await live(cluster, 40)
        assert message(await status(cluster), "ScalingActive") == (
            "pods by selector app=web are controlled by multiple HPAs: [default/twin default/web]"
        )
        await cluster.delete(HORIZONTALPODAUTOSCALERS, "default/twin")
        await live(cluster, 40)
        assert await size(cluster) == 8, f"{await status(cluster)}\n{cluster.told()}"

    simulate(scenario, every)
