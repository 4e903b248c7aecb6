"""Which pods a Service selects, in slices by family and ports."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.controllers.controller import Base, Caches, Watch, no_keys, own
from tiphys.controllers.endpointslice.endpoints import belongs, endpoint, port_key, ports
from tiphys.controllers.endpointslice.slices import MANAGED_BY, MANAGER, SERVICE_NAME, Changes, Group, spread
from tiphys.controllers.endpointslice.trigger import stamped, trigger
from tiphys.controllers.plan import NAMESPACE_TERMINATING, NOTHING, Create, Delete, Plan, Update, Write
from tiphys.machinery import meta, selectors
from tiphys.machinery.tree import Obj, get


@dataclass(frozen=True, slots=True)
class World:
    service: Obj
    pods: tuple[Obj, ...]
    nodes: dict[str, Obj]
    """Those that the pods run on, as far as they are known."""
    slices: tuple[Obj, ...]
    """Those of this Service that this controller manages."""


def _service_of_slice(obj: Obj) -> Iterable[str]:
    found = meta.labels(obj)
    name = found.get(SERVICE_NAME)
    return (f"{meta.namespace(obj)}/{name}",) if name and found.get(MANAGED_BY) == MANAGER else ()


def _slice_keys(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    return {key for each in (old, new) if each is not None for key in _service_of_slice(each)}


def matters(old: Obj, new: Obj) -> bool:
    """Whether a change of a pod can change an endpoint; most of what kubelets report cannot."""
    return (
        meta.labels(old) != meta.labels(new)
        or meta.is_deleting(old) != meta.is_deleting(new)
        or get(old, ("status", "podIPs")) != get(new, ("status", "podIPs"))
        or facts.is_ready(old) != facts.is_ready(new)
        or facts.is_finished(old) != facts.is_finished(new)
        or old["spec"].get("nodeName") != new["spec"].get("nodeName")
    )


def services_of_pod(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """The Services that select a pod, or did before its labels changed."""
    if old is not None and new is not None and not matters(old, new):
        return
    seen = [meta.labels(each) for each in (old, new) if each is not None]
    obj = new if new is not None else old
    assert obj is not None
    for service in caches[SERVICES].in_namespace(meta.namespace(obj)):
        wanted = service["spec"].get("selector")
        if wanted and any(all(labels.get(key) == value for key, value in wanted.items()) for labels in seen):
            yield meta.key(service)


class EndpointSliceController(Base):
    name = "endpointslice-controller"
    component = "endpoint-slice-controller"
    watches = (
        own(SERVICES),
        Watch(PODS, services_of_pod),
        Watch(ENDPOINT_SLICES, _slice_keys, {"service": _service_of_slice}),
        Watch(NODES, no_keys),
    )

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        service = caches[SERVICES].get(key)
        # What a Service that is gone leaves behind is garbage, and collected as such.
        if service is None or not service["spec"].get("selector") or service["spec"].get("type") == "ExternalName":
            return None
        selector = selectors.from_labels(service["spec"]["selector"])
        pods = tuple(pod for pod in caches[PODS].in_namespace(meta.namespace(service)) if selector.matches(meta.labels(pod)))
        names = {pod["spec"].get("nodeName") for pod in pods}
        nodes = {name: node for name in names if name and (node := caches[NODES].get(name)) is not None}
        return World(service, pods, nodes, tuple(caches[ENDPOINT_SLICES].by("service", key)))

    @staticmethod
    def reconcile(world: World) -> Plan:
        service = world.service
        families = _families(service)
        changes = Changes(delete=[each for each in world.slices if each["addressType"] not in families])
        missing: list[str] = []
        wanted: list[Obj] = []
        for family in families:
            present = [each for each in world.slices if each["addressType"] == family]
            groups = _groups(world, family, missing)
            wanted += [each for group in groups.values() for each in group.endpoints]
            changes.extend(spread(service, family, present, groups))
        written = [each for slice_ in world.slices for each in slice_.get("endpoints") or ()]
        told = _readiness(written) if world.slices else None
        writes = _writes(service, changes, trigger(service, world.pods, told, _readiness(wanted)))
        if not writes and not missing:
            return NOTHING
        return Plan(tuple(writes), retry="; ".join(missing))


def _families(service: Obj) -> list[str]:
    listed: list[str] = service["spec"].get("ipFamilies") or []
    if listed:
        return listed
    address = service["spec"].get("clusterIP")
    if address and address != "None":
        return ["IPv6" if ":" in address else "IPv4"]
    return ["IPv4", "IPv6"]


def _groups(world: World, family: str, missing: list[str]) -> dict[tuple[object, ...], Group]:
    service = world.service
    groups: dict[tuple[object, ...], Group] = {}
    for pod in world.pods:
        if not belongs(pod):
            continue
        node_name = pod["spec"].get("nodeName", "")
        listed = ports(service, pod)
        group = groups.setdefault(port_key(listed), Group(listed))
        node = world.nodes.get(node_name)
        if node is None and not service["spec"].get("publishNotReadyAddresses"):
            told = f"skipping Pod {meta.name(pod)} for Service {meta.key(service)}: Node {node_name} Not Found"
            if told not in missing:
                missing.append(told)
            continue
        made = endpoint(pod, node, service, family)
        if made["addresses"]:
            group.endpoints.append(made)
    return groups


def _readiness(endpoints: list[Obj]) -> dict[str, bool]:
    return {uid: bool(get(each, ("conditions", "serving"))) for each in endpoints if (uid := get(each, ("targetRef", "uid")))}


def _writes(service: Obj, changes: Changes, at: str) -> list[Write]:
    writes: list[Write] = []
    if not meta.is_deleting(service):
        writes += [Create(ENDPOINT_SLICES, stamped(each, at), tolerate=NAMESPACE_TERMINATING) for each in changes.create]
    writes += [Update(ENDPOINT_SLICES, stamped(each, at)) for each in changes.update]
    writes += [Delete(ENDPOINT_SLICES, each) for each in changes.delete]
    return writes
