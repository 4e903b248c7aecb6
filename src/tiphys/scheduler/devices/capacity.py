"""How much of a device a claim takes: what it asks for, rounded up to a portion that the device hands out.

upstream staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj

_NANO = 9


def exact(amount: str | Quantity) -> int:
    """In billionths, however much it is."""
    parsed = amount if isinstance(amount, Quantity) else quantity.parse(amount)
    factor: int = 10 ** (parsed.scale + _NANO)
    return parsed.amount * factor


@dataclass(frozen=True, slots=True)
class Capacity:
    total: Quantity
    usual: Quantity | None = None
    """For those that do not say how much; everything, if the device does not say either."""
    low: Quantity | None = None
    high: Quantity | None = None
    step: Quantity | None = None
    portions: tuple[Quantity, ...] = ()
    """In ascending order."""

    @staticmethod
    def read(tree: Obj) -> "Capacity":
        policy = tree.get("requestPolicy") or {}
        span = policy.get("validRange") or {}

        def maybe(text: str | None) -> Quantity | None:
            return None if text is None else quantity.parse(text)

        return Capacity(
            quantity.parse(tree["value"]),
            maybe(policy.get("default")),
            maybe(span.get("min")),
            maybe(span.get("max")),
            maybe(span.get("step")),
            tuple(map(quantity.parse, policy.get("validValues") or ())),
        )

    def portion(self, asked: Quantity | None) -> Quantity:
        """What somebody gets who asks for so much."""
        if asked is None:
            return self.total if self.usual is None else self.usual
        if self.low is not None:
            return self._stepped(asked, self.low)
        return next((each for each in self.portions if asked <= each), asked)

    def _stepped(self, asked: Quantity, low: Quantity) -> Quantity:
        if asked < low:
            return low
        if self.step is None:
            return asked
        first, step = low.value(), self.step.value()
        steps = -(-(asked.value() - first) // step)
        return quantity.from_int(first + step * steps, quantity.BINARY_SI)

    def hands_out(self, portion: Quantity) -> bool:
        if self.usual is not None and portion == self.usual:
            return True
        if self.low is None and self.high is None and self.step is None:
            return not self.portions or portion in self.portions
        if self.high is not None and portion > self.high:
            return False
        first = self.low.value() if self.low is not None else 0
        return self.step is None or (portion.value() - first) % self.step.value() == 0


Used = Mapping[str, int]
"""Of each capacity, in billionths."""


def is_enough(capacities: Mapping[str, Capacity], asked: Mapping[str, Quantity], used: Used, about_to: Used) -> bool:
    """Whether a device has that much left, beside what others have and what this pod is about to get. A device that only one
    can have must have that much in all."""
    if any(name not in capacities for name in asked):
        return False
    for name, capacity in capacities.items():
        portion = capacity.portion(asked.get(name))
        if not capacity.hands_out(portion):
            return False
        if exact(portion) + used.get(name, 0) + about_to.get(name, 0) > exact(capacity.total):
            return False
    return True


def portions(capacities: Mapping[str, Capacity], asked: Mapping[str, Quantity]) -> dict[str, Quantity]:
    return {name: each.portion(asked.get(name)) for name, each in capacities.items()}
