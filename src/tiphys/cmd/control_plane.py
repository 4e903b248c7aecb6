"""The control plane of `tiphys up` in one process: store, API server, and (over the local transport) what works with it."""

import asyncio
import importlib
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tiphys.apiserver.admission.registry import AdmissionSettings
from tiphys.apiserver.authn import signing_keys, token_file
from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.local_client import LocalClient
from tiphys.apiserver.subresources.remote import KubeletSettings
from tiphys.base.clock import Clock
from tiphys.cmd import certificates, joining, network_rights
from tiphys.cmd.api_server import ApiServerSettings, Opened, open_api_server
from tiphys.cmd.authentication import FrontProxy, ServiceAccounts, Trusted, TrustedFiles
from tiphys.cmd.certificates import Certificates
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.machine_network import MachineNetwork
from tiphys.cmd.options import UpOptions
from tiphys.cmd.stores import StoreSettings
from tiphys.machinery.errors import ApiError

ISSUER = "https://kubernetes.default.svc.cluster.local"
FRONT_PROXY_NAME = "front-proxy-client"
ADMIN = User("system:tiphys:up", (MASTERS, "system:authenticated"))
SIMULATED_NODES = User("system:tiphys:sim", (MASTERS, "system:authenticated"))
AGAIN = 1.0
SCHEDULER = User("system:kube-scheduler", ("system:authenticated",))


@dataclass(frozen=True, slots=True)
class Settings:
    options: UpOptions
    certificates: Certificates
    machine: MachineNetwork | None = None
    """What the cluster has of its machine's network, if it has nodes."""

    @property
    def inside(self) -> str:
        """Where nodes and pods reach an API server that nobody else does; empty: where everybody does."""
        if self.machine is None or not ipaddress.ip_address(self.options.bind_address).is_loopback:
            return ""
        return self.machine.address


def service_accounts(signing_key: bytes) -> ServiceAccounts:
    key = signing_keys.load_signing_key(signing_key)
    return ServiceAccounts(key, (signing_keys.public_key(key.public_key()),), (ISSUER,), (ISSUER,))


def trusted(settings: Settings) -> Trusted:
    made, file = settings.certificates, settings.options.token_auth_file
    try:
        tokens = token_file.parse(file.read_text(), str(file)) if file else {}
    except (OSError, ValueError) as problem:
        raise Unusable(str(problem)) from None
    return Trusted(
        service_accounts(made.signing_key),
        client_authority=made.authority.certificate,
        front_proxy=FrontProxy(made.front_proxy_authority, (FRONT_PROXY_NAME,)),
        tokens=tokens,
        files=TrustedFiles(tokens=file),
    )


def api_server_settings(settings: Settings) -> ApiServerSettings:
    options = settings.options
    return ApiServerSettings(
        store=StoreSettings(options.store, options.data.store),
        host=options.bind_address,
        port=options.port,
        also_hosts=tuple(filter(None, (settings.inside,))),
        advertise=settings.inside,
        serving=settings.certificates.serving,
        serving_files=certificates.files(options.data.pki, "apiserver"),
        trusted=trusted(settings),
        service_cidrs=tuple(options.service_cidr.split(",")),
        # Certificates of kubelets are taken as they are, as upstream does by default: those that join sign their own.
        kubelets=KubeletSettings(settings.certificates.kubelet_client, address_types=("InternalIP", "Hostname")),
        admission=AdmissionSettings(enabled=("NodeRestriction",)),
        node_metrics=True,
        verbosity=options.verbosity,
    )


class ControlPlane:
    def __init__(self, opened: Opened, settings: Settings) -> None:
        self.server = opened.server
        self.store = opened.store
        self._opened = opened
        self._settings = settings

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, clock: Clock) -> "AsyncIterator[ControlPlane]":
        async with open_api_server(api_server_settings(settings), clock) as opened:
            yield cls(opened, settings)

    async def run(self, ready: Callable[[], None]) -> None:
        """A service: the API server, until it is cancelled or the store fails."""
        await self._opened.run(ready)

    def client(self, agent: str) -> LocalClient:
        """With all rights."""
        return LocalClient(self.server.pipeline, ADMIN, agent)

    async def prepare_for_nodes(self) -> None:
        """What the nodes of this cluster find when they start."""
        await network_rights.ensure(self.client("tiphys"))

    async def let_nodes_join(self, server: str, dns_ip: str, clock: Clock) -> None:
        """What those find that come with a token; a store that is away meanwhile is waited for."""
        client, authority = self.client("tiphys"), self._settings.certificates.authority
        while True:
            try:
                await joining.ensure(client, server, authority.certificate)
                return await joining.publish(client, joining.kubelet_config(dns_ip))
            except ApiError as problem:
                if problem.code != 503:
                    raise
                await clock.sleep(AGAIN)

    async def schedule(self, clock: Clock) -> None:
        """The scheduler, until it is cancelled. What it needs is loaded only now: serving does not wait for numpy."""
        part = await asyncio.to_thread(importlib.import_module, "tiphys.cmd.scheduler_part")
        client = LocalClient(self.server.pipeline, SCHEDULER, "tiphys-scheduler")
        options = self._settings.options
        settings = part.settings_of(options.scheduler_config)
        host, plugins = socket.gethostname(), options.scheduler_plugins
        scheduler = part.build(client, clock, settings, plugins, verbosity=options.verbosity, host=host)
        explainers = self.server.explainers
        explainers["scheduling"] = part.explainer(scheduler)
        try:
            await scheduler.run(lambda: None)
        finally:
            del explainers["scheduling"]

    async def simulate(self, count: int, clock: Clock) -> None:
        """So many nodes without containers, until it is cancelled."""
        part = await asyncio.to_thread(importlib.import_module, "tiphys.cmd.sim_part")
        client = LocalClient(self.server.pipeline, SIMULATED_NODES, "tiphys-sim")
        fleet = part.build(client, count, clock, verbosity=self._settings.options.verbosity)
        await fleet.run(lambda: None)

    async def control(self, clock: Clock) -> None:
        """The controllers, until they are cancelled; loaded as late as the scheduler, for the same reason."""
        part = await asyncio.to_thread(importlib.import_module, "tiphys.cmd.controllers_part")
        server, settings = self.server, self._settings
        manager = part.local_manager(server.pipeline, settings.certificates, settings.options, clock, server.metrics)
        explainers = server.explainers
        explainers["controllers"] = part.explainer(manager)
        try:
            await manager.run(lambda: None)
        finally:
            del explainers["controllers"]

    def describe(self, server: str) -> dict[str, Any]:
        """For `tiphys status` and `tiphys down`."""
        pid, options = os.getpid(), self._settings.options
        components = [{"name": "apiserver", "pid": pid, "address": server}]
        # They run in the same process, and are reached through the API only.
        inside = {"controllers": "controller-manager", "scheduler": "scheduler"}
        components += [{"name": name, "pid": pid} for word, name in inside.items() if word not in options.disabled]
        return {"pid": pid, "server": server, "store": options.store, "components": components}
