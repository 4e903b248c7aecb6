"""Whether a Service is legal."""

from collections.abc import Iterator
from typing import Any

from tiphys.api import ip
from tiphys.api.core.endpoints import validate_protocol
from tiphys.api.core.services import traits
from tiphys.api.core.services.cluster_ips import validate_change, validate_cluster_ips
from tiphys.api.core.structs import spelled
from tiphys.machinery.fields import FieldError, child, duplicate, forbidden, index, invalid, key, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import (
    IMMUTABLE,
    dns1123_label,
    dns1123_subdomain,
    labels,
    port_name,
    port_number,
    qualified_name,
)

TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_TRAFFIC = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"
_LONGEST_AFFINITY = 86400


def annotations(service: Obj) -> dict[str, str]:
    return service.get("metadata", {}).get("annotations") or {}


def validate(service: Obj) -> Iterator[FieldError]:
    told = annotations(service)
    if TOPOLOGY_MODE in told and told.get(TOPOLOGY_HINTS, told[TOPOLOGY_MODE]) != told[TOPOLOGY_MODE]:
        wrong = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
        yield invalid(key("metadata.annotations", TOPOLOGY_MODE), told[TOPOLOGY_MODE], wrong)
    spec = traits.spec_of(service)
    kind, ports = spec.get("type") or "", spec.get("ports") or []
    if not ports and not traits.is_headless(service) and kind != "ExternalName":
        yield required("spec.ports")
    yield from _validate_type(service, kind)
    names: set[str] = set()
    for position, port in enumerate(ports):
        yield from _validate_port(port, index("spec.ports", position), names, named=len(ports) > 1)
    yield from labels(spec.get("selector"), "spec.selector")
    yield from _validate_affinity(spec)
    yield from validate_cluster_ips(service)
    for position, address in enumerate(spec.get("externalIPs") or ()):
        at = index("spec.externalIPs", position)
        wrong_form = list(ip.validate_legacy(address, at))
        yield from wrong_form or ip.validate_endpoint(address, at)
    if not kind:
        yield required("spec.type")
    elif kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    yield from _validate_distinct_ports(ports, kind)
    yield from _validate_balancer(service, kind)
    yield from _validate_traffic(service)


