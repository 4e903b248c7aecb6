"""The proxy as a service: follows Services, slices and its node, and brings the kernel's rules after them in batches."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from tiphys.api.core.nodes import NODES
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.api.networking.servicecidrs import SERVICE_CIDRS
from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.metrics import Registry
from tiphys.base.tasks import start
from tiphys.client.informer import Handler, Informer, Informers
from tiphys.client.interface import Client
from tiphys.machinery.tree import Obj, get
from tiphys.proxy import apply, conntrack
from tiphys.proxy.apply import Refused
from tiphys.proxy.backend import Backend
from tiphys.proxy.health import Health
from tiphys.proxy.iptables.kernel import Iptables
from tiphys.proxy.ipvs.kernel import Ipvs
from tiphys.proxy.metrics import ProxyMetrics
from tiphys.proxy.nftables.kernel import Nftables
from tiphys.proxy.services import Family
from tiphys.proxy.serving import Servers, Serving
from tiphys.proxy.state import FAMILIES, Settings, State
from tiphys.proxy.written import Written

RETRY_SECONDS = 1.0
LONGEST_RETRY = 30.0

BACKENDS: dict[str, Callable[[Family, str], Backend]] = {"nftables": Nftables, "iptables": Iptables, "ipvs": Ipvs}
"""By the name of the proxy mode; given a family, and the name under which rules are known in the kernel."""


class Proxy:
    """`run(ready)`: ready once the kernel has the rules of everything that was there. Its rules go when it ends."""

    def __init__(self, client: Client, settings: Settings, clock: Clock, log: Logger, serving: Serving | None = None) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._log = log
        self._state = State(settings)
        self._health = Health(2 * settings.sync_period)
        self._metrics = ProxyMetrics(Registry(), settings.mode)
        self._servers = Servers(serving or Serving(), self._health, self._metrics, settings.mode, clock, log)
        self._work = asyncio.Event()
        self._written = {family: Written(BACKENDS[settings.mode](family, settings.table)) for family in FAMILIES}
        self._metrics.registry.before_render(self._count)

    async def run(self, ready: Callable[[], None]) -> None:
        for complaint in apply.complaints():
            self._log.warning(complaint)
        informers = Informers(self._client, self._clock, random.random, self._log)
        informers.of(SERVICES).add_handler(self._noting(self._state.service, "service"))
        informers.of(ENDPOINT_SLICES).add_handler(self._noting(self._state.slice, "endpoint"))
        informers.of(SERVICE_CIDRS).add_handler(self._noting(self._state.service_range))
        own = f"metadata.name={self._settings.node}"
        node = Informer(self._client, NODES, self._clock, random.random, self._log, keep=_of_a_node, fields=own)
        node.add_handler(self._noting(self._node))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._servers.run())
                self._state.started = self._clock.now()
                await start(group, node.run, name="node")
                await start(group, informers.run, name="informers")
                await self._keep_up(ready)
        finally:
            await self._servers.close()
            await self._leave()

    def _noting(self, handler: Handler, what: str = "") -> Handler:
        def note(old: Obj | None, new: Obj | None) -> None:
            handler(old, new)
            if self._state.changed:
                now = self._clock.now()
                self._health.queued(now)
                if what:
                    self._metrics.noted(what)
            self._work.set()

        return note

    def _node(self, old: Obj | None, new: Obj | None) -> None:
        self._health.node = new
        self._state.node(old, new)

    async def _keep_up(self, ready: Callable[[], None]) -> None:
        retry = RETRY_SECONDS
        self._state.changed = True
        while True:
            self._work.clear()
            try:
                await self._bring_up_to_date()
            except Refused as error:
                self._log.error("the kernel does not take the rules", error=str(error))
                self._state.changed = True
                self._health.queued(self._clock.now())
                await self._clock.sleep(retry)
                retry = min(2 * retry, LONGEST_RETRY)
                continue
            retry = RETRY_SECONDS
            ready()
            await self._clock.sleep(self._settings.min_sync_period)
            if waiting := [each for each in self._written.values() if each.there and each.backend.left_over()]:
                await self._sweep(waiting)
            elif not await self._woken(self._settings.sync_period):
                await self._look_after()

    async def _bring_up_to_date(self) -> None:
        if not self._state.changed:
            return
        for each in ("IPv4", "IPv6"):
            self._metrics.queued.labels(each).set(self._clock.now())
        began = self._clock.monotonic()
        for family, changes in self._state.changes().items():
            self._written[family].note(changes)
        for family, written in self._written.items():
            # Most clusters have no Service with IPv6: no table then.
            if family == 4 or written.wanted:
                await self._write(family, written, began)
                began = self._clock.monotonic()
        now = self._clock.now()
        self._metrics.up_to_date(self._state.changed_at(), now)
        self._health.updated(now)
        await self._servers.of_services(self._state.health_checks())
        if self._state.udp_moved:
            self._state.udp_moved = False
            await self._forget_flows()

    async def _write(self, family: Family, written: Written, began: float) -> None:
        fully = not written.there
        try:
            await written.write()
        except Refused:
            self._metrics.failed(f"IPv{family}", fully=fully)
            raise
        took = self._clock.monotonic() - began
        self._metrics.wrote(f"IPv{family}", took, self._clock.now(), fully=fully)
        self._log.debug(2, "rules are up to date", family=family, seconds=round(took, 4))

    async def _woken(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._work.wait()
        except TimeoutError:
            return False
        return True

    async def _look_after(self) -> None:
        """Somebody who writes rules of their own may have thrown out ours with theirs."""
        for family, each in self._written.items():
            if each.there and not await each.backend.intact():
                self._log.warning("the rules are gone from the kernel: they are written anew", family=family)
                each.there = False
                self._state.changed = True

    async def _sweep(self, waiting: list[Written]) -> None:
        """What was left behind goes a moment later, unless it has come back."""
        if await self._woken(max(each.backend.patience for each in waiting)):
            return
        for each in waiting:
            await self._try(each.backend.sweep(), "what is left over stays")
        if any(each.backend.left_over() for each in waiting):
            # It may take long: nothing else is to wait for it.
            await self._look_after()

    async def _forget_flows(self) -> None:
        for family in FAMILIES:
            ports, serving = self._state.udp(family)
            if not any(serving.values()):
                continue
            asked = ("-L", "-p", "udp", "-f", f"ipv{family}")
            listed = await self._try(apply.conntrack(*asked), "cannot look for UDP flows to endpoints that are gone")
            for flow in list(conntrack.stale(conntrack.flows(listed), ports, serving)):
                await self._try(apply.conntrack(*conntrack.forget(flow)), "a UDP flow to an endpoint that is gone stays")

    async def _leave(self) -> None:
        for family, each in self._written.items():
            if family == 4 or each.wanted:
                await self._try(each.backend.remove(), "rules are left behind")

    async def _try(self, doing: Awaitable[str | None], otherwise: str) -> str:
        try:
            return await doing or ""
        except Refused as error:
            self._log.warning(otherwise, error=str(error))
            return ""

    def _count(self) -> None:
        for family, written in self._written.items():
            self._metrics.counts(f"IPv{family}", written.ledger)
            for policy, number in self._state.without_local(family).items():
                self._metrics.nobody_local.labels(policy, f"IPv{family}").set(number)


def _of_a_node(node: Obj) -> Obj:
    """Its status is written often, and is large; the proxy needs little of it."""
    metadata, spec = node["metadata"], node.get("spec") or {}
    kept = {
        name: metadata[name] for name in ("name", "uid", "resourceVersion", "labels", "deletionTimestamp") if name in metadata
    }
    told = {name: spec[name] for name in ("podCIDRs", "taints") if name in spec}
    return {"metadata": kept, "spec": told, "status": {"addresses": get(node, ("status", "addresses"), [])}}
