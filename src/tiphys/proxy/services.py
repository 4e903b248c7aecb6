"""What Services say about traffic, for one family of addresses. Core.

Every port of a Service is one value; names are those of upstream's messages: `namespace/name:port`.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tiphys.machinery.tree import Obj, get

Family = Literal[4, 6]

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}").fullmatch

OTHER_PROXY = "service.kubernetes.io/service-proxy-name"
"""The label of Services and slices that are somebody else's to serve."""


@dataclass(frozen=True, slots=True, order=True)
class PortName:
    namespace: str
    service: str
    port: str
    protocol: str
    """tcp, udp or sctp."""

    def __str__(self) -> str:
        port = f":{self.port}" if self.port else ""
        return f"{self.namespace}/{self.service}{port}"


@dataclass(frozen=True, slots=True)
class ServicePort:
    name: PortName
    cluster_ip: str
    port: int
    node_port: int = 0
    external_ips: tuple[str, ...] = ()
    load_balancer_ips: tuple[str, ...] = ()
    source_ranges: tuple[str, ...] = ()
    """Who may come by the addresses of the load balancer; empty: everybody."""
    affinity_seconds: int = 0
    """How long a client stays with an endpoint; 0: no affinity."""
    internal_local: bool = False
    external_local: bool = False
    health_check_port: int = 0

    @property
    def externally_accessible(self) -> bool:
        return bool(self.node_port or self.load_balancer_ips or self.external_ips)

    @property
    def uses_cluster(self) -> bool:
        """Even a Service whose outside traffic stays on the node needs the others: for traffic that starts here."""
        return not self.internal_local or self.externally_accessible

    @property
    def uses_local(self) -> bool:
        return self.internal_local or (self.external_local and self.externally_accessible)


def is_ours(service: Obj) -> bool:
    spec = service["spec"]
    if OTHER_PROXY in (service["metadata"].get("labels") or ()):
        return False
    return spec.get("type") != "ExternalName" and spec.get("clusterIP", "") not in ("", "None")


def ports(service: Obj, family: Family) -> Iterator[ServicePort]:
    """Empty where the Service has no address of the family."""
    meta, spec = service["metadata"], service["spec"]
    if not is_ours(service):
        return
    cluster_ip = next(iter(of_family(spec.get("clusterIPs") or (spec["clusterIP"],), family)), "")
    if not cluster_ip:
        return
    kind = spec.get("type", "ClusterIP")
    external_ips = tuple(of_family(spec.get("externalIPs") or (), family))
    outside = kind in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))
    external_local = outside and spec.get("externalTrafficPolicy") == "Local"
    ingress = get(service, ("status", "loadBalancer", "ingress"), ())
    vips = [each["ip"] for each in ingress if each.get("ip") and each.get("ipMode", "VIP") == "VIP"]
    sticky = spec.get("sessionAffinity") == "ClientIP"
    for port in spec.get("ports") or ():
        yield ServicePort(
            PortName(meta["namespace"], meta["name"], port.get("name", ""), port.get("protocol", "TCP").lower()),
            cluster_ip,
            port["port"],
            port.get("nodePort", 0),
            external_ips,
            tuple(of_family(vips, family)),
            _source_ranges(spec.get("loadBalancerSourceRanges") or (), family),
            get(spec, ("sessionAffinityConfig", "clientIP", "timeoutSeconds"), 10800) if sticky else 0,
            spec.get("internalTrafficPolicy") == "Local",
            external_local,
            spec.get("healthCheckNodePort", 0) if kind == "LoadBalancer" and external_local else 0,
        )


def of_family(addresses: Iterable[str], family: Family) -> Iterator[str]:
    """The addresses of that family, as the kernel prints them."""
    for text in addresses:
        if found := as_family(text, family):
            yield found


def as_family(text: str, family: Family) -> str:
    """The address as the kernel prints it; empty where it is of the other family, or none."""
    if family == 4:
        return text if _IPV4(text) else ""
    if ":" not in text:
        return ""
    try:
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        return ""


def ranges_of_family(ranges: Iterable[str], family: Family) -> Iterator[str]:
    """What is no network is left out."""
    for text in ranges:
        try:
            network = ipaddress.ip_network(text.strip(), strict=False)
        except ValueError:
            continue
        if network.version == family:
            yield str(network)


def _source_ranges(ranges: Iterable[str], family: Family) -> tuple[str, ...]:
    found = tuple(ranges_of_family(ranges, family))
    return () if any(each.endswith("/0") for each in found) else found
