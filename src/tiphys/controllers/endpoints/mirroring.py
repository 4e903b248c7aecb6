"""Endpoints that somebody else writes, for Services without a selector, told as EndpointSlices: proxies read only these."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tiphys.api import ip
from tiphys.api.core.endpoints import ENDPOINTS
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.controllers.controller import Base, Caches, Watch, own
from tiphys.controllers.endpoints.controller import LEADER
from tiphys.controllers.endpoints.subsets import MOST, repack
from tiphys.controllers.endpointslice.endpoints import identity, port_key
from tiphys.controllers.endpointslice.slices import MANAGED_BY, SERVICE_NAME
from tiphys.controllers.endpointslice.trigger import TRIGGER
from tiphys.controllers.plan import NAMESPACE_TERMINATING, Create, Delete, Emit, Note, Plan, Update, Write
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

MANAGER = "endpointslicemirroring-controller.k8s.io"
SKIP = "endpointslice.kubernetes.io/skip-mirror"
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Group = tuple[str, tuple[Any, ...]]
"""Family and ports: what is in one slice."""


@dataclass(frozen=True, slots=True)
class World:
    endpoints: Obj | None
    service: Obj | None
    slices: tuple[Obj, ...]


@dataclass(slots=True)
class _Wanted:
    ports: list[Obj]
    endpoints: list[Obj] = field(default_factory=list)


def mirrored_of(obj: Obj) -> Iterable[str]:
    found = meta.labels(obj)
    name = found.get(SERVICE_NAME)
    return (f"{meta.namespace(obj)}/{name}",) if name and found.get(MANAGED_BY) == MANAGER else ()


def _slice_keys(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    return {key for each in (old, new) if each is not None for key in mirrored_of(each)}


class EndpointSliceMirroring(Base):
    name = "endpointslice-mirroring-controller"
    component = "endpoint-slice-mirroring-controller"
    watches = (own(ENDPOINTS), own(SERVICES), Watch(ENDPOINT_SLICES, _slice_keys, {"mirrored": mirrored_of}))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        slices = tuple(caches[ENDPOINT_SLICES].by("mirrored", key))
        endpoints = caches[ENDPOINTS].get(key)
        return World(endpoints, caches[SERVICES].get(key), slices) if slices or endpoints is not None else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        endpoints, service = world.endpoints, world.service
        if endpoints is None or service is None or service["spec"].get("selector") or not _is_told(endpoints):
            return Plan(tuple(Delete(ENDPOINT_SLICES, each) for each in world.slices))
        wanted, notes = _groups(endpoints)
        create: list[Obj] = []
        update: list[Obj] = []
        delete: list[Obj] = []
        present: dict[Group, list[Obj]] = {}
        for each in world.slices:
            present.setdefault((each["addressType"], port_key(each.get("ports"))), []).append(each)
        for group, content in wanted.items():
            held = present.pop(group, [])
            delete += held[1:]
            made = _slice(endpoints, group[0], content, held[0] if held else None)
            if not held:
                create.append(made)
            elif not _same(made, held[0]):
                update.append(made)
        delete += [each for held in present.values() for each in held]
        _recycle(create, update, delete)
        if not (create or update or delete):
            return Plan()
        writes: list[Write] = [Emit(each) for each in notes]
        if not meta.is_deleting(endpoints):
            writes += [Create(ENDPOINT_SLICES, each, tolerate=NAMESPACE_TERMINATING) for each in create]
        writes += [Update(ENDPOINT_SLICES, each) for each in update]
        return Plan((*writes, *(Delete(ENDPOINT_SLICES, each) for each in delete)))


def _is_told(endpoints: Obj) -> bool:
    return meta.labels(endpoints).get(SKIP) != "true" and LEADER not in meta.annotations(endpoints)


def _groups(endpoints: Obj) -> tuple[dict[Group, _Wanted], list[Note]]:
    wanted: dict[Group, _Wanted] = {}
    invalid = skipped = 0
    for subset in repack(endpoints.get("subsets") or ()):
        ports = [_port(each) for each in subset.get("ports") or ()]
        for family in ("IPv4", "IPv6"):
            wanted.setdefault((family, port_key(ports)), _Wanted(ports))
        listed = [
            (each, ready)
            for part, ready in (("addresses", True), ("notReadyAddresses", False))
            for each in subset.get(part, ())
        ]
        added = 0
        for address, ready in listed:
            made = _endpoint(address, ready) if added < MOST else None
            if made is not None:
                wanted[made[0], port_key(ports)].endpoints.append(made[1])
                added += 1
            elif added < MOST:
                invalid += 1
        skipped += len(listed) - added
    notes = []
    if invalid:
        told = f"Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices"
        notes.append(Note(endpoints, "InvalidIPAddress", told, "Warning"))
    if skipped > invalid:
        told = f"A max of {MOST} addresses can be mirrored to EndpointSlices per Endpoints subset. "
        told += f"{skipped} addresses were skipped"
        notes.append(Note(endpoints, "TooManyAddressesToMirror", told, "Warning"))
    return {group: content for group, content in wanted.items() if content.endpoints}, notes


def _port(port: Obj) -> Obj:
    made = {"name": port.get("name", ""), "port": port["port"], "protocol": port.get("protocol", "TCP")}
    return {**made, "appProtocol": port["appProtocol"]} if port.get("appProtocol") is not None else made


def _endpoint(address: Obj, ready: bool) -> tuple[str, Obj] | None:
    parsed = ip.parse(address["ip"])
    if parsed is None:
        return None
    text = ip.canonical(parsed)
    made: Obj = {"addresses": [text], "conditions": {"ready": ready}}
    made |= {key: address[key] for key in ("targetRef", "nodeName") if address.get(key) is not None}
    if address.get("hostname"):
        made["hostname"] = address["hostname"]
    return ("IPv6" if ":" in text else "IPv4"), made


def _slice(endpoints: Obj, family: str, content: _Wanted, held: Obj | None) -> Obj:
    owner = meta.owner_reference({**endpoints, "apiVersion": "v1", "kind": "Endpoints"})
    metadata: Obj = {
        "namespace": meta.namespace(endpoints),
        "labels": {**meta.labels(endpoints), SERVICE_NAME: meta.name(endpoints), MANAGED_BY: MANAGER},
        "ownerReferences": [owner],
    }
    annotations = {key: value for key, value in meta.annotations(endpoints).items() if key not in (TRIGGER, _APPLIED)}
    if annotations:
        metadata["annotations"] = annotations
    if held is None:
        metadata["generateName"] = f"{meta.name(endpoints)}-"
    made = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": family,
        "ports": content.ports,
        "endpoints": content.endpoints,
    }
    return made if held is None else _in_place_of(held, made)


def _in_place_of(held: Obj, made: Obj) -> Obj:
    kept = {key: value for key, value in held["metadata"].items() if key not in ("labels", "annotations", "ownerReferences")}
    new = {key: value for key, value in made["metadata"].items() if key != "generateName"}
    return {**made, "metadata": {**kept, **new}}


def _same(made: Obj, held: Obj) -> bool:
    one, other = made["metadata"], held["metadata"]
    if any((one.get(part) or {}) != (other.get(part) or {}) for part in ("labels", "annotations")):
        return False
    if [each["uid"] for each in one["ownerReferences"]] != [each["uid"] for each in other.get("ownerReferences") or ()]:
        return False
    return _by_identity(made) == _by_identity(held)


def _by_identity(each: Obj) -> dict[Any, Any]:
    return {identity(endpoint): (endpoint.get("conditions") or {}).get("ready") for endpoint in each.get("endpoints") or ()}


def _recycle(create: list[Obj], update: list[Obj], delete: list[Obj]) -> None:
    """Rather than deleting one slice and creating another, change the one into the other."""
    for made in list(create):
        spare = next((each for each in delete if each["addressType"] == made["addressType"]), None)
        if spare is not None:
            delete.remove(spare)
            create.remove(made)
            update.append(_in_place_of(spare, made))
