"""What the devices of one claim must have in common, or must not.

upstream staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating: matchAttributeConstraint in
allocator_incubating.go, constraint.go.
"""

from typing import Any, Protocol

from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.device import Device

_COMPARABLE = ("string", "int", "bool", "version")
Attribute = tuple[str, Any]


class Constraint(Protocol):
    """Told of every device that is tried, and of each that was given back again, the last first."""

    def add(self, request: str, alternative: str, device: Device) -> bool:
        """Whether the device may join those that were added. If not, it was not."""
        ...

    def remove(self, request: str, alternative: str) -> None: ...


class _Concerned:
    def __init__(self, names: frozenset[str], attribute: str) -> None:
        self._names = names
        self._attribute = attribute
        self._count = 0

    def _concerns(self, request: str, alternative: str) -> bool:
        names = self._names
        return not names or request in names or (bool(alternative) and f"{request}/{alternative}" in names)


class Match(_Concerned):
    """All have the same."""

    _common: Attribute | None = None

    def add(self, request: str, alternative: str, device: Device) -> bool:
        if not self._concerns(request, alternative):
            return True
        own = device.attribute(self._attribute)
        if own is None:
            return False
        if not self._count:
            self._common = own
        elif own[0] not in _COMPARABLE or own != self._common:
            return False
        self._count += 1
        return True

    def remove(self, request: str, alternative: str) -> None:
        if self._concerns(request, alternative):
            self._count -= 1


class Distinct(_Concerned):
    """No two have the same. As upstream has it, only the last device of each request is remembered."""

    def __init__(self, names: frozenset[str], attribute: str) -> None:
        super().__init__(names, attribute)
        self._last: dict[str, Attribute] = {}

    def add(self, request: str, alternative: str, device: Device) -> bool:
        if not self._concerns(request, alternative):
            return True
        own = device.attribute(self._attribute)
        if own is None:
            return False
        if self._count and self._last and (own[0] not in _COMPARABLE or own in self._last.values()):
            return False
        self._last[request] = own
        self._count += 1
        return True

    def remove(self, request: str, alternative: str) -> None:
        if self._concerns(request, alternative):
            self._last.pop(request, None)
            self._count -= 1


def constraint(tree: Obj) -> Constraint:
    names = frozenset(tree.get("requests") or ())
    if tree.get("matchAttribute") is not None:
        return Match(names, tree["matchAttribute"])
    return Distinct(names, tree["distinctAttribute"])
