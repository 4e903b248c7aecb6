"""Services as parts of a table of nftables: verdict maps lead from an address to a chain, the chain to an endpoint. Core.

A packet meets few rules, however many Services there are, and an ordinary Service has none of its own: chains are shared by all
that have as many endpoints, and a map leads from a Service's address and a number by chance to an endpoint. (The kernel's time
for a chain with a map of its own grows with the number of such chains: ten thousand cost twelve seconds, elements half of one.)

    prerouting, output (nat)    services: @service-ips or @service-nodeports -> endpoints-tcp-3: dnat by @endpoints
                                by affinity, or where outside traffic stays here -> external-..., cluster-..., local-...
    forward, input, output      endpoints-check: @no-endpoint-... -> drop or reject; cluster-ips-check: what no port has
    prerouting, output, early   firewall-check: @firewall-ips -> sources that may not come are dropped
    postrouting (nat)           masquerading: marked packets, and those of a pod to itself
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Literal

from tiphys.proxy.ledger import Container, Part
from tiphys.proxy.rules import Address, Frame, PortRules
from tiphys.proxy.services import Family, PortName

_VERDICTS = {"drop": "drop", "reject": "goto reject-chain"}
_NAME_LENGTH = 120

PROTOCOLS = ("tcp", "udp", "sctp")
Way = Literal["endpoints", "external", "nodeport"]

HOOKS = {
    "filter-prerouting-pre-dnat": "{ type filter hook prerouting priority -110 ; }",
    "filter-output-pre-dnat": "{ type filter hook output priority -110 ; }",
    "filter-input": "{ type filter hook input priority 0 ; }",
    "filter-forward": "{ type filter hook forward priority 0 ; }",
    "filter-output": "{ type filter hook output priority 0 ; }",
    "nat-prerouting": "{ type nat hook prerouting priority -100 ; }",
    "nat-output": "{ type nat hook output priority -100 ; }",
    "nat-postrouting": "{ type nat hook postrouting priority 100 ; }",
}


def base(frame: Frame) -> Part:
    """What is there without any Service."""
    elements = {"nodeport-ips": dict.fromkeys(frame.node_port_ranges, "")} if frame.node_port_ranges else {}
    return Part(_base(frame), _containers(frame.family), elements)


def part(ports: tuple[PortRules, ...], frame: Frame) -> Part:
    """What one Service adds."""
    chains: dict[str, tuple[str, ...]] = {}
    containers: dict[str, Container] = {}
    elements: dict[str, dict[str, str]] = {}
    for port in ports:
        chains.update(_chains(port, frame))
        if port.affinity_seconds:
            kind = f"{{ type ipv{frame.family}_addr ; flags dynamic,timeout ; timeout {port.affinity_seconds}s ; }}"
            containers.update({_affinity(port, each): Container("set", kind) for each in port.endpoints})
        for container, found in _elements(port):
            elements.setdefault(container, {}).update(found)
    return Part(chains, containers, elements)


def _containers(family: Family) -> dict[str, Container]:
    address = f"ipv{family}_addr"
    front = f"{{ type {address} . inet_proto . inet_service : verdict ; }}"
    port = "{ type inet_proto . inet_service : verdict ; }"
    ip = "ip" if family == 4 else "ip6"
    endpoints: dict[str, Container] = {}
    for protocol in PROTOCOLS:
        # nft confuses the ports of one protocol with those of another: each has a map of its own.
        key, to = f"{protocol} dport . numgen random mod 2", f"{ip} daddr . {protocol} dport"
        endpoints[f"endpoints-{protocol}"] = Container("map", f"{{ typeof {ip} daddr . {key} : {to} ; }}")
        endpoints[f"nodeport-endpoints-{protocol}"] = Container("map", f"{{ typeof {key} : {to} ; }}")
    return {
        "cluster-ips": Container("set", f"{{ type {address} ; }}"),
        "nodeport-ips": Container("set", f"{{ type {address} ; flags interval ; auto-merge ; }}"),
        "hairpin-connections": Container("set", f"{{ type {address} . {address} . inet_proto . inet_service ; }}"),
        **endpoints,
        "service-ips": Container("map", front),
        "service-nodeports": Container("map", port),
        "no-endpoint-services": Container("map", front),
        "no-endpoint-nodeports": Container("map", port),
        "firewall-ips": Container("map", front),
    }


def _base(frame: Frame) -> dict[str, tuple[str, ...]]:
    ip = "ip" if frame.family == 4 else "ip6"
    not_localhost = "ip daddr != 127.0.0.0/8" if frame.family == 4 else "ip6 daddr != ::1"
    front = f"{ip} daddr . meta l4proto . th dport"
    marks: tuple[str, ...] = ()
    if frame.masquerade_all:
        marks = (f"{ip} daddr @cluster-ips {masquerade(frame)}",)
    elif elsewhere := from_pods(frame, "!= "):
        # From outside the cluster, by a route to this node: the answer has to come back this way.
        marks = (f"{ip} daddr @cluster-ips {elsewhere} {masquerade(frame)}",)
    mark = f"{frame.mark:#010x}"
    foreign: tuple[str, ...] = ()
    if frame.neighbours and frame.pod_ranges:
        foreign = (f"{ip} saddr {listed(frame.neighbours)} {ip} saddr != {listed(frame.pod_ranges)} return",)
    # Without ranges: at every address of the node.
    at_node = f"{ip} daddr @nodeport-ips" if frame.node_port_ranges else not_localhost
    unallocated = (f"{ip} daddr {listed(frame.service_ranges)} drop",) if frame.service_ranges else ()
    return {
        "reject-chain": ("reject",),
        "services": (
            *marks,
            f"{front} vmap @service-ips",
            f"fib daddr type local {at_node} meta l4proto . th dport vmap @service-nodeports",
        ),
        "service-endpoints-check": (f"{front} vmap @no-endpoint-services",),
        "nodeport-endpoints-check": (f"{at_node} meta l4proto . th dport vmap @no-endpoint-nodeports",),
        "cluster-ips-check": (f"{ip} daddr @cluster-ips reject", *unallocated),
        "firewall-check": (f"{front} vmap @firewall-ips",),
        "masquerading": (
            f"mark and {mark} != 0 mark set mark xor {mark} masquerade fully-random",
            f"ct status dnat {ip} saddr . {ip} daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random",
        ),
        "filter-prerouting-pre-dnat": (*foreign, "ct state new jump firewall-check"),
        "filter-output-pre-dnat": ("ct state new jump firewall-check",),
        "filter-input": (*foreign, "ct state new jump nodeport-endpoints-check", "ct state new jump service-endpoints-check"),
        "filter-forward": (*foreign, "ct state new jump service-endpoints-check", "ct state new jump cluster-ips-check"),
        "filter-output": ("ct state new jump service-endpoints-check", "ct state new jump cluster-ips-check"),
        "nat-prerouting": (*foreign, "jump services"),
        "nat-output": ("jump services",),
        "nat-postrouting": ("jump masquerading",),
    }


def masquerade(frame: Frame) -> str:
    return f"mark set mark or {frame.mark:#010x}"


def from_pods(frame: Frame, unless: str = "") -> str:
    """The condition for what comes from pods of this cluster, or does not; empty: not known."""
    if frame.pod_interface:
        name = frame.pod_interface
        return f'iifname {unless}"{name[:-1]}*"' if name.endswith("+") else f'iifname {unless}"{name}"'
    ip = "ip" if frame.family == 4 else "ip6"
    return f"{ip} saddr {unless}{listed(frame.pod_ranges)}" if frame.pod_ranges else ""


def listed(ranges: tuple[str, ...]) -> str:
    return f"{{ {', '.join(ranges)} }}"


def chain_name(what: str, name: PortName, address: Address | None = None) -> str:
    """Readable as far as nftables allows it, and different for different ports."""
    said = f"{name.namespace}/{name.service}/{name.protocol}/{name.port}"
    if address is not None:
        said += f"/{address[0]}/{address[1]}"
    mark = hashlib.sha256(said.encode()).hexdigest()[:8]
    return f"{what}-{mark}-{re.sub(r'[^a-zA-Z0-9/.-]', '.', said)}"[:_NAME_LENGTH]


def _affinity(port: PortRules, endpoint: Address) -> str:
    """The set of clients that stay with the endpoint. A set cannot change its timeout: another time is another set."""
    return chain_name(f"affinity-{port.affinity_seconds}", port.name, endpoint)


def _policy_chain(port: PortRules, *, local: bool) -> str:
    return chain_name("local" if local else "cluster", port.name)


def _shared(way: Way, port: PortRules, count: int) -> str:
    """The chain of all that have so many endpoints, and are reached that way."""
    return f"{way}-{port.name.protocol}-{count}"


def _by_address(port: PortRules, address: str, endpoints: tuple[Address, ...]) -> dict[str, str]:
    front = f"{address} . {port.port}"
    return {f"{front} . {at}": f"{host} . {number}" for at, (host, number) in enumerate(endpoints)}


def _internal(port: PortRules) -> tuple[Address, ...]:
    """Where traffic to the cluster address goes."""
    return port.local if port.internal_local else port.cluster


def _plain(port: PortRules, *, external: bool) -> bool:
    """Whether chains that are shared will do: everybody is sent to any of the endpoints."""
    return not port.affinity_seconds and not (external and port.external_local) and bool(not external or port.cluster)


def _elements(port: PortRules) -> Iterator[tuple[str, dict[str, str]]]:
    yield "cluster-ips", {port.cluster_ip: ""}
    yield from _elements_of_addresses(port)
    yield from _elements_of_node_port(port)
    protocol = port.name.protocol
    if port.sources:
        guarded = f"goto {chain_name('firewall', port.name)}"
        yield "firewall-ips", {f"{each} . {protocol} . {port.port}": guarded for each in port.load_balancer_ips}
    yield "hairpin-connections", {f"{each} . {each} . {protocol} . {number}": "" for each, number in port.on_this_node}


def _elements_of_addresses(port: PortRules) -> Iterator[tuple[str, dict[str, str]]]:
    serving: dict[str, str] = {}
    refused: dict[str, str] = {}
    own, internal = f"{port.cluster_ip} . {port.name.protocol} . {port.port}", _internal(port)
    if port.internal != "endpoints":
        refused[own] = _VERDICTS[port.internal]
    elif _plain(port, external=False):
        serving[own] = f"goto {_shared('endpoints', port, len(internal))}"
        yield f"endpoints-{port.name.protocol}", _by_address(port, port.cluster_ip, internal)
    else:
        serving[own] = f"goto {_policy_chain(port, local=port.internal_local)}"
    for address in port.outside:
        key = f"{address} . {port.name.protocol} . {port.port}"
        if port.external != "endpoints":
            refused[key] = _VERDICTS[port.external]
        if port.anywhere and _plain(port, external=True):
            serving[key] = f"goto {_shared('external', port, len(port.cluster))}"
            yield f"endpoints-{port.name.protocol}", _by_address(port, address, port.cluster)
        elif port.anywhere:
            serving[key] = f"goto {chain_name('external', port.name)}"
    yield "service-ips", serving
    yield "no-endpoint-services", refused


def _elements_of_node_port(port: PortRules) -> Iterator[tuple[str, dict[str, str]]]:
    if not port.node_port:
        return
    key = f"{port.name.protocol} . {port.node_port}"
    if port.external != "endpoints":
        yield "no-endpoint-nodeports", {key: _VERDICTS[port.external]}
    if port.anywhere and _plain(port, external=True):
        yield "service-nodeports", {key: f"goto {_shared('nodeport', port, len(port.cluster))}"}
        by_turn = {f"{port.node_port} . {at}": f"{host} . {number}" for at, (host, number) in enumerate(port.cluster)}
        yield f"nodeport-endpoints-{port.name.protocol}", by_turn
    elif port.anywhere:
        yield "service-nodeports", {key: f"goto {chain_name('external', port.name)}"}


def _shared_chains(port: PortRules, frame: Frame) -> Iterator[tuple[str, tuple[str, ...]]]:
    ip, protocol = "ip" if frame.family == 4 else "ip6", port.name.protocol

    def to_any(key: str, count: int, endpoints: str) -> str:
        chance = f"{key}{protocol} dport . numgen random mod {count}"
        return f"meta l4proto {protocol} dnat {ip} addr . port to {chance} map @{endpoints}-{protocol}"

    if port.internal == "endpoints" and _plain(port, external=False):
        count = len(_internal(port))
        yield _shared("endpoints", port, count), (to_any(f"{ip} daddr . ", count, "endpoints"),)
    if not port.anywhere or not _plain(port, external=True):
        return
    count = len(port.cluster)
    if port.outside:
        yield _shared("external", port, count), (masquerade(frame), to_any(f"{ip} daddr . ", count, "endpoints"))
    if port.node_port:
        yield _shared("nodeport", port, count), (masquerade(frame), to_any("", count, "nodeport-endpoints"))


def _chains(port: PortRules, frame: Frame) -> Iterator[tuple[str, tuple[str, ...]]]:
    ip = "ip" if frame.family == 4 else "ip6"
    yield from _shared_chains(port, frame)
    special = port.externally_accessible and not _plain(port, external=True)
    if port.cluster and (port.affinity_seconds or special):
        yield _policy_chain(port, local=False), tuple(_to_endpoints(port, port.cluster, ip))
    if port.local and (port.affinity_seconds or special):
        yield _policy_chain(port, local=True), tuple(_to_endpoints(port, port.local, ip))
    if port.anywhere and special:
        yield chain_name("external", port.name), tuple(_external(port, frame))
    if port.sources:
        yield chain_name("firewall", port.name), (f"{ip} saddr != {listed(port.sources)} drop",)
    if port.affinity_seconds:
        for each in port.endpoints:
            remember = f"update @{_affinity(port, each)} {{ {ip} saddr }}"
            yield (
                chain_name("endpoint", port.name, each),
                (remember, f"meta l4proto {port.name.protocol} dnat to {_shown(each)}"),
            )


def _external(port: PortRules, frame: Frame) -> Iterator[str]:
    everywhere = f"goto {_policy_chain(port, local=False)}" if port.cluster else "drop"
    if not port.external_local:
        yield masquerade(frame)
        yield everywhere
        return
    # What starts in the cluster is as good as what went out and came back by a load balancer: any endpoint will do.
    if pods := from_pods(frame):
        yield f"{pods} {everywhere}"
    yield f"fib saddr type local {masquerade(frame)}"
    yield f"fib saddr type local {everywhere}"
    if port.external == "endpoints":
        yield f"goto {_policy_chain(port, local=True)}"


def _to_endpoints(port: PortRules, endpoints: tuple[Address, ...], ip: str) -> Iterator[str]:
    count = len(endpoints)
    if not port.affinity_seconds:
        listed = ", ".join(f"{at} : {address} . {number}" for at, (address, number) in enumerate(endpoints))
        protocol = port.name.protocol
        yield f"meta l4proto {protocol} dnat {ip} addr . port to numgen random mod {count} map {{ {listed} }}"
        return
    for each in endpoints:
        yield f"{ip} saddr @{_affinity(port, each)} goto {chain_name('endpoint', port.name, each)}"
    listed = ", ".join(f"{at} : goto {chain_name('endpoint', port.name, each)}" for at, each in enumerate(endpoints))
    yield f"numgen random mod {count} vmap {{ {listed} }}"


def _shown(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
