"""Service CIDRs: a range of Service addresses stays as long as some Service has an address that no other range covers."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api import ip
from tiphys.api.ip import Address, Network
from tiphys.api.networking.ipaddresses import IP_ADDRESSES
from tiphys.api.networking.servicecidrs import SERVICE_CIDRS
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, Watch
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Patch, Plan, Write
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj, get

FINALIZER = "networking.k8s.io/service-cidr-finalizer"
GRACE = 10.0
"""Seconds until a range that is free may go: whoever hands out addresses must have heard that it is leaving."""
_MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
_MANAGER = "ipallocator.k8s.io"
_READY = ("True", "", "Kubernetes Service CIDR is ready")
_IN_USE = (
    "False",
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
)


@dataclass(frozen=True, slots=True)
class World:
    cidr: Obj
    others: tuple[Obj, ...]
    addresses: tuple[Address, ...]
    """Those that Services have; empty unless the range is to go."""
    now: float


def networks(cidr: Obj) -> list[Network]:
    found = [ip.parse_cidr(each) for each in get(cidr, ("spec", "cidrs")) or ()]
    return [each.network for each in found if each is not None]


def _overlapping(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """A range concerns itself and those that share addresses with it."""
    obj = new if new is not None else old
    assert obj is not None
    mine = networks(obj)
    yield meta.name(obj)
    for other in caches[SERVICE_CIDRS]:
        if any(one.version == each.version and one.overlaps(each) for one in mine for each in networks(other)):
            yield meta.name(other)


def _containing(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """An address that is given back may have been what a range waits for."""
    obj = new if new is not None else old
    if obj is None or meta.labels(obj).get(_MANAGED_BY) != _MANAGER or (old is not None and new is not None):
        return
    address = ip.parse(meta.name(obj))
    for cidr in caches[SERVICE_CIDRS]:
        if address is not None and any(address in each for each in networks(cidr)):
            yield meta.name(cidr)


class ServiceCidrController(Base):
    name = "service-cidr-controller"
    component = "service-cidr-controller"
    watches = (Watch(SERVICE_CIDRS, _overlapping), Watch(IP_ADDRESSES, _containing))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        cidr = caches[SERVICE_CIDRS].get(key)
        if cidr is None:
            return None
        others = tuple(each for each in caches[SERVICE_CIDRS] if meta.name(each) != key)
        addresses: tuple[Address, ...] = ()
        if meta.is_deleting(cidr):
            ours = (each for each in caches[IP_ADDRESSES] if meta.labels(each).get(_MANAGED_BY) == _MANAGER)
            addresses = tuple(address for each in ours if (address := ip.parse(meta.name(each))) is not None)
        return World(cidr, others, addresses, now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        cidr, finalizers = world.cidr, list(get(world.cidr, ("metadata", "finalizers")) or ())
        if not meta.is_deleting(cidr):
            writes: list[Write] = []
            if FINALIZER not in finalizers:
                writes.append(_finalizers(cidr, [*finalizers, FINALIZER]))
            return Plan((*writes, *_told(world, _READY)))
        if not may_go(world):
            return Plan(tuple(_told(world, _IN_USE)))
        left = times.parse(cidr["metadata"]["deletionTimestamp"]) + GRACE - world.now
        if left > 0:
            return Plan(again_in=left)
        if FINALIZER not in finalizers:
            return NOTHING
        return Plan((_finalizers(cidr, [each for each in finalizers if each != FINALIZER]),))


def may_go(world: World) -> bool:
    """Whether every address in it has another range around it."""
    mine = networks(world.cidr)
    other = [network for each in world.others for network in networks(each)]
    if all(any(one.version == each.version and one.subnet_of(each) for each in other) for one in mine):  # type: ignore[arg-type]
        return True
    return not any(
        any(address in one for one in mine) and not any(address in each for each in other) for address in world.addresses
    )


def _finalizers(cidr: Obj, wanted: list[str]) -> Write:
    metadata = {"resourceVersion": meta.resource_version(cidr), "finalizers": wanted}
    return Patch(SERVICE_CIDRS, cidr, {"metadata": metadata}, tolerate=NOT_FOUND)


def _told(world: World, wanted: tuple[str, str, str]) -> list[Write]:
    held = conditions.find(get(world.cidr, ("status", "conditions")), "Ready") or {}
    if (held.get("status"), held.get("reason", ""), held.get("message")) == wanted:
        return []
    status = {"conditions": [conditions.condition("Ready", *wanted, world.now)]}
    applied = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": meta.name(world.cidr)}}
    patch = {**applied, "status": status}
    manager = "service-cidr-controller"
    return [Patch(SERVICE_CIDRS, world.cidr, patch, "apply", "status", manager, tolerate=NOT_FOUND)]
