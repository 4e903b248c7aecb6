"""How endpoints are spread over slices, with as few writes as can be: what is right stays where it is."""

from dataclasses import dataclass, field

from tiphys.api.core.services import SERVICES
from tiphys.controllers.endpointslice.endpoints import identity, port_key
from tiphys.controllers.pods import reference_to
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, put

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
MANAGER = "endpointslice-controller.k8s.io"
MOST = 100
_RESERVED = frozenset((SERVICE_NAME, MANAGED_BY, HEADLESS))


@dataclass(slots=True)
class Changes:
    create: list[Obj] = field(default_factory=list)
    update: list[Obj] = field(default_factory=list)
    delete: list[Obj] = field(default_factory=list)

    def extend(self, other: "Changes") -> None:
        self.create += other.create
        self.update += other.update
        self.delete += other.delete


@dataclass(slots=True)
class Group:
    """Endpoints with the same ports."""

    ports: list[Obj]
    endpoints: list[Obj] = field(default_factory=list)


def labels_of(service: Obj) -> dict[str, str]:
    found = {key: value for key, value in meta.labels(service).items() if key not in _RESERVED}
    if service["spec"].get("clusterIP") in (None, "", "None"):
        found[HEADLESS] = ""
    found[SERVICE_NAME] = meta.name(service)
    found[MANAGED_BY] = MANAGER
    return found


def labels_differ(present: Obj, service: Obj) -> bool:
    """Reserved labels alone are no reason to write."""
    mine = {key: value for key, value in meta.labels(present).items() if key not in _RESERVED}
    return mine != {key: value for key, value in meta.labels(service).items() if key not in _RESERVED}


def new_slice(service: Obj, family: str, ports: list[Obj], endpoints: list[Obj]) -> Obj:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{meta.name(service)}-",
            "namespace": meta.namespace(service),
            "labels": labels_of(service),
            "ownerReferences": [reference_to(SERVICES, service)],
        },
        "addressType": family,
        "endpoints": endpoints,
        "ports": ports,
    }


def is_owned(present: Obj, service: Obj) -> bool:
    return any(
        each.get("uid") == meta.uid(service) and each.get("kind") == "Service" and each.get("apiVersion") == "v1"
        for each in meta.owners(present)
    )


def spread(service: Obj, family: str, present: list[Obj], groups: dict[tuple[object, ...], Group]) -> Changes:
    """`present` are the slices of this family."""
    changes = Changes(delete=[each for each in present if not is_owned(each, service)])
    by_ports: dict[tuple[object, ...], list[Obj]] = {}
    for each in present:
        if is_owned(each, service):
            by_ports.setdefault(port_key(each.get("ports")), []).append(each)
    for key, group in groups.items():
        changes.extend(_fill(service, family, by_ports.pop(key, []), group))
    for unused in by_ports.values():
        changes.delete += unused
    if len(present) == len(changes.delete) and not changes.create:
        _leave_one(service, family, changes)
    _reuse(service, changes)
    return changes


def _fill(service: Obj, family: str, present: list[Obj], group: Group) -> Changes:
    changes = Changes()
    wanted = {identity(each): each for each in group.endpoints}
    unchanged: list[Obj] = []
    for each in present:
        before: list[Obj] = each.get("endpoints") or []
        kept = [found for old in before if (found := wanted.pop(identity(old), None)) is not None]
        if kept == before:
            if labels_differ(each, service):
                changes.update.append(put(each, ("metadata", "labels"), labels_of(service)))
            else:
                unchanged.append(each)
        elif kept:
            changes.update.append(put({**each, "endpoints": kept}, ("metadata", "labels"), labels_of(service)))
        else:
            changes.delete.append(each)
    rest = list(wanted.values())
    _top_up(changes.update, rest)
    while rest:
        _place(service, family, group, rest, unchanged, changes)
    return changes


def _top_up(slices: list[Obj], rest: list[Obj]) -> None:
    """Slices that are written anyway take what they can, the fullest first."""
    for position in sorted(range(len(slices)), key=lambda at: -len(slices[at].get("endpoints") or ())):
        held: list[Obj] = slices[position].get("endpoints") or []
        room = MOST - len(held)
        if rest and room > 0:
            slices[position] = {**slices[position], "endpoints": [*held, *rest[:room]]}
            del rest[:room]


def _place(service: Obj, family: str, group: Group, rest: list[Obj], unchanged: list[Obj], changes: Changes) -> None:
    """The rest goes into the one slice that it fills best, or into a new one."""
    fitting = [each for each in unchanged if len(each.get("endpoints") or ()) + len(rest) <= MOST] if len(rest) < MOST else []
    # One that would be left empty-ended by nearly everything is no better than a new one.
    best = max(fitting, key=lambda each: len(each.get("endpoints") or ()), default=None)
    if best is not None and not best.get("endpoints") and not rest:
        best = None
    if best is None:
        changes.create.append(new_slice(service, family, group.ports, rest[:MOST]))
        del rest[:MOST]
        return
    unchanged.remove(best)
    changes.update.append(
        put({**best, "endpoints": [*(best.get("endpoints") or ()), *rest]}, ("metadata", "labels"), labels_of(service))
    )
    rest.clear()


def _leave_one(service: Obj, family: str, changes: Changes) -> None:
    """A Service without endpoints has an empty slice, so that readers can tell it from one that nobody has looked at."""
    placeholder = new_slice(service, family, [], [])
    if len(changes.delete) == 1:
        there = changes.delete[0]
        if (
            not there.get("endpoints")
            and not there.get("ports")
            and meta.labels(there) == labels_of(service)
            and is_owned(there, service)
        ):
            changes.delete.clear()
            return
    changes.create.append(placeholder)


def _reuse(service: Obj, changes: Changes) -> None:
    """A slice to be deleted becomes the one to be created: one write instead of two."""
    for there in list(changes.delete):
        if not changes.create:
            return
        if is_owned(there, service):
            made = changes.create.pop()
            metadata = {key: value for key, value in made["metadata"].items() if key != "generateName"}
            merged = {**there["metadata"], **metadata}
            changes.update.append({**made, "metadata": merged})
            changes.delete.remove(there)
