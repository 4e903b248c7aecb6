"""The API server put together: pipeline behind TLS, ready when the store is read and the first objects are there."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tiphys.apiserver import bootstrapping, kubernetes_service
from tiphys.apiserver.bootstrap.cluster import ClusterAuthentication
from tiphys.apiserver.call import Backend
from tiphys.apiserver.compaction import keep_compacting
from tiphys.apiserver.crd.serving import AGENT, SERVER, Definitions
from tiphys.apiserver.definitions import definitions
from tiphys.apiserver.discovery import Discovery
from tiphys.apiserver.event_expiry import TTL, keep_expiring
from tiphys.apiserver.explaining import Explainers
from tiphys.apiserver.flow_control import SEATS, FairGate
from tiphys.apiserver.health import Check, Health, fine, store_answers, unless
from tiphys.apiserver.local_client import LocalClient
from tiphys.apiserver.nonresource import Explainer, NonResource, version
from tiphys.apiserver.observing import RequestObserver
from tiphys.apiserver.openapi.documents import OpenApi
from tiphys.apiserver.pipeline import LONGEST, Auditor, Authenticator, Authorizer, Pipeline
from tiphys.apiserver.rest import answers
from tiphys.apiserver.state_metrics import show_store, show_version
from tiphys.base.http.messages import Request, Response
from tiphys.base.http.server import Server
from tiphys.base.log import Logger
from tiphys.base.metrics import Registry
from tiphys.base.process_metrics import show_process
from tiphys.base.tasks import first_done
from tiphys.base.tls_context import Serving
from tiphys.machinery import errors
from tiphys.machinery.feature_gates import COMPRESSION, STORAGE_HASH, FeatureGates
from tiphys.machinery.zpages import ZPages


@dataclass(slots=True)
class Options:
    host: str = "127.0.0.1"
    port: int = 6443
    also_hosts: tuple[str, ...] = ()
    """Where it listens besides, on the same port."""
    advertise: str = ""
    """The address that clients inside the cluster use; the bind address if empty."""
    shutdown_grace: float = 10.0
    shutdown_delay: float = 0.0
    """Seconds for which it still serves, and says that it is not ready: until nobody is sent to it any more."""
    longest_request: float = LONGEST
    event_ttl: float = TTL
    """Seconds after which events go that nobody has repeated; 0: never."""
    seats: int = SEATS
    """Requests that are served at a time."""
    bootstrap: bootstrapping.Given = field(default_factory=lambda: bootstrapping.Given((), ClusterAuthentication()))
    issuer: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    auditor: Auditor | None = None
    pages: ZPages | None = None
    gates: FeatureGates = field(default_factory=FeatureGates)


class ApiServer:
    """`async with` nothing, start nothing here: `run(ready)` serves until it is cancelled."""

    def __init__(
        self,
        backend: Backend,
        authenticator: Authenticator,
        authorizer: Authorizer,
        serving: Serving,
        options: Options,
        metrics: Registry,
        log: Logger,
    ) -> None:
        self.backend = backend
        self.address: tuple[str, int] = (options.host, options.port)
        self._options = options
        self._log = log
        self._bootstrapped = False
        self._stopping = False
        self._defined = asyncio.Event()
        shown = f"{options.advertise or options.host}:{options.port}"
        show_store(metrics, backend.store, backend.catalogue)
        show_process(metrics)
        self.metrics = metrics
        """What else runs in this process may tell of itself here, too."""
        show_version(metrics, version())
        discovery = Discovery(backend.catalogue, shown, hashes=options.gates.on(STORAGE_HASH))
        openapi = OpenApi(backend.catalogue, definitions())
        own = Explainers(backend)
        self.explainers: dict[str, Explainer] = {"requests": own.requests, "kubelet": own.kubelet}
        """By name: parts of the cluster that can be asked, below /explain/, why they decided as they did."""
        issuer, health = options.issuer, Health(self._checks())
        catalogue, explainers = backend.catalogue, self.explainers
        other = NonResource(catalogue, discovery, openapi, health, metrics.render, issuer, explainers, options.pages)
        gate = FairGate(metrics, options.seats)
        observer = RequestObserver(metrics, log)
        self.pipeline = Pipeline(backend, authenticator, authorizer, gate, observer, other.answer, log, options.auditor)
        self.pipeline.compresses = options.gates.on(COMPRESSION)
        self.pipeline.longest = options.longest_request
        self.definitions = Definitions(backend, LocalClient(self.pipeline, SERVER, AGENT), log)
        """The service that serves custom resources."""
        self._server = Server(
            self.pipeline.handle,
            ssl_context=serving.context,
            on_error=_on_error,
            on_too_large=_on_too_large,
            clock=backend.clock,
        )

    def _checks(self) -> Mapping[str, Check]:
        bootstrapped = unless(lambda: "" if self._bootstrapped else "not finished")
        answers = store_answers(self.backend.store)
        return {
            "ping": fine,
            "log": fine,
            "etcd": answers,
            "etcd-readiness": answers,
            "poststarthook/start-apiserver-admission-initializer": fine,
            "poststarthook/rbac/bootstrap-roles": bootstrapped,
            "poststarthook/scheduling/bootstrap-system-priority-classes": bootstrapped,
            # What others keep in informers is read from the store itself: it is never behind.
            "informer-sync": fine,
            "shutdown": unless(lambda: "process is shutting down" if self._stopping else ""),
        }

    async def run(self, ready: Callable[[], None]) -> None:
        self.address = await self._server.listen(self._options.host, self._options.port)
        await first_done(self._serve(ready), self.definitions.run(self._defined.set))

    async def _serve(self, ready: Callable[[], None]) -> None:
        try:
            # Nobody shall hear that what a definition describes is not there.
            await self._defined.wait()
            for host in self._options.also_hosts:
                await self._server.listen(host, self.address[1])
            given = self._options.bootstrap
            await bootstrapping.ensure(self.backend, given)
            if given.service_cidrs:
                address = self._options.advertise or self.address[0]
                await kubernetes_service.ensure(self.backend, given.service_cidrs[0], address, self.address[1])
            self._bootstrapped = True
            ready()
            store, clock = self.backend.store, self.backend.clock
            await first_done(keep_compacting(store, clock), keep_expiring(store, clock, self._options.event_ttl))
        finally:
            self._stopping = True
            await self.backend.clock.sleep(self._options.shutdown_delay)
            await self._server.shutdown(self._options.shutdown_grace)


def _on_error(_request: Request, _error: Exception) -> Response:
    return answers.error(errors.internal("the request could not be answered"))


def _on_too_large(limit: int) -> Response:
    return answers.error(errors.request_entity_too_large(f"Request entity too large: limit is {limit}"))
