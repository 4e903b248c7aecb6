"""What stands beside the workloads: Services, budgets, quotas, claims, owners, namespaces, a node that is lost."""

from collections.abc import AsyncIterator

from bench.stories.play import Play, Story
from bench.stories.shapes import LABELS, claim, named, template, workload
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.autoscaling.horizontalpodautoscalers import HORIZONTALPODAUTOSCALERS
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS
from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.core.services import SERVICES
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.api.resource.resourceclaimtemplates import RESOURCECLAIMTEMPLATES
from tiphys.machinery.tree import Obj

Told = AsyncIterator[float | None]


async def service(play: Play) -> Told:
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    await play.create(SERVICES, "web", labels=LABELS, spec={"selector": LABELS, "ports": ports})
    await play.create(SERVICES, "none", spec={"clusterIP": "None", "selector": LABELS, "publishNotReadyAddresses": True})
    await play.create(DEPLOYMENTS, "web", spec=workload(3))
    yield None
    pod = (await play.pods())[0]
    ready = [{"type": "Ready", "status": "False"}]
    await play.patch(PODS, pod["metadata"]["name"], {"status": {"conditions": ready}}, "status")
    yield None
    await play.scale(DEPLOYMENTS, "web", 2)
    yield None
    await play.patch(SERVICES, "web", {"spec": {"ports": [{**ports[0], "targetPort": 9090}]}})
    yield None
    await play.delete(SERVICES, "none")


async def disruption_budget(play: Play) -> Told:
    await play.create(DEPLOYMENTS, "web", spec=workload(3))
    await play.create(PODDISRUPTIONBUDGETS, "least", spec={"minAvailable": "60%", "selector": {"matchLabels": LABELS}})
    await play.create(PODDISRUPTIONBUDGETS, "nobody", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "none"}}})
    yield None
    for pod in (await play.pods())[:2]:
        await play.evict(pod["metadata"]["name"])
    yield None
    await play.create(PODS, "bare", labels={"app": "bare"}, spec=template()["spec"])
    await play.create(PODDISRUPTIONBUDGETS, "bare", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "bare"}}})
    await play.create(PODS, "alone", labels={"app": "alone"}, spec=template()["spec"])
    await play.create(PODDISRUPTIONBUDGETS, "one", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "alone"}}})
    yield None
    await play.scale(DEPLOYMENTS, "web", 5)


async def quota(play: Play) -> Told:
    hard = {"pods": "2", "count/configmaps": "5", "count/deployments.apps": "1"}
    await play.create(RESOURCE_QUOTAS, "q", spec={"hard": hard})
    yield None
    await play.create(DEPLOYMENTS, "web", spec=workload(3))
    yield None
    await play.patch(RESOURCE_QUOTAS, "q", {"spec": {"hard": {**hard, "pods": "4"}}})
    yield 12
    await play.scale(DEPLOYMENTS, "web", 1)


async def claims(play: Play) -> Told:
    spec = claim()["spec"]
    volumes = [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"e": "1"}}, "spec": spec}}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    await play.create(PERSISTENT_VOLUME_CLAIMS, "data", spec=spec)
    await play.create(PERSISTENT_VOLUME_CLAIMS, "unused", spec=spec)
    await play.create(PODS, "user", spec={**template()["spec"], "volumes": volumes})
    yield None
    await play.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    await play.delete(PERSISTENT_VOLUME_CLAIMS, "unused")
    yield None
    devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpus"}}]}
    await play.create(RESOURCECLAIMTEMPLATES, "t", spec={"metadata": {"labels": {"r": "1"}}, "spec": {"devices": devices}})
    wanted = [{"name": "mine", "resourceClaimTemplateName": "t"}]
    await play.create(PODS, "devices", spec={**template(then="wait")["spec"], "resourceClaims": wanted})
    yield None
    brief = {**template()["spec"], "resourceClaims": wanted}
    await play.create(PODS, "brief", metadata={"annotations": {"then": "succeed"}}, spec=brief)


