"""Which devices of a node the claims of a pod are given: the first that will do, and if that leads nowhere the next.

Claims, their requests, and the devices of each request are gone through in order, as deep as it takes; each step is undone once
it turns out that nothing follows from it. Upstream gives up after some time (`filterTimeout`); here steps are counted, since
nothing else can run meanwhile.

upstream staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
"""

from collections.abc import Generator, Mapping, Sequence
from enum import Enum, auto
from itertools import count

from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.asking import MOST, Asking, Wanted
from tiphys.scheduler.devices.device import Device
from tiphys.scheduler.devices.giving import Available, Clash, Giving, OfClaim
from tiphys.scheduler.devices.ledger import Ledger
from tiphys.scheduler.devices.pools import Pool, is_there


class OnThisNode(Exception):
    """Why the devices of one node cannot be given; others may."""


class _Outcome(Enum):
    FOUND = auto()
    NONE = auto()
    TOO_MANY = auto()
    """More devices than a claim can have, whatever was chosen last: other devices for the request before will not help."""


_Search = Generator["_Search", _Outcome, _Outcome]


class Allocator:
    """For one pod and any node."""

    def __init__(self, ledger: Ledger, most_steps: int | None) -> None:
        """`most_steps`: on each node."""
        self._ledger = ledger
        self._most_steps = most_steps
        self._available = Available(ledger)

    def allocate(self, claims: Sequence[Asking], pools: Sequence[Pool], node: Obj) -> list[OfClaim] | None:
        """For each claim what it gets; None if there are not enough devices.

        Raises OnThisNode, and ValueError where a claim or a class makes no sense.
        """
        whole: dict[Wanted, list[Device]] = {}
        for claim in claims:
            choices = (wanted for request in claim.requests for wanted in request if wanted.whole)
            whole |= {wanted: self._all(claim, wanted, pools, node) for wanted in choices}
            least = sum(min(len(whole[each]) if each.whole else each.count for each in request) for request in claim.requests)
            if least > MOST:
                told = f"number of requested devices {least} exceeds the claim limit of {MOST}"
                raise ValueError(f"claim {claim.name}: {told}")
        giving = Giving(claims, self._ledger, self._available, {each.id: each for each in pools})
        devices = [device for pool in pools for device in pool.devices]
        if _Attempt(giving, devices, whole, node).succeeds(self._most_steps):
            return giving.claims
        if any(pool.invalid for pool in pools):
            raise OnThisNode("invalid resource pools were encountered")
        return None

    def _all(self, claim: Asking, wanted: Wanted, pools: Sequence[Pool], node: Obj) -> list[Device]:
        found = []
        for pool in pools:
            if pool.incomplete or pool.invalid:
                state = "invalid" if pool.invalid else "being updated"
                told = f"asks for all devices, but resource pool {'/'.join(pool.id)} is currently {state}"
                raise ValueError(f"claim {claim.name}, request {wanted.own_name}: {told}")
            here = (each for each in pool.devices if _is_selected(wanted, each, node))
            found += [each for each in here if wanted.is_enough(each, self._ledger, {})]
        return found


class _Attempt:
    def __init__(self, giving: Giving, devices: Sequence[Device], whole: Mapping[Wanted, Sequence[Device]], node: Obj) -> None:
        self._giving = giving
        self._devices = devices
        self._whole = whole
        self._node = node

    def succeeds(self, most_steps: int | None) -> bool:
        """Runs searches that hand over to others without a limit on how deep this goes. Raises ValueError."""
        running = [self._request(0, 0)]
        outcome: _Outcome | None = None
        for _ in count() if most_steps is None else range(most_steps):
            try:
                following = next(running[-1]) if outcome is None else running[-1].send(outcome)
            except StopIteration as ended:
                running.pop()
                outcome = ended.value
                if not running:
                    return outcome is _Outcome.FOUND
            else:
                running.append(following)
                outcome = None
        name = self._node["metadata"]["name"]
        raise ValueError(f"node {name}: timed out trying to allocate devices")

    def _request(self, at: int, number: int) -> _Search:
        if at == len(self._giving.claims):
            return _Outcome.FOUND
        claim = self._giving.claims[at]
        if number == len(claim.asking.requests):
            outcome = yield self._request(at + 1, 0)
            # With other choices for earlier claims this one may come to need fewer.
            return _Outcome.NONE if outcome is _Outcome.TOO_MANY else outcome
        choices = claim.asking.requests[number]
        if not choices[0].alternative:
            return (yield self._devices_of(at, number, choices[0], 0, 0))
        too_many = True
        for choice, wanted in enumerate(choices):
            outcome = yield self._devices_of(at, number, wanted, 0, 0)
            if outcome is _Outcome.FOUND:
                claim.chosen[number] = choice
                return outcome
            too_many &= outcome is _Outcome.TOO_MANY
        return _Outcome.TOO_MANY if too_many else _Outcome.NONE

    def _devices_of(self, at: int, number: int, wanted: Wanted, have: int, start: int) -> _Search:
        """The rest of the devices of a request, of which it has some, and what comes after it."""
        whole = self._whole[wanted] if wanted.whole else None
        if whole is not None and not whole:
            return _Outcome.NONE
        needed = wanted.count if whole is None else len(whole)
        if have == needed:
            return (yield self._request(at, number + 1))
        if len(self._giving.claims[at].given) + needed - have > MOST:
            return _Outcome.TOO_MANY
        if whole is not None:
            if not self._must_give(at, wanted, whole[have]):
                return _Outcome.NONE
            outcome = yield self._devices_of(at, number, wanted, have + 1, 0)
            if outcome is not _Outcome.FOUND:
                self._giving.undo()
            return outcome
        for place in range(start, len(self._devices)):
            if self._give(at, wanted, self._devices[place]):
                outcome = yield self._devices_of(at, number, wanted, have + 1, place + 1)
                if outcome is _Outcome.FOUND:
                    return outcome
                self._giving.undo()
                if outcome is _Outcome.TOO_MANY:
                    return outcome
        return _Outcome.NONE

    def _give(self, at: int, wanted: Wanted, device: Device) -> bool:
        giving = self._giving
        if giving.is_out_of_question(at, wanted, device) or not _is_selected(wanted, device, self._node):
            return False
        try:
            return giving.is_enough(wanted, device) and giving.give(at, wanted, device)
        except Clash:
            return False

    def _must_give(self, at: int, wanted: Wanted, device: Device) -> bool:
        try:
            return self._giving.give(at, wanted, device)
        except Clash:
            told = f"cannot add device {'/'.join(device.id)} because a claim constraint would not be satisfied"
            claim = self._giving.claims[at].asking.name
            raise ValueError(f"claim {claim}, request {wanted.own_name}: {told}") from None


def _is_selected(wanted: Wanted, device: Device, node: Obj) -> bool:
    return wanted.selects(device) and (not device.placed_alone or is_there(device.tree, node))
