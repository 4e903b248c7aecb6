"""What EndpointSlices say: where the pods behind a port are, and which of them a node may use. Core."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tiphys.machinery.tree import Obj
from tiphys.proxy.services import OTHER_PROXY, Family, PortName, ServicePort, as_family

SERVICE_NAME = "kubernetes.io/service-name"
HEADLESS = "service.kubernetes.io/headless"
NOBODY: frozenset[str] = frozenset()
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Endpoint:
    address: str
    port: int
    local: bool = False
    """On this node."""
    ready: bool = True
    serving: bool = True
    terminating: bool = False
    zones: frozenset[str] = frozenset()
    """For which it is meant, where the slice says so; likewise nodes."""
    nodes: frozenset[str] = frozenset()

    @property
    def leaving(self) -> bool:
        """On its way out, and still answering."""
        return self.serving and self.terminating


@dataclass(frozen=True, slots=True)
class Usable:
    cluster: tuple[Endpoint, ...] = ()
    local: tuple[Endpoint, ...] = ()
    anywhere: bool = False
    """Some node has an endpoint, even if this one must not use it."""

    @property
    def reachable(self) -> tuple[Endpoint, ...]:
        """Of both policies, each once."""
        if not self.local:
            return self.cluster
        if not self.cluster:
            return self.local
        known = {(each.address, each.port) for each in self.cluster}
        return (*self.cluster, *(each for each in self.local if (each.address, each.port) not in known))


def service_of(slice_: Obj) -> tuple[str, str] | None:
    """Namespace and name; None for slices that are not ours to serve."""
    labels = slice_["metadata"].get("labels") or {}
    name = labels.get(SERVICE_NAME)
    if not name or HEADLESS in labels or OTHER_PROXY in labels:
        return None
    return slice_["metadata"]["namespace"], name


def by_port(slices: Iterable[Obj], node: str, family: Family) -> dict[PortName, tuple[Endpoint, ...]]:
    """The slices of one Service. Slices may overlap while endpoints move between them: each endpoint counts once."""
    found: dict[PortName, dict[tuple[str, int], Endpoint]] = {}
    for slice_ in slices:
        owner = service_of(slice_)
        if owner is None or slice_.get("addressType") != f"IPv{family}":
            continue
        for port in slice_.get("ports") or ():
            number = port.get("port")
            if not number:
                continue
            name = PortName(*owner, port.get("name") or "", (port.get("protocol") or "TCP").lower())
            known = found.setdefault(name, {})
            for endpoint in slice_.get("endpoints") or ():
                _add(known, endpoint, number, node, family)
    return {name: tuple(sorted(known.values(), key=lambda each: (each.address, each.port))) for name, known in found.items()}


def _add(known: dict[tuple[str, int], Endpoint], endpoint: Obj, port: int, node: str, family: Family) -> None:
    # Addresses after the first were never used by anybody; upstream's proxies ignore them too.
    addresses = endpoint.get("addresses")
    address = as_family(addresses[0], family) if addresses else ""
    local = bool(node) and endpoint.get("nodeName") == node
    if not address or ((address, port) in known and not local):
        return
    conditions, hints = endpoint.get("conditions") or {}, endpoint.get("hints")
    ready = conditions.get("ready", True) is not False
    serving = conditions.get("serving")
    known[address, port] = Endpoint(
        address,
        port,
        local,
        ready,
        ready if serving is None else serving,
        bool(conditions.get("terminating")),
        frozenset(each["name"] for each in hints.get("forZones") or ()) if hints else NOBODY,
        frozenset(each["name"] for each in hints.get("forNodes") or ()) if hints else NOBODY,
    )


def usable(endpoints: tuple[Endpoint, ...], port: ServicePort, node: str, zone: str) -> Usable:
    """Ready endpoints, and where there are none, those that still answer while they end; separately for each policy."""
    ready = tuple(each for each in endpoints if each.ready)
    leaving = tuple(each for each in endpoints if each.leaving)
    cluster: tuple[Endpoint, ...] = ()
    local: tuple[Endpoint, ...] = ()
    if port.uses_cluster:
        cluster = tuple(filter(_near(ready, node, zone), ready)) or leaving
    anywhere = bool(cluster)
    if port.uses_local:
        anywhere = anywhere or bool(ready) or bool(leaving)
        local = tuple(each for each in ready if each.local)
        if not local:
            local = tuple(each for each in leaving if each.local and not each.ready)
    return Usable(cluster, local, anywhere)


def _near(ready: tuple[Endpoint, ...], node: str, zone: str) -> Callable[[Endpoint], bool]:
    """Hints count only if every endpoint has them, and one is meant for here: else some would get no traffic, or all of it."""
    if all(each.nodes for each in ready) and any(node in each.nodes for each in ready):
        return lambda each: node in each.nodes
    if all(each.zones for each in ready) and any(zone in each.zones for each in ready):
        return lambda each: zone in each.zones
    return lambda _: True