async def owners(play: Play) -> Told:
    async def made(name: str, *above: Obj, blocks: bool = True, **metadata: object) -> Obj:
        references = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": each["metadata"]["name"],
                "uid": each["metadata"]["uid"],
                "blockOwnerDeletion": blocks,
            }
            for each in above
        ]
        return await play.create(CONFIG_MAPS, name, metadata={"ownerReferences": references, **metadata}, data={"a": "b"})

    ghost: Obj = {"metadata": {"name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}}
    one, two, three = await made("one"), await made("two"), await made("three")
    below = await made("below-one", one)
    await made("below-below-one", below)
    await made("below-both", one, two)
    await made("below-two", two)
    await made("below-three", three, blocks=False)
    await made("held", three, finalizers=["example.com/hold"])
    await made("below-ghost", ghost)
    await made("below-ghost-and-two", ghost, two)
    yield None
    await play.delete(CONFIG_MAPS, "one", "Foreground")
    await play.delete(CONFIG_MAPS, "two", "Orphan")
    await play.delete(CONFIG_MAPS, "three", "Foreground")
    yield 3
    cycle = await made("circle-a")
    second = await made("circle-b", cycle)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "circle-b", "uid": second["metadata"]["uid"]}
    await play.patch(CONFIG_MAPS, "circle-a", {"metadata": {"ownerReferences": [{**reference, "blockOwnerDeletion": True}]}})
    yield None
    await play.delete(CONFIG_MAPS, "circle-a", "Foreground")


async def namespace(play: Play) -> Told:
    """It is deleted with all that is in it; what a finalizer holds stays, and is told."""
    await play.create(DEPLOYMENTS, "web", spec=workload(2))
    await play.create(CONFIG_MAPS, "held", metadata={"finalizers": ["example.com/hold"]}, data={})
    await play.create(SERVICE_ACCOUNTS, "robot")
    await play.delete(SERVICE_ACCOUNTS, "default")
    yield None
    await play.delete(CONFIG_MAPS, "kube-root-ca.crt")
    yield None
    await play.client.delete(NAMESPACES, play.namespace)
    yield 8


async def lost_node(play: Play) -> Told:
    patience = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}
        for key in ("not-ready", "unreachable")
    ]
    pod = template(nodeSelector={"lost": "yes"}, tolerations=patience)
    await play.create(REPLICASETS, "moved", spec=workload(1, pod))
    await play.create(PODS, "stays", spec=template(nodeSelector={"lost": "yes"})["spec"])
    yield None
    yield 66


async def autoscaler(play: Play) -> Told:
    """Nobody measures anything here: bounds hold all the same."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 4}
    await play.create(DEPLOYMENTS, "web", spec=workload(1))
    await play.create(HORIZONTALPODAUTOSCALERS, "web", spec=spec)
    absent = {**spec, "scaleTargetRef": {**target, "name": "absent"}}
    await play.create(HORIZONTALPODAUTOSCALERS, "astray", spec=absent)
    yield 32
    await play.scale(DEPLOYMENTS, "web", 6)
    yield 32
    await play.create(DEPLOYMENTS, "off", spec=named("off", 0))
    asleep = {**spec, "scaleTargetRef": {**target, "name": "off"}}
    await play.create(HORIZONTALPODAUTOSCALERS, "off", spec=asleep)
    yield 17


async def accounts(play: Play) -> Told:
    await play.create(SERVICE_ACCOUNTS, "robot")
    yield None
    await play.create(PODS, "worker", spec={**template()["spec"], "serviceAccountName": "robot"})
    await play.delete(SERVICE_ACCOUNTS, "default")
    await play.patch(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "something else"}})
    yield None
    await play.delete(SERVICE_ACCOUNTS, "robot")


STORIES: tuple[Story, ...] = (service, disruption_budget, quota, claims, owners, namespace, lost_node, autoscaler, accounts)
