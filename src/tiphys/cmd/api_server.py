"""The API server, wired: one value of settings in, a server ready to run out. Every root that serves the API uses this."""

import ipaddress
import random
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from ssl import TLSVersion
from typing import Any

from tiphys.api.metrics import KINDS as METRICS
from tiphys.api.registry import KINDS
from tiphys.apiserver.access import Access
from tiphys.apiserver.admission.chain import Chain
from tiphys.apiserver.admission.registry import AdmissionSettings, Parts, plugins
from tiphys.apiserver.allocation import claims
from tiphys.apiserver.allocation.hooks import WriteHooks
from tiphys.apiserver.allocation.services import ServiceAllocator
from tiphys.apiserver.audit.policy import BadPolicy
from tiphys.apiserver.audit.settings import Audit, AuditSettings
from tiphys.apiserver.audit.settings import build as build_audit
from tiphys.apiserver.authz import write_hooks
from tiphys.apiserver.authz.abac import Policy
from tiphys.apiserver.authz.escalation import EscalationGuard
from tiphys.apiserver.bootstrapping import Given
from tiphys.apiserver.call import WATCH_SECONDS, Backend
from tiphys.apiserver.catalogue import Catalogue
from tiphys.apiserver.definitions import definitions
from tiphys.apiserver.enablement import Enablement
from tiphys.apiserver.encryption.configuration import NO_ENCRYPTION, Encryption
from tiphys.apiserver.encryption.refreshing import keep_refreshing
from tiphys.apiserver.event_expiry import TTL
from tiphys.apiserver.flow_control import SEATS
from tiphys.apiserver.lookup import Lookup
from tiphys.apiserver.node_metrics import Scraper
from tiphys.apiserver.pipeline import LONGEST
from tiphys.apiserver.server import ApiServer, Options
from tiphys.apiserver.subresources.remote import KubeletSettings, Remote
from tiphys.apiserver.watch_cache import WatchCaches
from tiphys.base import tls
from tiphys.base.clock import Clock
from tiphys.base.log import Log, Logger
from tiphys.base.metrics import Registry
from tiphys.base.process_metrics import started
from tiphys.base.tasks import first_done
from tiphys.base.tls import Pair
from tiphys.client.kubeconfig import BadConfig
from tiphys.cmd import authentication, authorization
from tiphys.cmd.authentication import Handshakes, Trusted
from tiphys.cmd.authorization import Step
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.process import cannot_listen
from tiphys.cmd.stores import StoreSettings, open_store
from tiphys.cmd.watched_files import WatchedFiles, keep_looking
from tiphys.machinery.feature_gates import FeatureGates
from tiphys.machinery.schema import Schemas
from tiphys.machinery.zpages import ZPages
from tiphys.store.interface import Store

