"""Services as virtual servers of IPVS, and what IPVS cannot do as a small table of nftables. Core.

    interface kube-ipvs0        has the addresses of all Services: the kernel takes packets to them in, where IPVS finds them
    IPVS                        an address and port, or a node port at every address of the node -> endpoints, by turns
    prerouting, output, early   firewall-check: @firewall-ips -> sources that may not come, and those for whom nobody is here
    prerouting, output (nat)    services: @cluster-ips, @outside-ips, @node-ports -> marked, where answers must come back here
    input                       filter-input: other ports of Services' addresses are not those of this machine
    postrouting (nat)           masquerading: marked packets, and those of a pod to itself

A virtual server without endpoints refuses by itself. Traffic from outside that is to stay on this node, and has no endpoint
here, goes to the others, as upstream's does: for pods of the cluster that is right, and others never get the answer.
"""

from collections.abc import Iterator

from tiphys.proxy.ipvs.servers import BOUND, SERVERS, SERVICE_IPS, VIRTUAL_SERVERS, value
from tiphys.proxy.ledger import Container, Part
from tiphys.proxy.nftables import parts as nftables
from tiphys.proxy.nftables.parts import chain_name, from_pods, listed, masquerade
from tiphys.proxy.rules import Address, Frame, PortRules

HOOKS = {name: hook for name, hook in nftables.HOOKS.items() if name not in ("filter-forward", "filter-output")}

SOURCE_HASH = "mh"
"""The scheduler that is to look at the client's port, too."""


def base(frame: Frame) -> Part:
    """What is there without any Service."""
    return Part(_chains(frame), _containers(frame))


def part(ports: tuple[PortRules, ...], frame: Frame) -> Part:
    """What one Service adds."""
    chains: dict[str, tuple[str, ...]] = {}
    elements: dict[str, dict[str, str]] = {}
    ip = "ip" if frame.family == 4 else "ip6"
    for port in ports:
        if port.sources:
            chains[chain_name("firewall", port.name)] = (f"{ip} saddr != {listed(port.sources)} drop",)
        for container, key, said in (*_servers(port, frame), *_elements(port)):
            elements.setdefault(container, {})[key] = said
    return Part(chains, {}, elements)


def _containers(frame: Frame) -> dict[str, Container]:
    address = f"ipv{frame.family}_addr"
    front = f"{address} . inet_proto . inet_service"
    return {
        VIRTUAL_SERVERS: Container("set", f"{{ type {front} ; }}"),
        SERVICE_IPS: Container("set", f"{{ type {address} ; }}"),
        "cluster-ips": Container("set", f"{{ type {front} ; }}"),
        "outside-ips": Container("set", f"{{ type {front} ; }}"),
        "node-ports": Container("set", "{ type inet_proto . inet_service ; }"),
        "health-check-ports": Container("set", "{ type inet_service ; }"),
        "hairpin-connections": Container("set", f"{{ type {address} . {address} . inet_proto . inet_service ; }}"),
        "firewall-ips": Container("map", f"{{ type {front} : verdict ; }}"),
    }


def _chains(frame: Frame) -> dict[str, tuple[str, ...]]:
    ip, localhost = ("ip", "127.0.0.0/8") if frame.family == 4 else ("ip6", "::1")
    front, mark = f"{ip} daddr . meta l4proto . th dport", masquerade(frame)
    # Who asks from this node, and is of no range, may have the address of a Service as its own: the interface has them all.
    unless = from_pods(frame, "!= ") or f"{ip} saddr @{SERVICE_IPS}"
    to_cluster = f"{front} @cluster-ips {mark}" if frame.masquerade_all else f"{unless} {front} @cluster-ips {mark}"
    at_node = f"{ip} daddr {listed(frame.node_port_ranges)} " if frame.node_port_ranges else ""
    foreign: tuple[str, ...] = ()
    if frame.neighbours and frame.pod_ranges:
        foreign = (f"{ip} saddr {listed(frame.neighbours)} {ip} saddr != {listed(frame.pod_ranges)} return",)
    bits = f"{frame.mark:#010x}"
    return {
        "services": (
            f"{ip} saddr {localhost} return",
            to_cluster,
            f"{front} @outside-ips {mark}",
            f"fib daddr type local {at_node}meta l4proto . th dport @node-ports {mark}",
        ),
        "firewall-check": (f"{front} vmap @firewall-ips",),
        "masquerading": (
            f"mark and {bits} != 0 mark set mark xor {bits} masquerade fully-random",
            f"{ip} saddr . {ip} daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random",
        ),
        "filter-prerouting-pre-dnat": (*foreign, "ct state new jump firewall-check"),
        "filter-output-pre-dnat": ("ct state new jump firewall-check",),
        "filter-input": (
            "tcp dport @health-check-ports return",
            f"{front} @{VIRTUAL_SERVERS} return",
            f"ct state new {ip} daddr @{SERVICE_IPS} reject",
        ),
        "nat-prerouting": (*foreign, "jump services"),
        "nat-output": ("jump services",),
        "nat-postrouting": ("jump masquerading",),
    }


def _servers(port: PortRules, frame: Frame) -> Iterator[tuple[str, str, str]]:
    """Container, key, value: what is outside of the table."""
    protocol = port.name.protocol
    options = f"-s {frame.scheduler}"
    if port.affinity_seconds:
        options += f" -p {port.affinity_seconds}"
    if frame.scheduler == SOURCE_HASH:
        options += " -b flag-2"
    inside = port.local if port.internal_local else port.cluster
    yield SERVERS, f"{protocol} {port.cluster_ip} {port.port}", value(options, inside)
    yield BOUND, port.cluster_ip, ""
    outside = value(options, _outside(port))
    for address in port.outside:
        yield SERVERS, f"{protocol} {address} {port.port}", outside
        yield BOUND, address, ""
    if port.node_port:
        yield SERVERS, f"{protocol} {','.join(frame.node_port_ranges) or '*'} {port.node_port}", outside


def _outside(port: PortRules) -> tuple[Address, ...]:
    return (port.local or port.cluster) if port.external_local else port.cluster


def _elements(port: PortRules) -> Iterator[tuple[str, str, str]]:
    """Likewise, of the table."""
    protocol = port.name.protocol
    at_port = f"{protocol} . {port.port}"
    yield "cluster-ips", f"{port.cluster_ip} . {at_port}", ""
    if port.internal == "drop":
        yield "firewall-ips", f"{port.cluster_ip} . {at_port}", "drop"
    if port.sources:
        for address in port.load_balancer_ips:
            yield "firewall-ips", f"{address} . {at_port}", f"goto {chain_name('firewall', port.name)}"
    if not port.external_local:
        for address in port.outside:
            yield "outside-ips", f"{address} . {at_port}", ""
        if port.node_port:
            yield "node-ports", f"{protocol} . {port.node_port}", ""
    if port.health_check_port:
        yield "health-check-ports", str(port.health_check_port), ""
    for address, number in port.on_this_node:
        yield "hairpin-connections", f"{address} . {address} . {protocol} . {number}", ""
