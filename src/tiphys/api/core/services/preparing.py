"""A Service on its way in: defaults, what is kept from the stored one, and what a change of type clears."""

from typing import Any

from tiphys.api.core.services import traits
from tiphys.machinery.tree import Obj, get

_AFFINITY_SECONDS = 10800


def default(service: Obj) -> None:
    spec = service.setdefault("spec", {})
    for part, value in (("sessionAffinity", "None"), ("type", "ClusterIP")):
        if not spec.get(part):
            spec[part] = value
    _default_affinity(spec)
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if traits.is_externally_accessible(service) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and spec["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec["internalTrafficPolicy"] = "Cluster"
    balancer = service.setdefault("status", {}).setdefault("loadBalancer", {})
    if spec["type"] == "LoadBalancer":
        if spec.get("allocateLoadBalancerNodePorts") is None:
            spec["allocateLoadBalancerNodePorts"] = True
        for ingress in balancer.get("ingress") or ():
            if ingress.get("ip") and ingress.get("ipMode") is None:
                ingress["ipMode"] = "VIP"


def _default_affinity(spec: Obj) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and get(spec, ("sessionAffinityConfig", "clientIP", "timeoutSeconds")) is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def prepare_create(service: Obj) -> None:
    service["status"] = {"loadBalancer": {}}
    spec = service["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _drop_internal_policy(spec)


def _drop_internal_policy(spec: Obj) -> None:
    """Upstream stores what it never shows: an ExternalName has no traffic of its own."""
    if spec.get("type") == "ExternalName" and spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
        del spec["internalTrafficPolicy"]


def prepare_update(new: Obj, old: Obj) -> None:
    new["spec"] = dict(traits.spec_of(new))
    _keep_allocated(new, old)
    _match_cluster_ips(new, old)
    _clear_what_no_longer_applies(new, old)
    _drop_internal_policy(new["spec"])


def _keep_allocated(new: Obj, old: Obj) -> None:
    """Clients that leave out what was allocated for them do not mean to give it back."""
    was = traits.spec_of(old)
    if traits.needs_cluster_ip(old) and traits.needs_cluster_ip(new):
        for part in ("clusterIP", "clusterIPs"):
            if not new["spec"].get(part):
                traits.put(new, part, was.get(part))
    if traits.needs_node_port(old) and traits.needs_node_port(new):
        _keep_node_ports(new, old)
    checked = traits.needs_health_check_port(old) and traits.needs_health_check_port(new)
    if checked and not new["spec"].get("healthCheckNodePort"):
        traits.put(new, "healthCheckNodePort", was.get("healthCheckNodePort"))


def _keep_node_ports(new: Obj, old: Obj) -> None:
    taken = traits.node_ports(old) & traits.node_ports(new)
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in traits.spec_of(old).get("ports") or ()}
    ports = []
    for port in new["spec"].get("ports") or ():
        before = by_name.get(port.get("name", ""), 0)
        keep = not port.get("nodePort") and before and before not in taken
        ports.append(port | {"nodePort": before} if keep else port)
    traits.put(new, "ports", ports)


def _match_cluster_ips(new: Obj, old: Obj) -> None:
    """Clients older than clusterIPs change clusterIP only."""
    now, was = new["spec"].get("clusterIP", ""), traits.spec_of(old).get("clusterIP", "")
    if traits.cluster_ips(old) and not traits.cluster_ips(new) and now == was:
        traits.put(new, "clusterIPs", traits.cluster_ips(old))
    if now != was and traits.same(new, old, "clusterIPs"):
        traits.put(new, "clusterIPs", [now] if now else None)


def _clear_what_no_longer_applies(new: Obj, old: Obj) -> None:
    """Values that the new type has no use for, unless the client changed them: then validation complains."""

    def clear(part: str) -> None:
        if traits.same(new, old, part):
            new["spec"].pop(part, None)

    if traits.needs_cluster_ip(old) and not traits.needs_cluster_ip(new):
        if traits.same(new, old, "clusterIP") and traits.same(new, old, "clusterIPs"):
            clear("clusterIP")
            clear("clusterIPs")
        clear("ipFamilies")
        clear("ipFamilyPolicy")
    loses_node_ports = traits.may_have_node_ports(old) and not traits.may_have_node_ports(new)
    if loses_node_ports and traits.node_ports(old) >= traits.node_ports(new):
        traits.put(new, "ports", [_without_node_port(port) for port in new["spec"].get("ports") or ()])
    if traits.needs_health_check_port(old) and not traits.needs_health_check_port(new):
        clear("healthCheckNodePort")
    if traits.is_externally_accessible(old) and not traits.is_externally_accessible(new):
        clear("externalTrafficPolicy")
    if new["spec"].get("type") == "LoadBalancer":
        return
    if traits.spec_of(old).get("type") == "LoadBalancer":
        clear("allocateLoadBalancerNodePorts")
        clear("loadBalancerClass")
    new["status"] = dict(new.get("status") or {}) | {"loadBalancer": {}}


def _without_node_port(port: Obj) -> Any:
    return {part: value for part, value in port.items() if part != "nodePort"}
