"""Which pods a Service selects, all in one Endpoints object of the same name."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api import ip
from tiphys.api.core.endpoints import ENDPOINTS
from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.services import SERVICES
from tiphys.controllers.controller import Base, Caches, Watch, own
from tiphys.controllers.endpoints.subsets import repack, truncated
from tiphys.controllers.endpointslice.controller import services_of_pod
from tiphys.controllers.endpointslice.endpoints import belongs, port_number
from tiphys.controllers.endpointslice.slices import HEADLESS
from tiphys.controllers.endpointslice.trigger import TRIGGER, trigger
from tiphys.controllers.plan import NAMESPACE_TERMINATING, NOTHING, Create, Delete, Note, Plan, Update
from tiphys.machinery import meta, selectors
from tiphys.machinery.tree import Obj, get

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
MANAGER = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
LEADER = "control-plane.alpha.kubernetes.io/leader"
"""Such Endpoints are somebody's lock, not a Service's."""


@dataclass(frozen=True, slots=True)
class World:
    service: Obj | None
    pods: tuple[Obj, ...]
    present: Obj | None


def _if_missed(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    """Ours that went, and those of ours that may have outlived their Service."""
    if new is None and old is not None:
        return (meta.key(old),)
    if old is None and new is not None and meta.labels(new).get(MANAGED_BY) == MANAGER:
        return (meta.key(new),)
    return ()


class EndpointsController(Base):
    name = "endpoints-controller"
    component = MANAGER
    watches = (own(SERVICES), Watch(PODS, services_of_pod), Watch(ENDPOINTS, _if_missed))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        service, present = caches[SERVICES].get(key), caches[ENDPOINTS].get(key)
        selector = service["spec"].get("selector") if service is not None else None
        if service is None or not selector:
            return World(service, (), present)
        wanted = selectors.from_labels(selector)
        pods = (pod for pod in caches[PODS].in_namespace(meta.namespace(service)) if wanted.matches(meta.labels(pod)))
        return World(service, tuple(pods), present)

    @staticmethod
    def reconcile(world: World) -> Plan:
        service, present = world.service, world.present
        if service is None:
            left_over = present is not None and LEADER not in meta.annotations(present)
            return Plan((Delete(ENDPOINTS, present),)) if left_over and present is not None else NOTHING
        if service["spec"].get("type") == "ExternalName" or not service["spec"].get("selector"):
            return NOTHING
        whole = repack(subset for pod in world.pods for subset in _subsets(service, pod))
        if present is not None and _is_right(present, whole, service):
            return NOTHING
        made = _made(world, service, whole)
        name = meta.key(service)
        if present is None:
            told = Note(made, "FailedToCreateEndpoint", f"Failed to create endpoint for service {name}: {{error}}", "Warning")
            return Plan((Create(ENDPOINTS, made, tolerate=NAMESPACE_TERMINATING, failed=told),))
        told = Note(made, "FailedToUpdateEndpoint", f"Failed to update endpoint {name}: {{error}}", "Warning")
        return Plan((Update(ENDPOINTS, made, failed=told),))


def _subsets(service: Obj, pod: Obj) -> Iterable[Obj]:
    """One for each port: canonical form comes later."""
    spec = service["spec"]
    publish = bool(spec.get("publishNotReadyAddresses"))
    if not belongs(pod) or (meta.is_deleting(pod) and not publish):
        return
    address = _address(service, pod)
    if address is None:
        return
    part = "addresses" if publish or facts.is_ready(pod) else "notReadyAddresses"
    listed = spec.get("ports") or ()
    if not listed and spec.get("clusterIP") == "None":
        yield {part: [address]}
    for each in listed:
        number = port_number(pod, each)
        if number is None:
            continue
        port = {"name": each.get("name", ""), "port": number, "protocol": each.get("protocol", "TCP")}
        if each.get("appProtocol") is not None:
            port["appProtocol"] = each["appProtocol"]
        yield {part: [address], "ports": [port]}


def _address(service: Obj, pod: Obj) -> Obj | None:
    wanted = _family(service, pod)
    found = next((each["ip"] for each in get(pod, ("status", "podIPs")) or () if ip.family(each["ip"]) == wanted), None)
    parsed = ip.parse(found) if found is not None else None
    if parsed is None:
        return None
    reference = {"kind": "Pod", "namespace": meta.namespace(pod), "name": meta.name(pod), "uid": meta.uid(pod)}
    made: Obj = {"ip": ip.canonical(parsed)}
    hostname = pod["spec"].get("hostname")
    if hostname and pod["spec"].get("subdomain") == meta.name(service):
        made["hostname"] = hostname
    return {**made, "nodeName": pod["spec"].get("nodeName", ""), "targetRef": reference}


def _family(service: Obj, pod: Obj) -> str | None:
    spec = service["spec"]
    if spec.get("ipFamilies"):
        return str(spec["ipFamilies"][0])
    address = spec.get("clusterIP")
    return ip.family(address) if address and address != "None" else ip.family(get(pod, ("status", "podIP")) or "")


def _is_right(present: Obj, whole: list[Obj], service: Obj) -> bool:
    """One that holds fewer than there are is never right: which ones it holds would have to be compared."""
    if OVER_CAPACITY in meta.annotations(present) or truncated(whole) is not whole:
        return truncated(whole) is not whole and _told(present) == truncated(whole) and _labels_right(present, service)
    return repack(present.get("subsets") or ()) == whole and _labels_right(present, service)


def _readiness(subsets: list[Obj]) -> dict[str, bool]:
    parts = (("notReadyAddresses", False), ("addresses", True))
    return {
        uid: is_ready
        for part, is_ready in parts
        for subset in subsets
        for each in subset.get(part) or ()
        if (uid := get(each, ("targetRef", "uid")))
    }


def _told(present: Obj) -> list[Obj]:
    told: list[Obj] = present.get("subsets") or []
    return told


def _labels_right(present: Obj, service: Obj) -> bool:
    found = meta.labels(present)
    return found.get(MANAGED_BY) == MANAGER and _without_ours(found) == _without_ours(meta.labels(service))


def _without_ours(labels: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in (MANAGED_BY, HEADLESS)}


def _made(world: World, service: Obj, whole: list[Obj]) -> Obj:
    present = world.present
    base = present or {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": meta.name(service), "namespace": meta.namespace(service)},
    }
    labels = {key: value for key, value in meta.labels(service).items() if key != HEADLESS}
    if service["spec"].get("clusterIP") in (None, "", "None"):
        labels[HEADLESS] = ""
    labels[MANAGED_BY] = MANAGER
    kept = {key: value for key, value in meta.annotations(base).items() if key not in (TRIGGER, OVER_CAPACITY)}
    at = trigger(service, world.pods, _readiness(_told(present)) if present is not None else None, _readiness(whole))
    if at:
        kept[TRIGGER] = at
    held = truncated(whole)
    if held is not whole:
        kept[OVER_CAPACITY] = "truncated"
    metadata = {**base["metadata"], "labels": labels}
    metadata.pop("annotations", None)
    if kept:
        metadata["annotations"] = kept
    return {**base, "metadata": metadata, "subsets": held}
