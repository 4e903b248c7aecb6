"""NetworkPolicies as a service of a node: follows the objects, and brings the kernel's table after them."""

import asyncio
import random
from collections.abc import Callable

from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.pods import PODS
from tiphys.api.networking.networkpolicies import NETWORK_POLICIES
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import start
from tiphys.client.informer import Informer
from tiphys.client.interface import Client
from tiphys.cni import kernel, table
from tiphys.cni.kernel import Refused
from tiphys.cni.policy import objects, render
from tiphys.cni.policy.objects import Pod, Policy
from tiphys.cni.policy.rules import isolation
from tiphys.cni.table import Content
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

BATCH_SECONDS = 0.05
RETRY_SECONDS = 1.0
LONGEST_RETRY = 30.0


class Policies:
    """`run(ready)`: ready once the policies that were there are in force. They stay so when it ends: its pods go on running.

    Pods and namespaces are followed only once there is a policy: most clusters have none."""

    def __init__(self, client: Client, node: str, bridge: str, at: str, clock: Clock, log: Logger) -> None:
        """`at`: family and name of the kernel's table."""
        self._node, self._bridge, self._at = node, bridge, at
        self._clock = clock
        self._log = log
        self._policies: dict[str, Policy] = {}
        self._pods: dict[str, Pod] = {}
        self._namespaces: dict[str, dict[str, str]] = {}
        self._work = asyncio.Event()
        self._written: Content | None = None
        """What the table has; None: in doubt."""
        self._policy_informer = Informer(client, NETWORK_POLICIES, clock, random.random, log)
        self._pod_informer = Informer(client, PODS, clock, random.random, log, keep=objects.slim)
        self._namespace_informer = Informer(client, NAMESPACES, clock, random.random, log, keep=_labels_only)

    async def run(self, ready: Callable[[], None]) -> None:
        self._policy_informer.add_handler(self._policy)
        self._pod_informer.add_handler(self._pod)
        self._namespace_informer.add_handler(self._namespace)
        async with asyncio.TaskGroup() as group:
            await start(group, self._policy_informer.run, name="policies")
            if not self._policies:
                # Of an earlier process, perhaps.
                await self._try_to_forget()
                ready()
                await self._work.wait()
            await start(group, self._namespace_informer.run, name="namespaces")
            await start(group, self._pod_informer.run, name="pods")
            await self._keep_up(ready)

    async def _try_to_forget(self) -> None:
        try:
            await kernel.nft(table.delete(self._at))
        except Refused as problem:
            self._log.warning("policies of an earlier time may still be in force", error=str(problem))

    async def _keep_up(self, ready: Callable[[], None]) -> None:
        retry = RETRY_SECONDS
        while True:
            self._work.clear()
            try:
                await self._write()
            except Refused as problem:
                self._log.error("the kernel does not take the rules of NetworkPolicies", error=str(problem))
                self._written = None
                await self._clock.sleep(retry)
                retry = min(2 * retry, LONGEST_RETRY)
                continue
            retry = RETRY_SECONDS
            ready()
            await self._clock.sleep(BATCH_SECONDS)
            await self._work.wait()

    async def _write(self) -> None:
        """Raises Refused."""
        wanted = isolation(self._node, self._policies.values(), self._pods.values(), self._namespaces)
        content = render.content(wanted, self._bridge)
        before, self._written = self._written, None
        if before is None:
            await kernel.nft(table.create(self._at, content))
        else:
            change = table.change(self._at, before, content)
            if change.text:
                await kernel.nft(change.text)
            if change.after:
                await kernel.nft(change.after)
        self._written = content

    def _policy(self, old: Obj | None, new: Obj | None) -> None:
        key = meta.key(new or old or {})
        self._policies.pop(key, None)
        if new is not None:
            try:
                self._policies[key] = objects.policy(new)
            except ValueError as problem:
                self._log.error("a NetworkPolicy makes no sense", policy=key, error=str(problem))
        self._work.set()

    def _pod(self, old: Obj | None, new: Obj | None) -> None:
        key = meta.key(new or old or {})
        now = objects.pod(new) if new is not None else None
        if now == self._pods.get(key):
            return
        if now is None:
            self._pods.pop(key, None)
        else:
            self._pods[key] = now
        self._work.set()

    def _namespace(self, old: Obj | None, new: Obj | None) -> None:
        name = meta.name(new or old or {})
        self._namespaces.pop(name, None)
        if new is not None:
            self._namespaces[name] = meta.labels(new)
        self._work.set()


def _labels_only(namespace: Obj) -> Obj:
    metadata = namespace["metadata"]
    return {"metadata": {name: metadata[name] for name in ("name", "uid", "resourceVersion", "labels") if name in metadata}}
