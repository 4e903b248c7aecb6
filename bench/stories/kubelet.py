"""Scheduler and kubelet of the stories: pods get the emptiest node and run; annotations of theirs say if they fare otherwise.
Where a scheduler is at work already, it is the kubelet alone, and no node gets lost.

then: succeed | fail | wait (stays Pending) | unready       fail-indexes: "1,3" (of an indexed Job; the others succeed)
"""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.daemonsets import DAEMONSETS
from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.autoscaling.horizontalpodautoscalers import HORIZONTALPODAUTOSCALERS
from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.api.coordination.leases import LEASES
from tiphys.api.core.nodes import NODES
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.api.policy.poddisruptionbudgets import PODDISRUPTIONBUDGETS
from tiphys.client.rest import RestClient
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, get

NODES_OF_STORIES = {"story-a": {"disk": "ssd"}, "story-b": {"disk": "ssd"}, "story-c": {}, "story-lost": {"lost": "yes"}}
LOST = "story-lost"
WATCHED = (
    REPLICATION_CONTROLLERS,
    REPLICASETS,
    DEPLOYMENTS,
    STATEFULSETS,
    DAEMONSETS,
    JOBS,
    CRONJOBS,
    CONTROLLERREVISIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODDISRUPTIONBUDGETS,
    HORIZONTALPODAUTOSCALERS,
    ENDPOINT_SLICES,
)
_ENDS = {"succeed": "Succeeded", "fail": "Failed"}
_BEAT = 5.0
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "500"}


def stamp(after: float = 0.0) -> str:
    return (datetime.now(UTC) + timedelta(seconds=after)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Kubelet:
    def __init__(self, client: RestClient, *, binds: bool = True) -> None:
        self._client = client
        self._binds = binds
        self._lost = LOST if binds else ""
        self._addresses = 0
        self._is_lost = self._is_left = False

    async def prepare(self, nodes: dict[str, Obj]) -> None:
        for name, labels in nodes.items():
            for kind, space in ((NODES, ""), (LEASES, "kube-node-lease")):
                try:
                    await self._client.delete(kind, name, space)
                except ApiError as error:
                    if error.reason != "NotFound":
                        raise
            metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
            await self._client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
            pressures = [
                {"type": each, "status": "False", "reason": "Fine", "message": "fine"}
                for each in ("MemoryPressure", "DiskPressure", "PIDPressure")
            ]
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
            times = {"lastHeartbeatTime": stamp(), "lastTransitionTime": stamp()}
            conditions = [{**each, **times} for each in (*pressures, ready)]
            status = {"conditions": conditions, "capacity": ROOM, "allocatable": ROOM}
            await self._client.patch(NODES, name, {"status": status}, subresource="status")
            await self._lease(name)

    async def _lease(self, name: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": name, "renewTime": now, "leaseDurationSeconds": 40}
        lease = {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": {"name": name}, "spec": spec}
        try:
            await self._client.patch(LEASES, name, {"spec": spec}, "kube-node-lease")
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            await self._client.create(LEASES, lease, "kube-node-lease")

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        beat = 0.0
        while True:
            if loop.time() >= beat:
                beat = loop.time() + _BEAT
                for name in NODES_OF_STORIES:
                    if name != self._lost or not self._is_left:
                        await self._lease(name)
            pods = (await self._client.list(PODS)).items
            lost = await self._client.get(NODES, LOST)
            self._is_lost = any(each.get("effect") == "NoExecute" for each in lost["spec"].get("taints") or ())
            # Nobody keeps the lost node once something runs there.
            self._is_left = self._is_left or any(
                pod["spec"].get("nodeName") == self._lost and pod["status"]["phase"] == "Running" for pod in pods
            )
            load = Counter(pod["spec"].get("nodeName", "") for pod in pods)
            for pod in sorted(pods, key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"])):
                try:
                    await self._tend(pod, load)
                except ApiError as error:
                    if error.reason not in ("NotFound", "Conflict", "Invalid"):
                        raise
            await asyncio.sleep(0.3)

    async def versions(self) -> list[str]:
        found = []
        for kind in (PODS, *WATCHED):
            listed = await self._client.list(kind)
            found += [f"{kind.plural}/{each['metadata']['uid']}@{each['metadata']['resourceVersion']}" for each in listed.items]
        return found

    async def _tend(self, pod: Obj, load: Counter[str]) -> None:
        name, space, phase = pod["metadata"]["name"], pod["metadata"]["namespace"], pod["status"]["phase"]
        node = pod["spec"].get("nodeName")
        if pod["metadata"].get("deletionTimestamp"):
            if node and node != self._lost:
                await self._end(pod)
        elif not node and not self._binds:
            return
        elif not node:
            wanted = _wanted_node(pod) or self._emptiest(load)
            if wanted != LOST or not self._is_lost:
                await self._bind(name, space, wanted)
        elif phase == "Pending" and node != "nowhere":
            await self._start(pod)
        elif phase == "Running":
            end = _ENDS.get(_fate(pod))
            if end:
                await self._status(pod, end)

    def _emptiest(self, load: Counter[str]) -> str:
        node = min(("story-a", "story-b", "story-c"), key=lambda each: (load[each], each))
        load[node] += 1
        return node

    async def _bind(self, name: str, space: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": space}, "target": target}
        await self._client.create(PODS, binding, space, name=name, subresource="binding")

    async def _start(self, pod: Obj) -> None:
        if _fate(pod) != "wait":
            await self._status(pod, "Running")

    async def _end(self, pod: Obj) -> None:
        if pod["spec"].get("restartPolicy") != "Always" and pod["status"]["phase"] in ("Pending", "Running"):
            await self._status(pod, "Failed")
        name, space = pod["metadata"]["name"], pod["metadata"]["namespace"]
        await self._client.delete(PODS, name, space, options={"gracePeriodSeconds": 0})

    async def _status(self, pod: Obj, phase: str) -> None:
        self._addresses += 1
        address = f"10.244.{self._addresses // 250}.{self._addresses % 250 + 1}"
        ready = phase == "Running" and _fate(pod) != "unready"
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": stamp()}
        code = int(pod["metadata"].get("annotations", {}).get("exit-code", "1")) if phase == "Failed" else 0
        ended = {"terminated": {"exitCode": code, "startedAt": stamp(), "finishedAt": stamp(), "reason": "Ended"}}
        state = {"running": {"startedAt": stamp()}} if phase == "Running" else ended
        containers = [
            {"name": each["name"], "image": each["image"], "imageID": "x", "ready": ready, "restartCount": 0, "state": state}
            for each in pod["spec"]["containers"]
        ]
        status: Obj = {"phase": phase, "conditions": [condition], "containerStatuses": containers, "startTime": stamp()}
        if phase == "Running":
            host = "192.168.0.1"
            status |= {"podIP": address, "podIPs": [{"ip": address}], "hostIP": host, "hostIPs": [{"ip": host}]}
        name, space = pod["metadata"]["name"], pod["metadata"]["namespace"]
        await self._client.patch(PODS, name, {"status": status}, space, subresource="status")


def _fate(pod: Obj) -> str:
    annotations = pod["metadata"].get("annotations") or {}
    failing = annotations.get("fail-indexes")
    if failing is not None:
        index = annotations.get("batch.kubernetes.io/job-completion-index", "")
        return "fail" if index in failing.split(",") else "succeed"
    return str(annotations.get("then", ""))


def _wanted_node(pod: Obj) -> str:
    required = get(pod, ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"), {})
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    selector = pod["spec"].get("nodeSelector") or {}
    return LOST if selector.get("lost") else ""
