"""Signals, their thresholds, and what follows from the row of what was observed (pkg/kubelet/eviction/helpers.go)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.machinery import duration, quantity
from tiphys.machinery.quantity import BINARY_SI, Quantity
from tiphys.machinery.tree import Obj

CONDITIONS = {
    "memory.available": "MemoryPressure",
    "nodefs.available": "DiskPressure",
    "nodefs.inodesFree": "DiskPressure",
    "imagefs.available": "DiskPressure",
    "imagefs.inodesFree": "DiskPressure",
    "pid.available": "PIDPressure",
}
RESOURCES = {
    "memory.available": "memory",
    "nodefs.available": "ephemeral-storage",
    "nodefs.inodesFree": "inodes",
    "imagefs.available": "ephemeral-storage",
    "imagefs.inodesFree": "inodes",
    "pid.available": "pids",
}


@dataclass(frozen=True, slots=True)
class Threshold:
    signal: str
    amount: str
    """A quantity, or a part of what there is at all: `10%`."""
    hard: bool = True
    grace: float = 0.0
    """For how long it must be met."""
    reclaim: str = "0"
    """So much more is won back once it has been met."""

    def limit(self, capacity: int) -> int:
        return _of(self.amount, capacity)

    def safe(self, capacity: int) -> int:
        return _of(self.amount, capacity) + _of(self.reclaim, capacity)


def _of(amount: str, capacity: int) -> int:
    if amount.endswith("%"):
        return int(capacity * float(amount[:-1]) / 100)
    return quantity.parse(amount).value()


@dataclass(frozen=True, slots=True)
class Observation:
    available: int
    capacity: int


def thresholds(settings: Obj) -> tuple[Threshold, ...]:
    """From a KubeletConfiguration. What is set to 0% or 100% is switched off."""
    told = settings.get("evictionSoftGracePeriod") or {}
    graces = {name: duration.parse(text) / duration.SECOND for name, text in told.items()}
    reclaim = settings.get("evictionMinimumReclaim") or {}
    made = []
    for hard, group in ((True, settings.get("evictionHard")), (False, settings.get("evictionSoft"))):
        for signal, amount in sorted((group or {}).items()):
            if signal in CONDITIONS and amount not in ("0%", "100%"):
                grace = 0.0 if hard else graces.get(signal, 0.0)
                made.append(Threshold(signal, amount, hard, grace, reclaim.get(signal, "0")))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class State:
    since: Mapping[Threshold, float] = field(default_factory=dict)
    """Those that are met, and since when."""
    acted: frozenset[Threshold] = frozenset()
    """Those that have been met for long enough: they count until enough has been won back."""
    last: Mapping[str, float] = field(default_factory=dict)
    """When a condition was last observed."""


@dataclass(frozen=True, slots=True)
class Finding:
    pressures: tuple[str, ...] = ()
    starved: tuple[Threshold, ...] = ()
    """The most urgent first."""


def step(
    state: State, of: Iterable[Threshold], seen: Mapping[str, Observation], transition: float, now: float
) -> tuple[State, Finding]:
    """A condition that has gone is still told for `transition` seconds: a node must not flicker."""
    met = [each for each in of if _met(each, seen, each in state.acted)]
    since = {each: state.since.get(each, now) for each in met}
    last = {**state.last, **{CONDITIONS[each.signal]: now for each in met}}
    pressures = tuple(sorted(name for name, when in last.items() if when == now or now - when < transition))
    starved = [each for each in met if now - since[each] >= each.grace]
    starved.sort(key=lambda each: (each.signal != "memory.available", not each.hard, each.signal))
    return State(since, frozenset(starved), last), Finding(pressures, tuple(starved))


def _met(threshold: Threshold, seen: Mapping[str, Observation], acted: bool) -> bool:
    found = seen.get(threshold.signal)
    if found is None:
        return False
    return found.available < (threshold.safe(found.capacity) if acted else threshold.limit(found.capacity))


def shown(amount: int, resource: str) -> str:
    if resource in ("memory", "ephemeral-storage"):
        return str(Quantity(amount, 0, BINARY_SI))
    return str(Quantity(amount))
