"""Registers the node, keeps its status true and its Lease fresh."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tiphys.api.coordination.leases import LEASES
from tiphys.api.core.nodes import NODES
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.client.interface import Client
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.configuration import seconds
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.node import news
from tiphys.kubelet.node.facts import Facts
from tiphys.kubelet.node.news import News
from tiphys.kubelet.node.status import (
    Measured,
    node_object,
    node_status,
    runtime_version,
    worth_writing,
)
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.times import rfc3339_micro
from tiphys.machinery.tree import Obj

_NAMESPACE = "kube-node-lease"
_RENEW_FRACTION = 0.25
_RETRY_SECONDS = 0.2
_LONGEST_RETRY = 7.0
UNWELL_SECONDS = 0.2
Troubles = (ApiError, ConnectionError, TimeoutError)


@dataclass(frozen=True, slots=True)
class Standing:
    """What others on the node know of it."""

    pressures: Callable[[], Sequence[str]]
    """Conditions of the node that are bad now."""
    ending: Callable[[], bool]
    """It goes down with its machine."""
    seen: Callable[[], Obj | None]
    """The Node as a watch has told it last."""
    tell: Callable[[News], None] = lambda _: None
    """An event of the node."""


class NodeAgent:
    def __init__(
        self,
        config: KubeletConfig,
        client: Client,
        runtime: Runtime,
        facts: Facts,
        clock: Clock,
        log: Logger,
        standing: Standing,
    ) -> None:
        self._standing = standing
        self._config = config
        self._client = client
        self._runtime = runtime
        self._facts = facts
        self._clock = clock
        self._log = log
        self._node: Obj = {}
        self._written = float("-inf")
        self._cordoned = False
        self._well = False
        """The node has once been as it should."""
        self._lease: Obj = {}
        self._lease_seconds: int = config.settings["nodeLeaseDurationSeconds"]
        self._report_seconds = seconds(config.settings, "nodeStatusReportFrequency")
        self.port = config.port

    async def run(self, ready: Callable[[], None]) -> None:
        """Ready once the node is registered and has said how it is."""
        await self._until_done(self._register if self._config.settings["registerNode"] else self._find)
        await self._until_done(self._report)
        ready()
        self._standing.tell(News("Normal", "Starting", "Starting kubelet."))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._every(self._lease_seconds * _RENEW_FRACTION, self._renew))
            group.create_task(self._keep_reporting())

    async def _until_done(self, work: Callable[[], "asyncio.Future[None] | object"]) -> None:
        wait = _RETRY_SECONDS
        while not await self._attempt(work):
            await self._clock.sleep(wait)
            wait = min(2 * wait, _LONGEST_RETRY)

    async def _attempt(self, work: Callable[[], object]) -> bool:
        try:
            await work()  # type: ignore[misc]
        except Troubles as problem:
            self._log.warning("the API server did not take what the node says", error=str(problem))
            return False
        return True

    async def _every(self, seconds: float, work: Callable[[], object]) -> None:
        while True:
            await self._attempt(work)
            await self._clock.sleep(seconds)

    async def _keep_reporting(self) -> None:
        """Often until it can be told for the first time that the node works: pods wait for that."""
        while not self._well:
            await self._clock.sleep(UNWELL_SECONDS)
            await self._attempt(self._report)
        looks = seconds(self._config.settings, "nodeStatusUpdateFrequency")
        await self._clock.sleep(looks)
        await self._every(looks, self._report)

    async def _find(self) -> None:
        self._node = await self._client.get(NODES, self._config.node)

    async def _register(self) -> None:
        wanted = node_object(self._config, self._facts)
        try:
            self._node = await self._client.create(NODES, wanted)
        except ApiError as refused:
            if refused.reason != "AlreadyExists":
                raise
            self._node = await self._client.get(NODES, self._config.node)
            labels = self._node["metadata"].get("labels") or {}
            missing = {key: value for key, value in wanted["metadata"]["labels"].items() if labels.get(key) != value}
            if missing:
                self._node = await self._client.patch(NODES, self._config.node, {"metadata": {"labels": missing}})

    async def report(self) -> None:
        """How it is, without waiting until it is time to look."""
        await self._attempt(self._report)

    async def _report(self) -> None:
        now = self._clock.now()
        measured = await self._measure()
        self._well = self._well or not measured.problems
        before = self._node = _newer(self._node, self._standing.seen())
        self._look_for_a_cordon()
        status = node_status(self._config, measured, before, now)
        if now - self._written < self._report_seconds and not worth_writing(self._node, status):
            return
        change = {"status": {**status, "addresses": [*status["addresses"], {"$patch": "replace"}]}}
        self._node = await self._client.patch(NODES, self._config.node, change, patch_type="strategic", subresource="status")
        self._written = now
        for each in news.of_status(self._config.node, before, status):
            self._standing.tell(each)

    def _look_for_a_cordon(self) -> None:
        cordoned = bool(self._node["spec"].get("unschedulable"))
        if cordoned != self._cordoned:
            self._standing.tell(news.of_cordon(self._config.node, cordoned=cordoned))
        self._cordoned = cordoned

    async def _measure(self) -> Measured:
        name, images = "", []
        try:
            problems = await self._runtime.problems()
            name = runtime_version(*await self._runtime.version())
            images = await self._runtime.images()
        except RuntimeFailed as failed:
            problems = [f"container runtime is down: {failed}"]
        if self._standing.ending():
            problems = [*problems, "node is shutting down"]
        return Measured(self._facts, self._standing.pressures(), problems, name, images, self.port)

    async def _renew(self) -> None:
        spec = {
            "holderIdentity": self._config.node,
            "leaseDurationSeconds": self._lease_seconds,
            "renewTime": rfc3339_micro(self._clock.now()),
        }
        if self._lease:
            try:
                self._lease = await self._client.update(LEASES, {**self._lease, "spec": {**self._lease["spec"], **spec}})
            except ApiError as refused:
                if refused.code not in (404, 409):
                    raise
                self._lease = {}
            else:
                return
        await self._take_lease(spec)

    async def _take_lease(self, spec: Obj) -> None:
        node = self._node["metadata"]
        owner = {"apiVersion": "v1", "kind": "Node", "name": node["name"], "uid": node["uid"]}
        wanted = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._config.node, "namespace": _NAMESPACE, "ownerReferences": [owner]},
            "spec": spec,
        }
        try:
            self._lease = await self._client.create(LEASES, wanted, _NAMESPACE)
        except ApiError as refused:
            if refused.reason != "AlreadyExists":
                raise
            held = await self._client.get(LEASES, self._config.node, _NAMESPACE)
            self._lease = await self._client.update(LEASES, {**held, "spec": {**held["spec"], **spec}})


def _newer(written: Obj, seen: Obj | None) -> Obj:
    """Others write conditions of the node, too: that nobody has heard of it for a while, for one."""
    if seen is None or int(meta.resource_version(seen)) <= int(meta.resource_version(written)):
        return written
    return seen
