"""The devices that a node can have, by pools: the slices of the latest generation of each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tiphys.api.node_selector import node_terms
from tiphys.machinery import quantity
from tiphys.machinery.cel import functions
from tiphys.machinery.tree import Obj
from tiphys.scheduler.plugins.node_affinity import term_matches

DeviceId = tuple[str, str, str]
"""Driver, pool and name."""


@dataclass(slots=True, weakref_slot=True)
class Device:
    driver: str
    pool: str
    tree: Obj
    slice: Obj
    """Its spec."""

    @property
    def id(self) -> DeviceId:
        return self.driver, self.pool, self.tree["name"]

    def place(self) -> Obj:
        """Where it says on which nodes it is."""
        return self.tree if self.slice.get("perDeviceNodeSelection") else self.slice

    def attribute(self, name: str) -> Any:
        """By its full name; None if it has none. A driver need not spell out its own domain."""
        attributes: Obj = self.tree.get("attributes") or {}
        domain, _, rest = name.partition("/")
        found = attributes.get(name) or (attributes.get(rest) if domain == self.driver else None)
        return None if found is None else next(iter(found.items()))


@dataclass(slots=True)
class Pool:
    name: tuple[str, str]
    devices: list[Device] = field(default_factory=list)
    incomplete: bool = False
    invalid: bool = False


class Expressible:
    """A device as expressions see it."""

    def __init__(self, device: Device) -> None:
        self._device = device

    @cached_property
    def variables(self) -> dict[str, Any]:
        tree, driver = self._device.tree, self._device.driver
        attributes = {name: _value(each) for name, each in (tree.get("attributes") or {}).items()}
        capacity = {name: quantity.parse(each["value"]) for name, each in (tree.get("capacity") or {}).items()}
        return {
            "device": {
                "driver": driver,
                "allowMultipleAllocations": bool(tree.get("allowMultipleAllocations")),
                "attributes": _ByDomain(attributes, driver),
                "capacity": _ByDomain(capacity, driver),
            }
        }


class _ByDomain(dict[str, dict[str, Any]]):
    """Names without a domain are in the driver's; a domain that nobody uses is empty."""

    def __init__(self, flat: dict[str, Any], driver: str) -> None:
        super().__init__()
        for name, value in flat.items():
            domain, slash, rest = name.rpartition("/")
            self.setdefault(domain if slash else driver, {})[rest] = value

    def __missing__(self, _: str) -> dict[str, Any]:
        return {}


def _value(attribute: Obj) -> Any:
    kind, value = next(iter(attribute.items()))
    return functions.version(value) if kind == "version" else value


def pools_on(node: Obj, slices: Iterable[Obj]) -> list[Pool]:
    """upstream staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go."""
    every: dict[tuple[str, str], list[Obj]] = {}
    for each in slices:
        every.setdefault((each["spec"]["driver"], each["spec"]["pool"]["name"]), []).append(each)
    return [found for name in sorted(every) if (found := _pool(name, node, every[name])) is not None]


def _pool(name: tuple[str, str], node: Obj, slices: list[Obj]) -> Pool | None:
    latest = max(each["spec"]["pool"].get("generation") or 0 for each in slices)
    current = [each for each in slices if (each["spec"]["pool"].get("generation") or 0) == latest]
    here = sorted((each for each in current if _concerns(each["spec"], node)), key=lambda each: str(each["metadata"]["name"]))
    if not here:
        return None
    if len(current) != here[0]["spec"]["pool"]["resourceSliceCount"]:
        return Pool(name, incomplete=True)
    devices = [device for each in here for device in _devices(name, each["spec"], node)]
    names = [tree["name"] for each in here for tree in each["spec"].get("devices") or ()]
    return Pool(name, devices, invalid=len(set(names)) < len(names))


def _concerns(spec: Obj, node: Obj) -> bool:
    if spec.get("perDeviceNodeSelection"):
        return any(_is_there(each, node) for each in spec.get("devices") or ())
    return _is_there(spec, node)


def _devices(name: tuple[str, str], spec: Obj, node: Obj) -> Iterator[Device]:
    for tree in spec.get("devices") or ():
        # Devices that share counters, or themselves, with others are not handed out: nobody here keeps count of that.
        if tree.get("consumesCounters") or tree.get("allowMultipleAllocations") or tree.get("bindingConditions"):
            continue
        if not spec.get("perDeviceNodeSelection") or _is_there(tree, node):
            yield Device(*name, tree, spec)


def _is_there(place: Obj, node: Obj) -> bool:
    name = node["metadata"]["name"]
    if place.get("nodeName"):
        return bool(place["nodeName"] == name)
    if place.get("allNodes"):
        return True
    selector = place.get("nodeSelector")
    labels = node["metadata"].get("labels") or {}
    return selector is not None and any(term_matches(each, name, labels) for each in node_terms(selector))


def allocated_in(allocation: Obj) -> Iterator[DeviceId]:
    """What nobody else can have. Somebody who only looks at a device does not take it."""
    for each in (allocation.get("devices") or {}).get("results") or ():
        if not each.get("adminAccess"):
            yield each["driver"], each["pool"], each["device"]
