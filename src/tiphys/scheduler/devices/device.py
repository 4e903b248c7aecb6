"""A device of a slice: what expressions see of it, how much of it there is, and what it takes from the counters of its pool."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tiphys.machinery import quantity
from tiphys.machinery.cel import compiled, functions
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.capacity import Capacity, exact

DeviceId = tuple[str, str, str]
"""Driver, pool and name."""
Counter = tuple[str, str]
"""A counter set, and a counter in it."""

_REMEMBERED = 64
"""Expressions a device, so that claims that nobody repeats do not add up."""


@dataclass(eq=False)
class Device:
    driver: str
    pool: str
    tree: Obj
    slice: Obj
    """Its spec."""
    _selected: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.id: DeviceId = self.driver, self.pool, self.tree["name"]
        self.shared = bool(self.tree.get("allowMultipleAllocations"))
        """Several claims may have it at the same time."""
        self.placed_alone = bool(self.slice.get("perDeviceNodeSelection"))

    def place(self) -> Obj:
        """Where it says on which nodes it is."""
        return self.tree if self.placed_alone else self.slice

    def attribute(self, name: str) -> tuple[str, Any] | None:
        """Its kind and value, by its full name; None if it has none. A driver need not spell out its own domain."""
        attributes: Obj = self.tree.get("attributes") or {}
        domain, _, rest = name.partition("/")
        found = attributes.get(name) or (attributes.get(rest) if domain == self.driver else None)
        return None if found is None else next(iter(found.items()))

    def selected_by(self, expression: str) -> bool:
        """Raises Unsound or Trouble. The answer is remembered: a device changes only together with its slice."""
        known = self._selected.get(expression)
        if known is None:
            known = compiled(expression)(self._variables) is True
            if len(self._selected) >= _REMEMBERED:
                self._selected.clear()
            self._selected[expression] = known
        return known

    @cached_property
    def capacities(self) -> dict[str, Capacity]:
        return {name: Capacity.read(each) for name, each in (self.tree.get("capacity") or {}).items()}

    @cached_property
    def consumes(self) -> dict[Counter, int]:
        """In billionths."""
        return {
            (each["counterSet"], name): exact(counter["value"])
            for each in self.tree.get("consumesCounters") or ()
            for name, counter in (each.get("counters") or {}).items()
        }

    @cached_property
    def _variables(self) -> dict[str, Any]:
        attributes = {name: _value(each) for name, each in (self.tree.get("attributes") or {}).items()}
        capacity = {name: quantity.parse(each["value"]) for name, each in (self.tree.get("capacity") or {}).items()}
        return {
            "device": {
                "driver": self.driver,
                "allowMultipleAllocations": self.shared,
                "attributes": _ByDomain(attributes, self.driver),
                "capacity": _ByDomain(capacity, self.driver),
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
