"""ReplicationControllers, ReplicaSets, Deployments, StatefulSets, DaemonSets."""

from collections.abc import AsyncIterator

from bench.stories.play import Play, Story
from bench.stories.shapes import LABELS, claim, named, rolling, template, workload
from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.machinery.tree import Obj

Told = AsyncIterator[float | None]


async def replication_controller(play: Play) -> Told:
    spec = {"replicas": 2, "selector": LABELS, "template": template()}
    await play.create(REPLICATION_CONTROLLERS, "rc", spec=spec)
    yield None
    await play.scale(REPLICATION_CONTROLLERS, "rc", 4)
    yield None
    first, second, *_ = await play.pods()
    await play.delete(PODS, first["metadata"]["name"])
    await play.patch(PODS, second["metadata"]["name"], {"metadata": {"labels": {"app": "stray"}}})
    yield None
    await play.scale(REPLICATION_CONTROLLERS, "rc", 1)
    yield None
    other = {**spec, "selector": {"app": "y"}, "template": template(labels={"app": "y"})}
    await play.create(REPLICATION_CONTROLLERS, "left", spec=other)
    yield None
    await play.delete(REPLICATION_CONTROLLERS, "left", "Orphan")


async def replica_set(play: Play) -> Told:
    pod = template()
    await play.create(PODS, "orphan", labels=LABELS, spec=pod["spec"])
    await play.create(PODS, "other", labels={"app": "z"}, spec=pod["spec"])
    yield None
    await play.create(REPLICASETS, "rs", spec=workload(3, minReadySeconds=2))
    yield 4
    await play.patch(PODS, "orphan", {"metadata": {"labels": {"app": "gone"}}})
    yield None
    await play.scale(REPLICASETS, "rs", 5)
    yield 4
    await play.scale(REPLICASETS, "rs", 0)
    yield None
    await play.scale(REPLICASETS, "rs", 2)
    yield 4
    await play.create(REPLICASETS, "fore", spec=named("f", 2))
    yield None
    await play.delete(REPLICASETS, "fore", "Foreground")


async def replica_set_of_failing_pods(play: Play) -> Told:
    await play.create(REPLICASETS, "rs", spec=workload(2, template(then="unready")))
    yield None
    pod = (await play.pods())[0]
    await play.patch(PODS, pod["metadata"]["name"], {"status": {"phase": "Failed"}}, "status")
    yield None
    await play.scale(REPLICASETS, "rs", 1)


async def deployment_rolling(play: Play) -> Told:
    await play.create(DEPLOYMENTS, "web", labels=LABELS, spec=workload(4, strategy=rolling(maxSurge=1, maxUnavailable=1)))
    yield None
    await play.image(DEPLOYMENTS, "web", "two")
    yield None
    await play.scale(DEPLOYMENTS, "web", 6)
    yield None
    await play.image(DEPLOYMENTS, "web", "one")
    yield None
    await play.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    await play.image(DEPLOYMENTS, "web", "three")
    yield None
    await play.scale(DEPLOYMENTS, "web", 3)
    yield None
    await play.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    yield None
    await play.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {"note": "new"}}})


async def deployment_recreate(play: Play) -> Told:
    await play.create(DEPLOYMENTS, "web", spec=workload(3, strategy={"type": "Recreate"}))
    yield None
    await play.image(DEPLOYMENTS, "web", "two")
    yield None
    await play.scale(DEPLOYMENTS, "web", 1)
    yield None
    await play.patch(DEPLOYMENTS, "web", {"spec": {"strategy": {**rolling(maxSurge="50%", maxUnavailable=0)}}})
    await play.image(DEPLOYMENTS, "web", "three")


async def deployment_stuck(play: Play) -> Told:
    await play.create(DEPLOYMENTS, "web", spec=workload(3, progressDeadlineSeconds=4))
    yield None
    await play.image(DEPLOYMENTS, "web", "two", then="wait")
    yield 8
    await play.create(DEPLOYMENTS, "never", spec=named("n", 1, "wait", progressDeadlineSeconds=3))
    yield 6
    await play.image(DEPLOYMENTS, "web", "three", then=None)


async def deployment_amid_scaling(play: Play) -> Told:
    """docs/concepts/workloads/controllers/deployment: proportional scaling."""
    await play.create(DEPLOYMENTS, "web", spec=workload(10, strategy=rolling(maxSurge=3, maxUnavailable=2)))
    yield None
    await play.image(DEPLOYMENTS, "web", "two", then="wait")
    yield None
    await play.scale(DEPLOYMENTS, "web", 15)
    yield None
    await play.scale(DEPLOYMENTS, "web", 5)


async def deployment_history(play: Play) -> Told:
    await play.create(DEPLOYMENTS, "web", spec=workload(1, revisionHistoryLimit=1, minReadySeconds=1))
    for image in ("two", "three", "four", "two"):
        yield 3
        await play.image(DEPLOYMENTS, "web", image)
    yield 3
    await play.patch(DEPLOYMENTS, "web", {"spec": {"minReadySeconds": 0, "revisionHistoryLimit": 0}})
    yield None
    await play.image(DEPLOYMENTS, "web", "five")


async def deployment_adopting(play: Play) -> Told:
    await play.create(REPLICASETS, "before", labels=LABELS, spec=workload(2))
    yield None
    await play.create(DEPLOYMENTS, "web", spec=workload(2))
    yield None
    await play.image(DEPLOYMENTS, "web", "two")
    yield None
    await play.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "1"}}})
    yield None
    await play.delete(DEPLOYMENTS, "web", "Orphan")


