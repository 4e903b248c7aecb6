"""UDP flows that the kernel still sends to pods that are gone: which of the known flows have to be forgotten. Core.

TCP connections to a pod that is gone end by themselves; a UDP flow is kept alive by every further packet of its client.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tiphys.proxy.rules import Address, PortRules
from tiphys.proxy.services import PortName

_FIELD = re.compile(r"(src|dst|sport|dport)=(\S+)")


@dataclass(frozen=True, slots=True)
class Flow:
    source: str
    source_port: int
    destination: str
    """As the client sees it: a Service's address, or this node's."""
    port: int
    endpoint: Address
    """Where it really goes."""


def flows(listed: str) -> Iterator[Flow]:
    """From the output of `conntrack -L -p udp`: the client's direction, then that of the answers."""
    for line in listed.splitlines():
        found = _FIELD.findall(line)
        if [name for name, _ in found[:8]] == ["src", "dst", "sport", "dport"] * 2:
            values = [value for _, value in found]
            yield Flow(values[0], int(values[2]), values[1], int(values[3]), (values[4], int(values[6])))


def stale(known: Iterable[Flow], ports: Iterable[PortRules], serving: Mapping[PortName, frozenset[Address]]) -> Iterator[Flow]:
    """Traffic policies do not end what has begun; only endpoints that no longer answer do."""
    fronts: dict[Address, frozenset[Address]] = {}
    node_ports: dict[int, frozenset[Address]] = {}
    for port in ports:
        behind = serving.get(port.name, frozenset())
        if port.name.protocol != "udp" or not behind:
            continue
        for address in (port.cluster_ip, *port.load_balancer_ips, *port.external_ips):
            fronts[address, port.port] = behind
        if port.node_port:
            node_ports[port.node_port] = behind
    for flow in known:
        allowed = fronts.get((flow.destination, flow.port))
        if allowed is None or flow.endpoint in allowed:
            allowed = node_ports.get(flow.port)
        if allowed is not None and flow.endpoint not in allowed:
            yield flow


def forget(flow: Flow) -> list[str]:
    """The arguments of conntrack."""
    asked = ["-D", "-p", "udp", "-s", flow.source, "--sport", str(flow.source_port)]
    return [*asked, "-d", flow.destination, "--dport", str(flow.port)]
