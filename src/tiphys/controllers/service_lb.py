"""Load balancers on plain machines: where no cloud has one to give, a Service of type LoadBalancer is reached at its nodes.

The addresses count as the Service's own (ipMode VIP): the proxy of each node takes what comes in for them, so nothing else has
to listen. A Service that names a loadBalancerClass is somebody else's.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api import ip
from tiphys.api.core.nodes import NODES
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, Watch, own
from tiphys.controllers.endpointslice.slices import SERVICE_NAME
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Emit, Note, Patch, Plan, Write
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
_SETTLE = 1.0
"""Seconds for which changes of nodes and endpoints are gathered."""


@dataclass(frozen=True, slots=True)
class World:
    service: Obj
    nodes: tuple[Obj, ...]
    slices: tuple[Obj, ...]


def is_balanced(service: Obj) -> bool:
    spec = service["spec"]
    return spec.get("type") == "LoadBalancer" and not spec.get("loadBalancerClass") and not meta.is_deleting(service)


def _of_type(service: Obj) -> Iterable[str]:
    return ("",) if is_balanced(service) else ()


def _if_nodes_matter(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    if _facts(old) == _facts(new):
        return ()
    return [meta.key(each) for each in caches[SERVICES].by("load-balancer", "")]


def _facts(node: Obj | None) -> object:
    return (node is not None and is_used(node), get(node, ("status", "addresses")))


def is_used(node: Obj) -> bool:
    """Whether traffic may come in over it."""
    ready = conditions.is_true(get(node, ("status", "conditions")), "Ready")
    return ready and EXCLUDED not in meta.labels(node) and not meta.is_deleting(node)


def _of_slice(obj: Obj) -> Iterable[str]:
    name = meta.labels(obj).get(SERVICE_NAME)
    return (f"{meta.namespace(obj)}/{name}",) if name else ()


def _local_ones(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """Where endpoints are matters only to Services that keep traffic on its node."""
    obj = new if new is not None else old
    assert obj is not None
    for key in _of_slice(obj):
        service = caches[SERVICES].get(key)
        if service is not None and is_balanced(service) and _is_local(service):
            yield key


def _is_local(service: Obj) -> bool:
    return bool(service["spec"].get("externalTrafficPolicy") == "Local")


class ServiceLoadBalancers(Base):
    name = "service-lb-controller"
    component = "service-controller"
    watches = (
        Watch(SERVICES, own(SERVICES).keys, {"load-balancer": _of_type}),
        Watch(NODES, _if_nodes_matter, delay=_SETTLE),
        Watch(ENDPOINT_SLICES, _local_ones, {"any-service": _of_slice}, delay=_SETTLE),
    )

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        service = caches[SERVICES].get(key)
        if service is None:
            return None
        if not is_balanced(service):
            return World(service, (), ())
        slices = tuple(caches[ENDPOINT_SLICES].by("any-service", key)) if _is_local(service) else ()
        return World(service, tuple(caches[NODES]), slices)

    @staticmethod
    def reconcile(world: World) -> Plan:
        service = world.service
        finalizers = list(get(service, ("metadata", "finalizers")) or ())
        if not is_balanced(service):
            return _let_go(service, finalizers) if FINALIZER in finalizers else NOTHING
        wanted, held = ingress(world), get(service, ("status", "loadBalancer", "ingress")) or []
        writes: list[Write] = []
        if FINALIZER not in finalizers:
            writes.append(Emit(Note(service, "EnsuringLoadBalancer", "Ensuring load balancer")))
            writes.append(_finalizers(service, [*finalizers, FINALIZER]))
        if _addresses(wanted) != _addresses(held):
            told = Note(service, "EnsuredLoadBalancer", "Ensured load balancer")
            if held:
                told = Note(service, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
            if not wanted:
                told = Note(service, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer", "Warning")
            writes.append(_status(service, wanted, told))
        return Plan(tuple(writes))


def _let_go(service: Obj, finalizers: list[str]) -> Plan:
    """First nobody is told of the addresses any more, then the Service may go."""
    if get(service, ("status", "loadBalancer", "ingress")):
        told = Note(service, "DeletingLoadBalancer", "Deleting load balancer")
        return Plan((Emit(told), _status(service, [], None)))
    done = Note(service, "DeletedLoadBalancer", "Deleted load balancer")
    return Plan((_finalizers(service, [each for each in finalizers if each != FINALIZER], done),))


def ingress(world: World) -> list[Obj]:
    """The address of each node that is used, of each family of the Service; those that the world sees go first."""
    families = world.service["spec"].get("ipFamilies") or ["IPv4"]
    nodes = [node for node in world.nodes if is_used(node)]
    if _is_local(world.service):
        local = {
            endpoint.get("nodeName")
            for each in world.slices
            for endpoint in each.get("endpoints") or ()
            if (endpoint.get("conditions") or {}).get("ready") is not False
        }
        nodes = [node for node in nodes if meta.name(node) in local]
    found = [address for node in sorted(nodes, key=meta.name) for family in families for address in _address(node, family)]
    return [{"ip": address, "ipMode": "VIP"} for address in dict.fromkeys(found)]


def _address(node: Obj, family: str) -> list[str]:
    listed = [each for each in get(node, ("status", "addresses")) or () if ip.family(each["address"]) == family]
    for kind in ("ExternalIP", "InternalIP"):
        found = next((each["address"] for each in listed if each["type"] == kind), None)
        if found is not None:
            return [found]
    return []


def _addresses(listed: Iterable[Obj]) -> list[tuple[object, object]]:
    return [(each.get("ip"), each.get("ipMode")) for each in listed]


def _status(service: Obj, wanted: list[Obj], told: Note | None) -> Write:
    content = {"ingress": wanted or None}
    patch = {"metadata": {"uid": meta.uid(service)}, "status": {"loadBalancer": content}}
    return Patch(SERVICES, service, patch, subresource="status", done=told, tolerate=NOT_FOUND)


def _finalizers(service: Obj, wanted: list[str], done: Note | None = None) -> Write:
    metadata = {"resourceVersion": meta.resource_version(service), "finalizers": wanted}
    return Patch(SERVICES, service, {"metadata": metadata}, done=done, tolerate=NOT_FOUND)
