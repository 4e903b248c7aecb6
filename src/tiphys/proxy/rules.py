"""Services, EndpointSlices and a node become rules: which addresses lead to which endpoints. Core.

The rules know nothing of nftables, iptables or ipvs: each backend writes them down in its own words. What is decided here, for
one port of a Service: traffic to the cluster address takes the internal policy, traffic to node ports, external and load
balancer addresses the external one; a policy without endpoints drops (others may have some) or refuses (nobody has any).
"""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tiphys.machinery.tree import Obj
from tiphys.proxy import endpoints as slices_of
from tiphys.proxy import services
from tiphys.proxy.endpoints import Endpoint
from tiphys.proxy.services import Family, PortName, ServicePort

Fate = Literal["endpoints", "drop", "reject"]

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Node:
    name: str = ""
    zone: str = ""
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PortRules:
    name: PortName
    cluster_ip: str
    port: int
    internal: Fate
    external: Fate
    anywhere: bool
    """Whether some node has an endpoint."""
    cluster: tuple[Address, ...] = ()
    """Endpoints of the policy Cluster; empty where no traffic takes it."""
    local: tuple[Address, ...] = ()
    on_this_node: tuple[Address, ...] = ()
    """Of those: an endpoint that reaches itself through the Service has to see another source."""
    internal_local: bool = False
    external_local: bool = False
    node_port: int = 0
    external_ips: tuple[str, ...] = ()
    load_balancer_ips: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Ranges and addresses that may use the load balancer's addresses; empty: all."""
    affinity_seconds: int = 0
    health_check_port: int = 0
    """Where load balancers ask about this node; the host itself answers there."""

    @property
    def externally_accessible(self) -> bool:
        return bool(self.node_port or self.load_balancer_ips or self.external_ips)

    @property
    def outside(self) -> tuple[str, ...]:
        """Addresses that lead here beside the cluster's and the node's own."""
        return (*self.external_ips, *self.load_balancer_ips)

    @property
    def endpoints(self) -> tuple[Address, ...]:
        """Of both policies, each once."""
        return tuple(dict.fromkeys((*self.cluster, *self.local)))


@dataclass(frozen=True, slots=True)
class Frame:
    """What all Services of one family have in common."""

    family: Family
    service_ranges: tuple[str, ...] = ()
    """Addresses in them that no Service has lead nowhere."""
    pod_ranges: tuple[str, ...] = ()
    """Traffic that does not come from them is from outside the cluster; empty: not known."""
    masquerade_all: bool = False
    node_port_ranges: tuple[str, ...] = ()
    """Where node ports are; empty: at every address of the node."""
    pod_interface: str = ""
    """Traffic of pods comes in by it (by any that begins so, with a plus at the end); if set, ranges say nothing."""
    mark: int = 0x4000
    """Of packets that are to be masqueraded."""
    localhost_node_ports: bool = False
    """Node ports answer at 127.0.0.1 too, where the mode can do that (iptables)."""
    tcp_liberal: bool = False
    """conntrack lets packets pass that are outside of the window of their connection: none of those is invalid."""
    neighbours: tuple[str, ...] = ()
    """Where pods of other clusters on this machine may be: what comes from there, and not from our pods, is not for us."""
    scheduler: str = "rr"
    """How the kernel chooses among endpoints, where the mode can tell it (ipvs)."""
    spared: tuple[str, ...] = ()
    """Virtual servers (ipvs) at such addresses stay, whosever they are."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """What a load balancer may ask this node about a Service whose traffic stays on the node."""

    namespace: str
    service: str
    port: int
    local_endpoints: int


@dataclass(slots=True)
class ServiceRules:
    """Of one Service, in one family: rebuilt when it or one of its slices has changed."""

    ports: tuple[PortRules, ...] = ()
    serving: Mapping[PortName, frozenset[Address]] = field(default_factory=dict)
    """Every endpoint that answers, whatever the policies: where flows may still lead."""
    health: tuple[HealthCheck, ...] = ()


def of_service(service: Obj, slices: Iterable[Obj], node: Node, family: Family) -> ServiceRules:
    ports = tuple(services.ports(service, family))
    if not ports:
        return ServiceRules()
    found = slices_of.by_port(slices, node.name, family)
    serving = {
        port.name: frozenset((each.address, each.port) for each in found.get(port.name, ()) if each.serving) for port in ports
    }
    health: tuple[HealthCheck, ...] = ()
    if ports[0].health_check_port:
        local = {each.address for each in (one for many in found.values() for one in many) if each.local and each.ready}
        name = ports[0].name
        health = (HealthCheck(name.namespace, name.service, ports[0].health_check_port, len(local)),)
    return ServiceRules(tuple(_port(port, found.get(port.name, ()), node) for port in ports), serving, health)


def _port(port: ServicePort, known: tuple[Endpoint, ...], node: Node) -> PortRules:
    usable = slices_of.usable(known, port, node.name, node.zone)
    return PortRules(
        name=port.name,
        cluster_ip=port.cluster_ip,
        port=port.port,
        internal=_fate(usable, local=port.internal_local),
        external=_fate(usable, local=port.external_local),
        anywhere=usable.anywhere,
        cluster=_addresses(usable.cluster),
        local=_addresses(usable.local),
        on_this_node=_addresses(each for each in usable.reachable if each.local),
        internal_local=port.internal_local,
        external_local=port.external_local,
        node_port=port.node_port,
        external_ips=port.external_ips,
        load_balancer_ips=port.load_balancer_ips,
        sources=_sources(port, node),
        affinity_seconds=port.affinity_seconds,
        health_check_port=port.health_check_port,
    )


def _fate(usable: slices_of.Usable, *, local: bool) -> Fate:
    if not usable.anywhere:
        return "reject"
    return "drop" if local and not usable.local else "endpoints"


def _addresses(endpoints: Iterable[Endpoint]) -> tuple[Address, ...]:
    return tuple((each.address, each.port) for each in endpoints)


def _sources(port: ServicePort, node: Node) -> tuple[str, ...]:
    """A node that may come, and has the balancer's address as its own, comes with that address as its source."""
    ranges = [ipaddress.ip_network(each) for each in port.source_ranges]
    if not ranges or not port.load_balancer_ips:
        return ()
    own = [ipaddress.ip_address(each) for each in node.addresses]
    allowed = any(address in each for address in own for each in ranges)
    return (*port.source_ranges, *(port.load_balancer_ips if allowed else ()))