def _validate_type(service: Obj, kind: str) -> Iterator[FieldError]:
    spec = traits.spec_of(service)
    if kind in ("LoadBalancer", "NodePort") and traits.is_headless(service):
        yield invalid(index("spec.clusterIPs", 0), traits.NONE, f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    for part in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(part):
            yield forbidden(child("spec", part), "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    else:
        for problem in dns1123_subdomain(name):
            yield invalid("spec.externalName", name, problem)


def _validate_port(port: Obj, at: str, names: set[str], *, named: bool) -> Iterator[FieldError]:
    name, number, target = port.get("name") or "", port.get("port", 0), port.get("targetPort", 0)
    if name:
        for problem in dns1123_label(name):
            yield invalid(child(at, "name"), name, problem)
        if name in names:
            yield duplicate(child(at, "name"), name)
        names.add(name)
    elif named:
        yield required(child(at, "name"))
    for problem in port_number(number):
        yield invalid(child(at, "port"), number, problem)
    application = port.get("appProtocol")
    yield from validate_protocol(port | {"appProtocol": None}, at)
    for problem in port_number(target) if isinstance(target, int) else port_name(target):
        yield invalid(child(at, "targetPort"), target, problem)
    if application is not None:
        for problem in qualified_name(application):
            yield invalid(child(at, "appProtocol"), application, problem)


def _validate_affinity(spec: Obj) -> Iterator[FieldError]:
    affinity, at = spec.get("sessionAffinity") or "", "spec.sessionAffinityConfig"
    if not affinity:
        yield required("spec.sessionAffinity")
    elif affinity not in _AFFINITIES:
        yield not_supported("spec.sessionAffinity", affinity, _AFFINITIES)
    config: Any = spec.get("sessionAffinityConfig")
    if affinity == "None" and config is not None:
        yield forbidden(at, "must not be set when session affinity is None")
    if affinity != "ClientIP":
        return
    for part in ("clientIP", "timeoutSeconds"):
        if config is None:
            break
        at, config = child(at, part), config.get(part)
    if config is None:
        yield required(at, "when session affinity type is ClientIP")
    elif not 0 < config <= _LONGEST_AFFINITY:
        yield invalid(at, config, f"must be greater than 0 and less than {_LONGEST_AFFINITY}")


def _validate_distinct_ports(ports: list[Obj], kind: str) -> Iterator[FieldError]:
    if kind == "ClusterIP":
        for position, port in enumerate(ports):
            if port.get("nodePort"):
                at = child(index("spec.ports", position), "nodePort")
                yield forbidden(at, "may not be used when `type` is 'ClusterIP'")
    seen: set[tuple[str, int]] = set()
    for position, port in enumerate(ports):
        what = (port.get("protocol", ""), port.get("nodePort") or 0)
        if what[1] and what in seen:
            yield duplicate(child(index("spec.ports", position), "nodePort"), what[1])
        seen.add(what)
    seen.clear()
    for position, port in enumerate(ports):
        what = (port.get("protocol", ""), port.get("port", 0))
        if what in seen:
            shown = {"Name": "", "Protocol": what[0], "AppProtocol": None, "Port": what[1], "TargetPort": 0, "NodePort": 0}
            yield duplicate(index("spec.ports", position), spelled(shown))
        seen.add(what)


def _validate_balancer(service: Obj, kind: str) -> Iterator[FieldError]:
    spec = traits.spec_of(service)
    told = annotations(service).get(SOURCE_RANGES)
    if ranges := spec.get("loadBalancerSourceRanges"):
        # Upstream spells this path with a capital.
        at = "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            yield forbidden(at, _BALANCER_ONLY)
        for position, value in enumerate(ranges):
            yield from ip.validate_legacy_cidr(value.strip(), index(at, position))
    elif told is not None:
        at = key("metadata.annotations", SOURCE_RANGES)
        if kind != "LoadBalancer":
            yield forbidden(at, _BALANCER_ONLY)
        for value in told.strip().split(",") if told.strip() else ():
            yield from ip.validate_legacy_cidr(value.strip(), at)
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if allocates is not None and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", _BALANCER_ONLY)
    if allocates is None and kind == "LoadBalancer":
        yield required("allocateLoadBalancerNodePorts")
    yield from _validate_balancer_class(service)


def _validate_balancer_class(service: Obj) -> Iterator[FieldError]:
    value = traits.spec_of(service).get("loadBalancerClass")
    if value is None:
        return
    if traits.spec_of(service).get("type") != "LoadBalancer":
        yield forbidden("spec.loadBalancerClass", _BALANCER_ONLY)
        return
    for problem in qualified_name(value):
        yield invalid("spec.loadBalancerClass", value, problem)


def _validate_traffic(service: Obj) -> Iterator[FieldError]:
    spec = traits.spec_of(service)
    at, policy = "spec.externalTrafficPolicy", spec.get("externalTrafficPolicy") or ""
    if not traits.is_externally_accessible(service):
        if policy:
            yield invalid(at, policy, "may only be set for externally-accessible services")
    elif not policy:
        yield required(at)
    elif policy not in _TRAFFIC:
        yield not_supported(at, policy, _TRAFFIC)
    at, port = "spec.healthCheckNodePort", spec.get("healthCheckNodePort") or 0
    if not traits.needs_health_check_port(service):
        if port:
            told = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield invalid(at, port, told)
    elif not port:
        yield required(at)
    else:
        for problem in port_number(port):
            yield invalid(at, port, problem)
    internal = spec.get("internalTrafficPolicy")
    if internal is None and spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
        yield required("spec.internalTrafficPolicy")
    if internal is not None and internal not in _TRAFFIC:
        yield not_supported("spec.internalTrafficPolicy", internal, _TRAFFIC)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        yield not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from validate_change(new, old)
    now, was = traits.spec_of(new), traits.spec_of(old)
    if now.get("type") == was.get("type") == "LoadBalancer" and now.get("loadBalancerClass") != was.get("loadBalancerClass"):
        yield invalid("spec.loadBalancerClass", now.get("loadBalancerClass"), "may not change once set")
    # The second time: `validate` has it too.
    yield from _validate_balancer_class(new)
    checked = traits.needs_health_check_port(new) and traits.needs_health_check_port(old)
    if checked and now.get("healthCheckNodePort") != was.get("healthCheckNodePort"):
        yield forbidden("spec.healthCheckNodePort", IMMUTABLE)


def validate_status(new: Obj, _: Obj) -> Iterator[FieldError]:
    at = "status.loadBalancer.ingress"
    ingresses = get(new, ("status", "loadBalancer", "ingress"), ())
    if ingresses and traits.spec_of(new).get("type") != "LoadBalancer":
        yield forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for position, ingress in enumerate(ingresses):
        yield from _validate_ingress(ingress, index(at, position))


def _validate_ingress(ingress: Obj, at: str) -> Iterator[FieldError]:
    address, mode = ingress.get("ip") or "", ingress.get("ipMode")
    if address:
        yield from ip.validate_legacy(address, child(at, "ip"))
    if mode is None:
        if address:
            yield required(child(at, "ipMode"), "must be specified when `ip` is set")
    elif not address:
        yield forbidden(child(at, "ipMode"), "may not be specified when `ip` is not set")
    elif mode not in ("Proxy", "VIP"):
        yield not_supported(child(at, "ipMode"), mode, ("Proxy", "VIP"))
    yield from validate_ingress_hostname(ingress, at)


def validate_ingress_hostname(ingress: Obj, at: str) -> Iterator[FieldError]:
    hostname = ingress.get("hostname") or ""
    if not hostname:
        return
    for problem in dns1123_subdomain(hostname):
        yield invalid(child(at, "hostname"), hostname, problem)
    if ip.parse(hostname) is not None:
        yield invalid(child(at, "hostname"), hostname, "must be a DNS name, not an IP address")
