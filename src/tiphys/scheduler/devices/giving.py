"""What has been given so far while devices are looked for, step by step, each of which can be undone.

upstream staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go (allocateDevice).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tiphys.machinery.quantity import Quantity
from tiphys.scheduler.devices.asking import Asking, Wanted
from tiphys.scheduler.devices.capacity import exact, portions
from tiphys.scheduler.devices.constraints import Constraint, constraint
from tiphys.scheduler.devices.device import Counter, Device, DeviceId
from tiphys.scheduler.devices.ledger import Ledger
from tiphys.scheduler.devices.pools import Pool, PoolId


class Clash(Exception):
    """A constraint of the claim is in the way."""


class Available:
    """What is left in the counters of pools beside the devices in use: the same for all nodes while one pod is tried."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._pools: dict[PoolId, tuple[dict[Counter, int], bool]] = {}

    def of(self, pool: Pool) -> tuple[dict[Counter, int], bool]:
        """And whether any of them is overdrawn: then nothing can be had that draws on counters of this pool."""
        known = self._pools.get(pool.id)
        if known is None:
            left = dict(pool.counters)
            for device in (*pool.devices, *pool.elsewhere):
                if device.consumes and self._ledger.is_used(device.id):
                    for counter, amount in device.consumes.items():
                        left[counter] -= amount
            known = self._pools[pool.id] = left, any(each < 0 for each in left.values())
        return known


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    device: Device
    wanted: Wanted
    portions: Mapping[str, Quantity]
    """Of a device that is shared."""


@dataclass(slots=True, eq=False)
class OfClaim:
    asking: Asking
    constraints: Sequence[Constraint]
    given: list[Given] = field(default_factory=list)
    chosen: dict[int, int] = field(default_factory=dict)
    """By request: which of its alternatives."""


class Giving:
    """On one node."""

    def __init__(self, claims: Sequence[Asking], ledger: Ledger, available: Available, pools: Mapping[PoolId, Pool]) -> None:
        self.claims = [OfClaim(each, [constraint(tree) for tree in each.constraints]) for each in claims]
        self._ledger = ledger
        self._available = available
        self._pools = pools
        self._held: dict[tuple[DeviceId, int], int] = {}
        """Devices that a claim gets for itself, by the claim's place."""
        self._alone: dict[DeviceId, int] = {}
        self._shares: dict[DeviceId, int] = {}
        self._portions: dict[DeviceId, dict[str, int]] = {}
        self._drawn: dict[PoolId, dict[Counter, int]] = {}
        self._done: list[tuple[int, Given, bool]] = []

    def is_out_of_question(self, claim: int, wanted: Wanted, device: Device) -> bool:
        if wanted.looks_only:
            return self._held.get((device.id, claim), 0) > 0
        return self._ledger.is_taken(device.id) or self._alone.get(device.id, 0) > 0

    def is_enough(self, wanted: Wanted, device: Device) -> bool:
        return wanted.is_enough(device, self._ledger, self._portions.get(device.id, _NOTHING))

    def give(self, at: int, wanted: Wanted, device: Device) -> bool:
        """Raises Clash."""
        claim = self.claims[at]
        if self.is_out_of_question(at, wanted, device):
            return False
        draws = bool(device.consumes) and not (device.shared and self._is_shared_out(device.id))
        if draws and not self._draw(device):
            return False
        added: list[Constraint] = []
        fits = clashes = False
        if not wanted.is_kept_away(device):
            for each in claim.constraints:
                if not each.add(wanted.request, wanted.alternative, device):
                    clashes = True
                    break
                added.append(each)
            fits = not clashes and self.is_enough(wanted, device)
        if not fits:
            for each in reversed(added):
                each.remove(wanted.request, wanted.alternative)
            if draws:
                self._sum_up(device, -1)
            if clashes:
                raise Clash
            return False
        given = Given(device, wanted, portions(device.capacities, wanted.asked) if device.shared else {})
        self._note(at, given, 1)
        claim.given.append(given)
        self._done.append((at, given, draws))
        return True

    def undo(self) -> None:
        """The last that was given."""
        at, given, draws = self._done.pop()
        claim = self.claims[at]
        claim.given.pop()
        self._note(at, given, -1)
        for each in reversed(claim.constraints):
            each.remove(given.wanted.request, given.wanted.alternative)
        if draws:
            self._sum_up(given.device, -1)

    def _note(self, at: int, given: Given, sign: int) -> None:
        id_ = given.device.id
        if not given.device.shared:
            _add(self._held, (id_, at), sign)
            _add(self._alone, id_, sign)
            return
        _add(self._shares, id_, sign)
        sums = self._portions.setdefault(id_, {})
        for name, portion in given.portions.items():
            _add(sums, name, sign * exact(portion))

    def _is_shared_out(self, id_: DeviceId) -> bool:
        """Somebody has a share already: what the device takes from counters is taken."""
        return self._ledger.is_measured(id_) or self._shares.get(id_, 0) > 0

    def _draw(self, device: Device) -> bool:
        pool = self._pools[device.driver, device.pool]
        left, is_overdrawn = self._available.of(pool)
        if is_overdrawn:
            return False
        drawn = self._drawn.setdefault(pool.id, {})
        if any(drawn.get(counter, 0) + amount > left[counter] for counter, amount in device.consumes.items()):
            return False
        self._sum_up(device, 1)
        return True

    def _sum_up(self, device: Device, sign: int) -> None:
        drawn = self._drawn[device.driver, device.pool]
        for counter, amount in device.consumes.items():
            _add(drawn, counter, sign * amount)


Key = TypeVar("Key")


def _add(sums: dict[Key, int], key: Key, amount: int) -> None:
    sums[key] = sums.get(key, 0) + amount


_NOTHING: dict[str, int] = {}
