"""What a client is warned of when it writes a Service."""

from collections.abc import Iterator

from tiphys.api import ip
from tiphys.api.core.services import traits
from tiphys.api.core.services.validation import TOPOLOGY_HINTS, TOPOLOGY_MODE, annotations
from tiphys.machinery.fields import index
from tiphys.machinery.tree import Obj


def warnings(new: Obj, _: Obj | None) -> Iterator[str]:
    if TOPOLOGY_HINTS in annotations(new):
        yield f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead"
    spec = traits.spec_of(new)
    first, kind = spec.get("clusterIP") or "", spec.get("type")
    if first and first != traits.NONE:
        for position, address in enumerate(traits.cluster_ips(new)):
            yield from ip.warnings(address, index("spec.clusterIPs", position))
    headless = kind == "ClusterIP" and first == traits.NONE
    external = spec.get("externalIPs") or []
    if headless:
        yield from _headless(spec)
    for position, address in enumerate(external):
        yield from ip.warnings(address, index("spec.externalIPs", position))
    if external and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if balancer := spec.get("loadBalancerIP"):
        yield from ip.warnings(balancer, "spec.loadBalancerIP")
    for position, value in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from ip.cidr_warnings(value, index("spec.loadBalancerSourceRanges", position))
    if external and kind == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and kind != "ExternalName":
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _headless(spec: Obj) -> Iterator[str]:
    if spec.get("loadBalancerIP"):
        yield "spec.loadBalancerIP is ignored for headless services"
    if spec.get("externalIPs"):
        yield "spec.externalIPs is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"
