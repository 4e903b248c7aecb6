"""Endpoints that a node publishes about itself (its DNS server) are ready as long as it is heard of, and go when it goes.

What pods serve follows from the readiness of pods; what the node's own process serves, nobody else could tell.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.core.nodes import NODES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES, PUBLISHED_BY_NODES
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, Watch, own_key
from tiphys.controllers.endpointslice.slices import MANAGED_BY
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Patch, Plan
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get


@dataclass(frozen=True, slots=True)
class World:
    slice: Obj
    node: Obj | None


def _is_ours(obj: Obj) -> bool:
    return meta.labels(obj).get(MANAGED_BY) == PUBLISHED_BY_NODES


def _of_node(obj: Obj) -> Iterable[str]:
    name = _node(obj)
    return (name,) if _is_ours(obj) and name else ()


def _node(obj: Obj) -> str:
    return next((each.get("nodeName", "") for each in obj.get("endpoints") or ()), "")


def _slices_of(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    if (old is None) == (new is None) and _is_lost(old) == _is_lost(new):
        return ()
    return [meta.key(each) for each in caches[ENDPOINT_SLICES].by("published-by", meta.name(new or old or {}))]


def _is_lost(node: Obj | None) -> bool:
    ready = conditions.find(get(node, ("status", "conditions")), "Ready")
    return ready is not None and ready.get("status") == "Unknown"


class NodeEndpointsController(Base):
    name = "node-endpoints-controller"
    component = "node-endpoints-controller"
    watches = (Watch(ENDPOINT_SLICES, own_key, {"published-by": _of_node}), Watch(NODES, _slices_of))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        found = caches[ENDPOINT_SLICES].get(key)
        if found is None or not _is_ours(found) or meta.is_deleting(found):
            return None
        return World(found, caches[NODES].get(_node(found)))

    @staticmethod
    def reconcile(world: World) -> Plan:
        """A node that is not there (yet) is nobody to belong to: its endpoints are left as they are."""
        if world.node is None:
            return NOTHING
        owner = {"apiVersion": "v1", "kind": "Node", "name": meta.name(world.node), "uid": meta.uid(world.node)}
        ready = not _is_lost(world.node)
        endpoints = [
            {**each, "conditions": {**(each.get("conditions") or {}), "ready": ready, "serving": ready}}
            for each in world.slice["endpoints"]
        ]
        owners = world.slice["metadata"].get("ownerReferences")
        if owners == [owner] and endpoints == world.slice["endpoints"]:
            return NOTHING
        condition = {"resourceVersion": meta.resource_version(world.slice)}
        change = {"metadata": {**condition, "ownerReferences": [owner]}, "endpoints": endpoints}
        return Plan((Patch(ENDPOINT_SLICES, world.slice, change, tolerate=NOT_FOUND),))
