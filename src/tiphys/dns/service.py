"""DNS as a service: follows Services, slices and namespaces, and answers once it knows them all."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.api.kind import Kind
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import start
from tiphys.client.informer import Handler, Informer, Informers
from tiphys.client.interface import Client
from tiphys.dns import publish, routes
from tiphys.dns.forward import Forwarder, system_resolvers
from tiphys.dns.publish import Published
from tiphys.dns.routes import Resolver, Routes
from tiphys.dns.server import DnsServer
from tiphys.dns.zone import Zone
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_RETRIES = (0.2, 0.5, 1.0, 2.0, 5.0)
_LAST_WORDS = 1.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Settings:
    addresses: tuple[str, ...] = ("0.0.0.0",)
    """Where it listens."""
    port: int = 53
    domain: str = "cluster.local"
    resolvers: tuple[Resolver, ...] | None = None
    """Who knows the rest of the world; None: those of the node's resolv.conf."""
    published: Published | None = None
    """By which Service pods find it; None: somebody else sees to that."""


class Dns:
    """`run(ready)`: ready once it answers, and that is once it has seen everything there was."""

    def __init__(self, client: Client, settings: Settings, clock: Clock, log: Logger) -> None:
        self.port = 0
        """Where it listens, once it is ready."""
        self._client = client
        self._settings = settings
        self._clock = clock
        self._log = log
        self._zone = Zone(settings.domain, settings.published.cluster_ip if settings.published is not None else "")
        self._refreshing = False

    async def run(self, ready: Callable[[], None]) -> None:
        settings = self._settings
        informers = Informers(self._client, self._clock, random.random, self._log)
        informers.of(SERVICES).add_handler(self._noting(self._zone.service))
        informers.of(ENDPOINT_SLICES).add_handler(self._noting(self._zone.slice))
        informers.of(NAMESPACES, keep=_of_a_namespace).add_handler(self._zone.namespace)
        resolvers = settings.resolvers
        if resolvers is None:
            own = (settings.published.cluster_ip, settings.published.address) if settings.published is not None else ()
            resolvers = tuple(system_resolvers((*settings.addresses, *own)))
        forwarder = Forwarder(Routes(resolvers), self._clock)
        told = f"metadata.name={routes.CONFIG_MAP}"
        config = Informer(
            self._client, CONFIG_MAPS, self._clock, random.random, self._log, namespace=routes.NAMESPACE, fields=told
        )
        config.add_handler(self._rerouting(forwarder, resolvers))
        async with asyncio.TaskGroup() as group:
            await start(group, informers.run, name="informers")
            await start(group, config.run, name="config")
            self._zone.refresh()
            server = DnsServer(self._zone, forwarder, group)
            try:
                self.port = settings.port
                for address in settings.addresses:
                    self.port = await server.open(address, self.port)
                if settings.published is not None:
                    await self._publish(settings.published)
                ready()
                await asyncio.get_running_loop().create_future()
            finally:
                server.close()
                if settings.published is not None:
                    await self._withdraw(settings.published)

    async def _publish(self, what: Published) -> None:
        """The Service is shared with other nodes' servers; the slice is this one's own."""
        await self._ensure(SERVICES, publish.service(what))
        await self._ensure(ENDPOINT_SLICES, publish.slice_(what, self.port))

    async def _ensure(self, kind: Kind, obj: Obj) -> None:
        for seconds in (*_RETRIES, None):
            try:
                try:
                    # First the patch: a Service with an address cannot be tried to be created twice, the address is taken.
                    await self._client.patch(kind, obj["metadata"]["name"], obj, publish.NAMESPACE)
                except ApiError as error:
                    if error.reason != "NotFound":
                        raise
                    await self._client.create(kind, obj, publish.NAMESPACE)
            except (ApiError, ConnectionError, TimeoutError) as error:
                if seconds is None:
                    raise
                self._log.warning("cannot publish the DNS server", kind=kind.kind, error=str(error))
                await self._clock.sleep(seconds)
            else:
                return

    async def _withdraw(self, what: Published) -> None:
        """Nobody is to ask here any more. If the API server is gone too, there is nobody who could."""
        with contextlib.suppress(ApiError, ConnectionError, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                await self._client.delete(ENDPOINT_SLICES, publish.slice_name(what), publish.NAMESPACE)

    def _noting(self, handler: Handler) -> Handler:
        def note(old: Obj | None, new: Obj | None) -> None:
            handler(old, new)
            if not self._refreshing:
                self._refreshing = True
                asyncio.get_running_loop().call_soon(self._refresh)

        return note

    def _rerouting(self, forwarder: Forwarder, usual: tuple[Resolver, ...]) -> Handler:
        def reroute(_: Obj | None, new: Obj | None) -> None:
            try:
                forwarder.follow(routes.of_config_map(new, usual))
            except ValueError as problem:
                self._log.error("the ConfigMap of the DNS servers is not followed", name=routes.CONFIG_MAP, error=str(problem))

        return reroute

    def _refresh(self) -> None:
        self._refreshing = False
        self._zone.refresh()


def _of_a_namespace(namespace: Obj) -> Obj:
    metadata = namespace["metadata"]
    return {"metadata": {name: metadata[name] for name in ("name", "uid", "resourceVersion") if name in metadata}}
