"""Metrics in Prometheus' text format. Bind a child once (`requests.labels("GET", "200")`), then count on it: one addition."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Generic, Protocol, TypeVar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    return tuple(start * factor**power for power in range(count))


class Value:
    """A counter's or a gauge's value; hot code may write `child.value += 1` itself."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1) -> None:
        self.value += amount

    def dec(self, amount: float = 1) -> None:
        self.value -= amount

    def set(self, value: float) -> None:
        self.value = value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        yield f"{name}{_braced(labels)} {_number(self.value)}\n"


class Distribution:
    """A histogram's values."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def lines(self, name: str, labels: str) -> Iterable[str]:
        comma = "," if labels else ""
        total = 0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            total += count
            yield f'{name}_bucket{{{labels}{comma}le="{_number(bound)}"}} {total}\n'
        total += self.counts[-1]
        yield f'{name}_bucket{{{labels}{comma}le="+Inf"}} {total}\n'
        yield f"{name}_sum{_braced(labels)} {_number(self.sum)}\n"
        yield f"{name}_count{_braced(labels)} {total}\n"


class Child(Protocol):
    def lines(self, name: str, labels: str) -> Iterable[str]: ...


ChildT = TypeVar("ChildT", bound=Child)


class Family(Generic[ChildT]):
    """A metric with its children, one for each combination of label values seen."""

    def __init__(self, name: str, help_text: str, kind: str, labels: Sequence[str], make: Callable[[], ChildT]) -> None:
        self.name = name
        self._help = help_text
        self._kind = kind
        self._labels = tuple(labels)
        self._make = make
        self._children: dict[tuple[str, ...], ChildT] = {}
        if not labels:
            self._children[()] = make()

    def labels(self, *values: str) -> ChildT:
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self._labels):
                raise ValueError(f"{self.name} has labels {self._labels}, got {values}")
            child = self._children[values] = self._make()
        return child

    @property
    def only(self) -> ChildT:
        """The child of a metric without labels."""
        return self._children[()]

    def remove(self, *values: str) -> None:
        self._children.pop(values, None)

    def lines(self) -> Iterable[str]:
        if not self._children:
            return
        yield f"# HELP {self.name} {_escape_help(self._help)}\n"
        yield f"# TYPE {self.name} {self._kind}\n"
        for values, child in sorted(self._children.items()):
            pairs = zip(self._labels, values, strict=True)
            yield from child.lines(self.name, ",".join(f'{label}="{quoted(value)}"' for label, value in pairs))


class Registry:
    """A component's metrics. Asking again for a name that it has returns the one it has."""

    def __init__(self) -> None:
        self._families: dict[str, Family[Value] | Family[Distribution]] = {}
        self._before: list[Callable[[], None]] = []

    def counter(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Family[Value]:
        return self._values(name, help_text, "counter", labels)

    def gauge(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Family[Value]:
        return self._values(name, help_text, "gauge", labels)

    def histogram(
        self, name: str, help_text: str, labels: Sequence[str] = (), buckets: Sequence[float] = DEFAULT_BUCKETS
    ) -> Family[Distribution]:
        found = self._families.get(name)
        if found is None:
            bounds = tuple(sorted(buckets))
            made = Family(name, help_text, "histogram", labels, lambda: Distribution(bounds))
            self._families[name] = made
            return made
        return found  # type: ignore[return-value]

    def _values(self, name: str, help_text: str, kind: str, labels: Sequence[str]) -> Family[Value]:
        found = self._families.get(name)
        if found is None:
            made = Family(name, help_text, kind, labels, Value)
            self._families[name] = made
            return made
        return found  # type: ignore[return-value]

    def before_render(self, refresh: Callable[[], None]) -> None:
        """`refresh` sets gauges that are read from elsewhere, just before they are shown."""
        self._before.append(refresh)

    def render(self) -> bytes:
        for refresh in self._before:
            refresh()
        return "".join(line for _, family in sorted(self._families.items()) for line in family.lines()).encode()


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def _number(value: float) -> str:
    if isfinite(value):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
    return "NaN" if value != value else "+Inf" if value > 0 else "-Inf"


def quoted(value: str) -> str:
    """The value of a label, as it stands between its quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
