"""A control plane inside a test: the real API server pipeline over the memory store, and controllers over the local client.

async def scenario(cluster: Cluster) -> None:
    await cluster.create(DEPLOYMENTS, deployment(...))
    await cluster.until(lambda: len(cluster.list(PODS)) == 3)

simulate(scenario, controllers)
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.virtual_loop import START, VirtualClock, run

from tiphys.api.kind import Kind
from tiphys.apiserver import bootstrapping
from tiphys.apiserver.authn import signing_keys
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.local_client import LocalClient
from tiphys.base import tls
from tiphys.base.log import Log, Logger
from tiphys.base.metrics import Registry
from tiphys.base.tasks import cancel, start
from tiphys.base.tls import Pair, Subject
from tiphys.client.interface import Client
from tiphys.cmd.api_server import ApiServerSettings, Opened, open_api_server
from tiphys.cmd.authentication import ServiceAccounts, Trusted
from tiphys.cmd.stores import StoreSettings
from tiphys.controllers.controller import Controller
from tiphys.controllers.manager import Manager
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

ADMIN = User("admin", ("system:masters", "system:authenticated"))
MANAGER = User("system:kube-controller-manager", ("system:masters", "system:authenticated"))
NOBODY = User("alice", ("devs", "system:authenticated"))
ADMIN_TOKEN, NOBODY_TOKEN = "admin-token", "alice-token"
"""Bearer tokens, for requests that go through the whole pipeline."""
SERVICE_CIDR = "10.96.0.0/16"
PATIENCE = 600.0
"""Simulated seconds after which what a test waits for will not happen any more."""


@cache
def _identity() -> tuple[Pair, bytes, bytes]:
    authority = tls.make_authority("test", now=START)
    serving = tls.issue(authority, Subject("kube-apiserver"), ["server"], now=START, names=["localhost"])
    return serving, authority.certificate, tls.make_signing_key("ES256")


def _settings() -> ApiServerSettings:
    serving, authority, key_bytes = _identity()
    key = signing_keys.load_signing_key(key_bytes)
    accounts = ServiceAccounts(key, (signing_keys.public_key(key.public_key()),), ("https://test",), ("https://test",))
    return ApiServerSettings(
        store=StoreSettings("memory", Path("unused")),
        host="127.0.0.1",
        port=0,
        serving=serving,
        trusted=Trusted(accounts, client_authority=authority, tokens={ADMIN_TOKEN: ADMIN, NOBODY_TOKEN: NOBODY}),
        service_cidrs=(SERVICE_CIDR,),
        node_metrics=True,
    )


class Cluster:
    def __init__(self, opened: Opened, clock: VirtualClock, manager: Manager | None, log: Logger) -> None:
        self.server = opened.server
        self.clock = clock
        self.manager = manager
        self.log = log
        self.admin: Client = LocalClient(opened.server.pipeline, ADMIN, "test")

    def client(self, user: User, agent: str) -> Client:
        return LocalClient(self.server.pipeline, user, agent)

    async def create(self, kind: Kind, obj: Obj) -> Obj:
        return await self.admin.create(kind, obj, meta.namespace(obj))

    async def get(self, kind: Kind, key: str) -> Obj:
        namespace, _, name = key.rpartition("/")
        return await self.admin.get(kind, name, namespace)

    async def list(self, kind: Kind, namespace: str = "default") -> list[Obj]:
        return (await self.admin.list(kind, namespace if kind.namespaced else "")).items

    async def patch(self, kind: Kind, key: str, change: Mapping[str, Any], subresource: str = "") -> Obj:
        """A merge patch."""
        namespace, _, name = key.rpartition("/")
        return await self.admin.patch(kind, name, dict(change), namespace, subresource=subresource)

    async def delete(self, kind: Kind, key: str, policy: str = "", **options: Any) -> Obj:
        namespace, _, name = key.rpartition("/")
        given: Obj = {"kind": "DeleteOptions", "apiVersion": "v1", **options}
        if policy:
            given["propagationPolicy"] = policy
        return await self.admin.delete(kind, name, namespace, options=given)

    async def settle(self, seconds: float = 1.0) -> None:
        """Let everything that is due in this time happen."""
        await self.clock.sleep(seconds)

    async def until(self, holds: Callable[[], Awaitable[bool]], step: float = 0.1) -> None:
        deadline = self.clock.monotonic() + PATIENCE
        while not await holds():
            if self.clock.monotonic() > deadline:
                raise AssertionError(f"it did not come about in {PATIENCE:.0f} simulated seconds\n{self.told()}")
            await self.clock.sleep(step)

    def told(self) -> str:
        """What the controllers did, for the message of a test that fails."""
        runners = self.manager.runners if self.manager is not None else []
        return "\n".join(f"{runner.controller.name}: {turn}" for runner in runners for turn in runner.history)


@asynccontextmanager
async def open_cluster(controllers: Sequence[Controller[Any]] = ()) -> AsyncIterator[Cluster]:
    clock = VirtualClock()
    lines: list[str] = []
    log = Logger(Log(lines.append, clock=clock), "test", {})
    async with open_api_server(_settings(), clock) as opened, asyncio.TaskGroup() as group:
        await bootstrapping.ensure(opened.server.backend, bootstrapping.Given((SERVICE_CIDR,), _settings().trusted.told()))
        serving = await start(group, opened.server.definitions.run, name="definitions")
        manager = None
        task = None
        if controllers:
            client = LocalClient(opened.server.pipeline, MANAGER, "kube-controller-manager")
            manager = Manager(client, controllers, clock, random.Random(1).random, Registry(), log)
            task = await start(group, manager.run, name="controllers")
        yield Cluster(opened, clock, manager, log)
        if task is not None:
            await cancel(task)
        await cancel(serving)
    bugs = [line for line in lines if line.startswith("E")]
    assert not bugs, "\n".join(bugs)


def simulate(
    scenario: Callable[[Cluster], Awaitable[None]], controllers: Callable[[], Sequence[Controller[Any]]] = tuple
) -> None:
    async def whole() -> None:
        async with open_cluster(controllers()) as cluster:
            await scenario(cluster)

    run(whole())