NODE_PORTS = (30000, 32767)


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds."""

    longest_request: float = LONGEST
    shortest_watch: float = WATCH_SECONDS
    shutdown_delay: float = 0.0


@dataclass(frozen=True, slots=True)
class ApiServerSettings:
    store: StoreSettings
    host: str
    port: int
    serving: Pair
    trusted: Trusted
    service_cidrs: tuple[str, ...]
    also_hosts: tuple[str, ...] = ()
    """Where it listens besides, on the same port."""
    advertise: str = ""
    """The address that clients inside the cluster use; found out if empty."""
    authorizers: tuple[Step, ...] = (Step("Node"), Step("RBAC"))
    authorization_file: Path | None = None
    """Where these come from, if from a file that may change."""
    policies: tuple[Policy, ...] = ()
    """Of the mode ABAC."""
    node_metrics: bool = False
    """Serve metrics.k8s.io by asking the kubelets, as an extension would."""
    serving_files: tuple[Path, Path] | None = None
    """Where the serving certificate and its key come from: a new pair there is shown from then on."""
    node_ports: tuple[int, int] = NODE_PORTS
    kubelets: KubeletSettings = field(default_factory=KubeletSettings)
    admission: AdmissionSettings = field(default_factory=AdmissionSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    encryption: Encryption = NO_ENCRYPTION
    verbosity: int = 0
    shutdown_grace: float = 10.0
    pace: Pace = field(default_factory=Pace)
    tls_minimum: TLSVersion = TLSVersion.TLSv1_2
    event_ttl: float = TTL
    seats: int = SEATS
    enablement: Enablement = field(default_factory=Enablement)
    gates: FeatureGates = field(default_factory=FeatureGates)
    flags: Mapping[str, str] = field(default_factory=dict)
    """Of the command line, for who may see them."""


@dataclass(frozen=True, slots=True)
class Opened:
    server: ApiServer
    store: Store
    look_at_files: Callable[[], Coroutine[Any, Any, None]]
    """Takes what changes in the files that the server was started with."""
    beside: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()
    """What runs as long as the server."""

    async def run(self, ready: Callable[[], None]) -> None:
        """A service: serves until it is cancelled. Raises Unavailable once the store cannot be used any more."""
        beside = [each() for each in self.beside]
        await first_done(self._serve(ready), self.look_at_files(), self.store.failed(), *beside)

    async def _serve(self, ready: Callable[[], None]) -> None:
        host, port = self.server.address
        try:
            await self.server.run(ready)
        except OSError as problem:
            raise cannot_listen(problem, host, port) from None


def new_uid() -> str:
    return str(uuid.uuid4())


@asynccontextmanager
async def open_api_server(settings: ApiServerSettings, clock: Clock) -> AsyncIterator[Opened]:
    """The store is open inside; `server.run` is for the caller to start, and `store.failed` to wait for."""
    log = Logger(Log(verbosity=settings.verbosity, clock=clock), "apiserver", {})
    audited = _audit(settings, clock, log)
    metrics = Registry()
    async with open_store(settings.store) as store:
        lookup = Lookup(store)
        authorizers, file = settings.authorizers, settings.authorization_file
        authorized = await authorization.build(authorizers, settings.policies, file, store, clock)
        minimum = settings.tls_minimum
        authenticated = authentication.build(settings.trusted, settings.serving, lookup, authorized.chain, clock, minimum)
        allocator = ServiceAllocator(lookup, settings.service_cidrs, settings.node_ports, random.random, new_uid)
        guard = EscalationGuard(authorized.roles, authorized.chain)
        kinds = (*KINDS, *METRICS) if settings.node_metrics else KINDS
        catalogue = Catalogue(Schemas(definitions()), kinds, settings.enablement.has)
        remote = Remote(settings.kubelets)
        parts = Parts(
            store, lookup, random.choice, new_uid, authorized.chain, catalogue, settings.admission.configuration, clock
        )
        backend = Backend(
            store=store,
            catalogue=catalogue,
            admission=Chain(plugins(parts, replace(settings.admission, gates=settings.gates))),
            clock=clock,
            watches=WatchCaches(metrics),
            hooks=WriteHooks({("", "services"): allocator.hook(), **write_hooks.hooks(guard), **claims.hooks(lookup)}),
            new_uid=new_uid,
            choose=random.choice,
            chance=random.random,
            watch_seconds=settings.pace.shortest_watch,
            authorizer=authorized.chain,
            identity=authenticated.identity,
            tokens=authenticated.tokens,
            remote=remote,
            scraper=Scraper(remote, clock),
        )
        server = ApiServer(
            backend,
            authenticated.identity,
            Access(authorized.chain),
            authenticated.handshakes.serving,
            Options(
                host=settings.host,
                port=settings.port,
                also_hosts=settings.also_hosts,
                shutdown_grace=settings.shutdown_grace,
                shutdown_delay=settings.pace.shutdown_delay,
                longest_request=settings.pace.longest_request,
                event_ttl=settings.event_ttl,
                seats=settings.seats,
                issuer=authenticated.documents,
                advertise=settings.advertise or advertised(settings.host),
                bootstrap=Given(settings.service_cidrs, settings.trusted.told()),
                auditor=audited.auditor,
                pages=ZPages("apiserver", settings.gates, settings.flags, started(), clock.now, random.choice),
                gates=settings.gates,
            ),
            metrics,
            log,
        )
        beside = [partial(each, _nobody_waits) for each in audited.services]
        if settings.encryption.services:
            beside.append(partial(keep_refreshing, settings.encryption, clock, log))
        watched = [*authenticated.watched, *authorized.watched, *_serving_files(settings, authenticated.handshakes)]
        yield Opened(server, store, lambda: keep_looking(watched, clock, log), beside)


def _nobody_waits() -> None:
    """For services that need not be ready before others go on."""


def _audit(settings: ApiServerSettings, clock: Clock, log: Logger) -> Audit:
    try:
        return build_audit(settings.audit, clock, log)
    except (OSError, BadPolicy, BadConfig) as problem:
        raise Unusable(str(problem)) from None


def _serving_files(settings: ApiServerSettings, handshakes: Handshakes) -> list[WatchedFiles]:
    if settings.serving_files is None:
        return []

    def take(content: Sequence[bytes]) -> None:
        pair = Pair(content[0], content[1])
        if not tls.belongs(pair):
            raise ValueError("the key is not the certificate's")
        handshakes.show(pair)

    return [WatchedFiles(settings.serving_files, take)]


def advertised(bind_address: str) -> str:
    """The address in the endpoints of the `kubernetes` Service: where we listen, or, where that tells others nothing, the
    address by which this machine reaches the world."""
    bound = ipaddress.ip_address(bind_address)
    if not bound.is_unspecified and not bound.is_loopback:
        return bind_address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent; the kernel picks the way out
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
