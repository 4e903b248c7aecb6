"""What the type of a Service entails: which of its fields mean something, and which the API server must fill in."""

from typing import Any

from tiphys.machinery.tree import Obj

NONE = "None"
"""The clusterIP of a headless Service."""

_WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


def spec_of(service: Obj) -> Obj:
    return service.get("spec") or {}


def cluster_ips(service: Obj) -> list[str]:
    return spec_of(service).get("clusterIPs") or []


def families(service: Obj) -> list[str]:
    return spec_of(service).get("ipFamilies") or []


def family_policy(service: Obj) -> str | None:
    return spec_of(service).get("ipFamilyPolicy")


def needs_cluster_ip(service: Obj) -> bool:
    """`None` counts as an address here; see `is_headless`."""
    return spec_of(service).get("type") != "ExternalName"


def is_headless(service: Obj) -> bool:
    return cluster_ips(service) == [NONE]


def may_have_node_ports(service: Obj) -> bool:
    return spec_of(service).get("type") in _WITH_NODE_PORTS


def needs_node_port(service: Obj) -> bool:
    """Whether ports that name no node port are given one."""
    spec = spec_of(service)
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def needs_health_check_port(service: Obj) -> bool:
    spec = spec_of(service)
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(service: Obj) -> bool:
    spec = spec_of(service)
    return spec.get("type") in _WITH_NODE_PORTS or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def node_ports(service: Obj) -> set[int]:
    return {port["nodePort"] for port in spec_of(service).get("ports") or () if port.get("nodePort")}


def same(new: Obj, old: Obj, part: str) -> bool:
    """Absent and empty are the same."""
    one, other = spec_of(new).get(part), spec_of(old).get(part)
    return bool(one == other) or not (one or other)


def put(service: Obj, part: str, value: Any) -> None:
    """Into a spec that belongs to the request; nothing takes the field out."""
    spec = service["spec"]
    if value in (None, "", [], 0):
        spec.pop(part, None)
    else:
        spec[part] = value
