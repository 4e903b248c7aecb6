"""The pools of devices that a node can have something of: the slices of the latest generation of each.

upstream staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import is_

from tiphys.api.node_selector import node_terms
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.capacity import exact
from tiphys.scheduler.devices.device import Counter, Device
from tiphys.scheduler.plugins.node_affinity import term_matches

PoolId = tuple[str, str]
"""Driver and name."""


@dataclass(slots=True, eq=False)
class Slice:
    tree: Obj
    spec: Obj
    pool: PoolId
    devices: list[Device]

    @property
    def generation(self) -> int:
        found: int = self.spec["pool"].get("generation") or 0
        return found

    @property
    def node(self) -> str:
        """Of one whose devices only that node can have. Counters matter wherever the devices are that draw on them."""
        return "" if self.spec.get("sharedCounters") else self.spec.get("nodeName") or ""

    def concerns(self, node: Obj) -> bool:
        if self.spec.get("sharedCounters"):
            return True
        if self.spec.get("perDeviceNodeSelection"):
            return any(is_there(each.tree, node) for each in self.devices)
        return is_there(self.spec, node)


@dataclass(slots=True)
class Pool:
    id: PoolId
    devices: list[Device] = field(default_factory=list)
    """In slices that the node has something of."""
    incomplete: bool = False
    invalid: bool = False
    counters: dict[Counter, int] = field(default_factory=dict)
    """In billionths, as long as no device is in use."""
    elsewhere: list[Device] = field(default_factory=list)
    """Other nodes have them; they draw on the same counters."""


class Slices:
    """Pools are put together once per node, and again when slices change that matter there: for what has changed since
    `refresh` nobody looks."""

    def __init__(self, listed: Mapping[str, Obj]) -> None:
        """`listed`: by name, kept up to date by somebody else."""
        self._listed = listed
        self._seen: list[Obj] = []
        self._slices: dict[str, Slice] = {}
        self._of_node: dict[str, list[Slice]] = {}
        self._of_pool: dict[PoolId, list[Slice]] = {}
        self._ready: dict[str, tuple[Obj, list[Pool]]] = {}

    def all(self) -> Iterable[Slice]:
        return self._slices.values()

    def pools(self, node: Obj) -> list[Pool]:
        """Those that wait for conditions come last."""
        name = node["metadata"]["name"]
        known = self._ready.get(name)
        if known is None or known[0] is not node:
            known = self._ready[name] = node, self._pools(node)
        return known[1]

    def refresh(self) -> None:
        now = list(self._listed.values())
        if len(now) == len(self._seen) and all(map(is_, now, self._seen)):
            return
        before, self._seen = self._slices, now
        self._slices = {}
        for tree in now:
            name = tree["metadata"]["name"]
            known = before.get(name)
            self._slices[name] = known if known is not None and known.tree is tree else _slice(tree)
        changed = {*before.values()} ^ {*self._slices.values()}
        touched = {each.pool for each in changed}
        concerned = {each for pool in touched for each in self._of_pool.get(pool, ())} | changed
        self._of_node, self._of_pool = {}, {}
        for each in self._slices.values():
            self._of_node.setdefault(each.node, []).append(each)
            self._of_pool.setdefault(each.pool, []).append(each)
        nodes = {each.node for each in concerned}
        if "" in nodes:
            self._ready.clear()
        for name in nodes:
            self._ready.pop(name, None)

    def _pools(self, node: Obj) -> list[Pool]:
        found: dict[PoolId, list[Slice]] = {}
        for each in (*self._of_node.get(node["metadata"]["name"], ()), *self._of_node.get("", ())):
            if not each.concerns(node):
                continue
            others = found.setdefault(each.pool, [])
            if others and each.generation > others[0].generation:
                others.clear()
            if not others or each.generation == others[0].generation:
                others.append(each)
        made = [pool for id_ in sorted(found) if (pool := self._pool(id_, found[id_])) is not None]
        return sorted(made, key=lambda pool: any(each.tree.get("bindingConditions") for each in pool.devices))

    def _pool(self, pool: PoolId, here: list[Slice]) -> Pool | None:
        wanted, every = here[0].spec["pool"]["resourceSliceCount"], here
        if len(here) != wanted:
            generation = here[0].generation
            if any(each.generation > generation for each in self._of_pool[pool]):
                return None  # its driver is about to replace it, and nothing of that is for this node
            every = [each for each in self._of_pool[pool] if each.generation == generation]
            if len(every) != wanted:
                return Pool(pool, incomplete=True)
        return _complete(pool, here, [each for each in every if each not in here])


def _slice(tree: Obj) -> Slice:
    spec = tree["spec"]
    pool = spec["driver"], spec["pool"]["name"]
    return Slice(tree, spec, pool, [Device(*pool, each, spec) for each in spec.get("devices") or ()])


def _complete(pool: PoolId, here: list[Slice], others: list[Slice]) -> Pool:
    here = sorted(here, key=lambda each: str(each.tree["metadata"]["name"]))
    devices = [device for each in here for device in each.devices]
    elsewhere = [device for each in others for device in each.devices]
    sets = [each for one in here for each in one.spec.get("sharedCounters") or ()]
    counters = {
        (each["name"], name): exact(counter["value"]) for each in sets for name, counter in (each.get("counters") or {}).items()
    }
    valid = len({each.id for each in devices}) == len(devices) and len({each["name"] for each in sets}) == len(sets)
    if not valid or any(not counters.keys() >= each.consumes.keys() for each in (*devices, *elsewhere)):
        return Pool(pool, invalid=True)
    return Pool(pool, devices, counters=counters, elsewhere=elsewhere)


def is_there(place: Obj, node: Obj) -> bool:
    """`place` is a slice's spec, or a device."""
    name = node["metadata"]["name"]
    if place.get("nodeName"):
        return bool(place["nodeName"] == name)
    if place.get("allNodes"):
        return True
    selector = place.get("nodeSelector")
    labels = node["metadata"].get("labels") or {}
    return selector is not None and any(term_matches(each, name, labels) for each in node_terms(selector))