async def stateful_set_in_order(play: Play) -> Told:
    spec = workload(3, serviceName="svc", volumeClaimTemplates=[claim(labels={"c": "1"})], ordinals={"start": 2})
    await play.create(STATEFULSETS, "db", spec=spec)
    yield None
    await play.image(STATEFULSETS, "db", "two")
    yield None
    await play.patch(STATEFULSETS, "db", {"spec": {"updateStrategy": rolling(partition=2)}})
    await play.image(STATEFULSETS, "db", "three")
    yield None
    await play.delete(PODS, "db-2")
    yield None
    await play.scale(STATEFULSETS, "db", 1)
    yield None
    await play.scale(STATEFULSETS, "db", 2)
    yield None
    await play.patch(STATEFULSETS, "db", {"spec": {"updateStrategy": rolling(partition=0)}})
    yield None
    await play.image(STATEFULSETS, "db", "one")


async def stateful_set_in_parallel(play: Play) -> Told:
    quick = workload(4, podManagementPolicy="Parallel", minReadySeconds=1, revisionHistoryLimit=1)
    await play.create(STATEFULSETS, "db", spec=quick)
    yield 3
    await play.image(STATEFULSETS, "db", "two", then="unready")
    yield 3
    await play.image(STATEFULSETS, "db", "three", then=None)
    yield 3
    await play.patch(STATEFULSETS, "db", {"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}})
    await play.image(STATEFULSETS, "db", "four")
    yield None
    await play.delete(PODS, "db-1")
    yield None
    await play.scale(STATEFULSETS, "db", 2)


async def stateful_set_with_claims(play: Play) -> Told:
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    spec = workload(3, volumeClaimTemplates=[claim()], persistentVolumeClaimRetentionPolicy=policy)
    await play.create(STATEFULSETS, "db", spec=spec)
    yield None
    await play.scale(STATEFULSETS, "db", 1)
    yield None
    await play.patch(STATEFULSETS, "db", {"spec": {"persistentVolumeClaimRetentionPolicy": {**policy, "whenScaled": "Retain"}}})
    await play.scale(STATEFULSETS, "db", 2)
    yield None
    await play.scale(STATEFULSETS, "db", 1)
    yield None
    fleeting = {**named("g", 3), "volumeClaimTemplates": [claim()], "persistentVolumeClaimRetentionPolicy": policy}
    await play.create(STATEFULSETS, "gone", spec=fleeting)
    yield None
    await play.delete(STATEFULSETS, "gone")


async def stateful_set_of_broken_pods(play: Play) -> Told:
    await play.create(STATEFULSETS, "db", spec=workload(2))
    yield None
    await play.patch(PODS, "db-0", {"status": {"phase": "Failed"}}, "status")
    yield None
    await play.patch(PODS, "db-1", {"status": {"phase": "Succeeded"}}, "status")
    yield None
    await play.image(STATEFULSETS, "db", "two", then="unready")
    yield None
    await play.image(STATEFULSETS, "db", "one", then=None)
    yield None
    await play.delete(PODS, "db-1")


async def _on(play: Play, node: str) -> Obj:
    return next(pod for pod in await play.pods() if pod["spec"].get("nodeName") == node)


async def daemon_set(play: Play) -> Told:
    spec = {"selector": {"matchLabels": LABELS}, "template": template(nodeSelector={"disk": "ssd"})}
    await play.create(DAEMONSETS, "log", spec=spec)
    yield None
    await play.image(DAEMONSETS, "log", "two")
    yield None
    await play.image(DAEMONSETS, "log", "one")
    yield None
    await play.patch(NODES, "story-c", {"metadata": {"labels": {"disk": "ssd"}}})
    yield None
    await play.patch(NODES, "story-c", {"metadata": {"labels": {"disk": None}}})
    yield None
    pod = await _on(play, "story-a")
    await play.patch(PODS, pod["metadata"]["name"], {"status": {"phase": "Failed"}}, "status")
    yield None
    await play.patch(DAEMONSETS, "log", {"spec": {"revisionHistoryLimit": 0}})
    await play.image(DAEMONSETS, "log", "three")


async def daemon_set_with_surge(play: Play) -> Told:
    spec = {"selector": {"matchLabels": LABELS}, "template": template(nodeSelector={"disk": "ssd"})}
    surging = {**spec, "updateStrategy": rolling(maxSurge=1, maxUnavailable=0), "minReadySeconds": 1}
    await play.create(DAEMONSETS, "log", spec=surging)
    yield 3
    await play.image(DAEMONSETS, "log", "two")
    yield 5
    await play.image(DAEMONSETS, "log", "three", then="unready")
    yield 3
    await play.image(DAEMONSETS, "log", "two", then=None)


async def daemon_set_on_delete(play: Play) -> Told:
    spec = {"selector": {"matchLabels": LABELS}, "template": template(nodeSelector={"disk": "ssd"})}
    await play.create(DAEMONSETS, "log", spec={**spec, "updateStrategy": {"type": "OnDelete"}})
    yield None
    await play.image(DAEMONSETS, "log", "two")
    yield None
    pod = await _on(play, "story-a")
    await play.delete(PODS, pod["metadata"]["name"])
    yield None
    await play.create(DAEMONSETS, "left", spec=named("l", nodeSelector={"disk": "ssd"}))
    yield None
    # Another story gives a node its label back meanwhile.
    yield None
    await play.delete(DAEMONSETS, "left", "Orphan")


STORIES: tuple[Story, ...] = (
    replication_controller,
    replica_set,
    replica_set_of_failing_pods,
    deployment_rolling,
    deployment_recreate,
    deployment_stuck,
    deployment_amid_scaling,
    deployment_history,
    deployment_adopting,
    stateful_set_in_order,
    stateful_set_in_parallel,
    stateful_set_with_claims,
    stateful_set_of_broken_pods,
    daemon_set,
    daemon_set_with_surge,
    daemon_set_on_delete,
)
