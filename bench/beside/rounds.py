"""Work of which the end is known: a Deployment of fifty, owners that go with what they own, a namespace that goes."""

import asyncio
from collections.abc import Awaitable, Callable

from bench.stories.shapes import LABELS, claim, job, template, workload
from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.autoscaling.horizontalpodautoscalers import HORIZONTALPODAUTOSCALERS
from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.pods import PODS
from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.api.kind import Kind
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.client.rest import RestClient
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

PATIENCE = 120.0
FIFTY = 50


async def _namespace(client: RestClient, name: str) -> None:
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    # Pods are refused until their ServiceAccount is there; a user would try again.
    await _until(lambda: _accounts(client, name))


async def _accounts(client: RestClient, space: str) -> bool:
    return any(each["metadata"]["name"] == "kube-root-ca.crt" for each in (await client.list(CONFIG_MAPS, space)).items)


async def _make(client: RestClient, kind: Kind, space: str, name: str, spec: Obj, **metadata: object) -> Obj:
    made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **metadata}, "spec": spec}
    return await client.create(kind, made, space)


async def _until(holds: Callable[[], Awaitable[bool]]) -> bool:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while not await holds():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(0.5)
    return True


async def _gone(client: RestClient, space: str) -> bool:
    try:
        await client.get(NAMESPACES, space)
    except ApiError as error:
        if error.reason == "NotFound":
            return True
        raise
    return False


async def _without(client: RestClient, space: str) -> str:
    await client.delete(NAMESPACES, space)
    return "" if await _until(lambda: _gone(client, space)) else "the namespace does not go"


async def deployment_of_fifty(client: RestClient, space: str) -> str:
    await _namespace(client, space)
    await _make(client, SERVICES, space, "web", {"selector": LABELS, "ports": [{"port": 80}]})
    await _make(client, DEPLOYMENTS, space, "web", workload(FIFTY))

    async def is_rolled_out(image: str, replicas: int) -> bool:
        found = await client.get(DEPLOYMENTS, "web", space)
        status, pods = found.get("status", {}), (await client.list(PODS, space)).items
        slices = (await client.list(ENDPOINT_SLICES, space)).items
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and status.get("availableReplicas") == status.get("updatedReplicas") == len(pods) == replicas
            and all(pod["spec"].get("nodeName") and pod["spec"]["containers"][0]["image"] == image for pod in pods)
            and sum(len(each.get("endpoints") or ()) for each in slices) == replicas
        )

    if not await _until(lambda: is_rolled_out("one", FIFTY)):
        return "fifty pods do not get to work"
    await client.patch(DEPLOYMENTS, "web", {"spec": {"template": template("two")}}, space)
    if not await _until(lambda: is_rolled_out("two", FIFTY)):
        return "the new template is not rolled out"
    await client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 10}}, space)
    if not await _until(lambda: is_rolled_out("two", 10)):
        return "it does not get smaller"
    return await _without(client, space)


async def garbage(client: RestClient, space: str) -> str:
    await _namespace(client, space)
    for policy in ("Background", "Foreground", "Orphan"):
        await _make(client, DEPLOYMENTS, space, policy.lower(), workload(3))

        async def all_run() -> bool:
            return sum(pod["status"]["phase"] == "Running" for pod in (await client.list(PODS, space)).items) >= 3

        if not await _until(all_run):
            return f"{policy}: its pods do not run"
        await client.delete(DEPLOYMENTS, policy.lower(), space, options={"propagationPolicy": policy})
        left = 1 if policy == "Orphan" else 0

        async def is_as_told(left: int = left) -> bool:
            sets, above = (await client.list(REPLICASETS, space)).items, (await client.list(DEPLOYMENTS, space)).items
            pods = (await client.list(PODS, space)).items
            orphans = [each for each in sets if not each["metadata"].get("ownerReferences")]
            return not above and len(sets) == len(orphans) == left and len(pods) == 3 * left

        if not await _until(is_as_told):
            return f"{policy}: what is owned is not as it should be"
    return await _without(client, space)


async def full_namespace(client: RestClient, space: str) -> str:
    """Many kinds at once, at work when the namespace is deleted."""
    await _namespace(client, space)
    claims = {"volumeClaimTemplates": [claim()], "serviceName": "db"}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": job()}}
    made: tuple[tuple[Kind, str, Obj], ...] = (
        (RESOURCE_QUOTAS, "q", {"hard": {"pods": "40"}}),
        (SERVICES, "web", {"selector": LABELS, "ports": [{"port": 80}]}),
        (SERVICES, "db", {"selector": LABELS, "clusterIP": "None"}),
        (DEPLOYMENTS, "web", workload(5)),
        (STATEFULSETS, "db", workload(2, **claims)),
        (DAEMONSETS, "log", {"selector": {"matchLabels": LABELS}, "template": template()}),
        (JOBS, "once", job(completions=3, parallelism=2)),
        (CRONJOBS, "often", cron),
        (PODDISRUPTIONBUDGETS, "some", {"minAvailable": 1, "selector": {"matchLabels": LABELS}}),
        (HORIZONTALPODAUTOSCALERS, "more", {"minReplicas": 5, "maxReplicas": 6, "scaleTargetRef": target}),
    )
    for kind, name, spec in made:
        await _make(client, kind, space, name, spec)

    async def is_at_work() -> bool:
        deployment, done = await client.get(DEPLOYMENTS, "web", space), await client.get(JOBS, "once", space)
        return deployment.get("status", {}).get("availableReplicas") == 5 and done.get("status", {}).get("succeeded") == 3

    if not await _until(is_at_work):
        return "Deployment and Job do not get to their ends"
    return await _without(client, space)


ROUNDS = (deployment_of_fifty, garbage, full_namespace)
