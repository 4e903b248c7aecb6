"""Which devices are in use, and how much of those that are shared."""

from collections import Counter
from collections.abc import Iterator

from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.capacity import exact
from tiphys.scheduler.devices.device import DeviceId


class Ledger:
    def __init__(self) -> None:
        self._alone: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._measured: Counter[DeviceId] = Counter()
        """Shares of which it is known how much they are."""
        self._used: dict[DeviceId, Counter[str]] = {}

    def add(self, allocation: Obj) -> None:
        self._count(allocation, 1)

    def remove(self, allocation: Obj) -> None:
        self._count(allocation, -1)

    def is_taken(self, device: DeviceId) -> bool:
        """Somebody has it alone."""
        return self._alone.get(device, 0) > 0

    def is_used(self, device: DeviceId) -> bool:
        return self._alone.get(device, 0) > 0 or self._shares.get(device, 0) > 0

    def is_measured(self, device: DeviceId) -> bool:
        return self._measured.get(device, 0) > 0

    def used(self, device: DeviceId) -> dict[str, int]:
        """Of each capacity, in billionths."""
        return self._used.get(device, _NOTHING)

    def _count(self, allocation: Obj, sign: int) -> None:
        for each in _results(allocation):
            device: DeviceId = each["driver"], each["pool"], each["device"]
            if each.get("shareID") is None:
                self._alone[device] += sign
                continue
            self._shares[device] += sign
            amounts = each.get("consumedCapacity")
            if not amounts:
                continue
            self._measured[device] += sign
            used = self._used.setdefault(device, Counter())
            for name, amount in amounts.items():
                used[name] += sign * exact(amount)
            if not self._measured[device]:
                del self._used[device]


_NOTHING: dict[str, int] = {}


def _results(allocation: Obj) -> Iterator[Obj]:
    """Somebody who only looks at a device does not take it."""
    return (each for each in (allocation.get("devices") or {}).get("results") or () if not each.get("adminAccess"))
