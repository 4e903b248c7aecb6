"""Devices that have to be made ready first, by others, for the node that was chosen: their conditions are waited for.

upstream pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (isClaimReadyForBinding, isClaimTimeout).
"""

from collections.abc import Iterator
from typing import Any

from tiphys.machinery import times
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.claims import allocation_of


class NotBindable(Exception):
    """The devices of a claim will not become ready for this node."""


def waits(claim: Obj) -> bool:
    return any(True for _ in _waiting(claim))


def is_ready(claim: Obj) -> bool:
    """Raises NotBindable."""
    if allocation_of(claim) is None:
        return False
    for result in _waiting(claim):
        told = _told_of(claim, result)
        if told is None:
            return False
        for kind in result.get("bindingFailureConditions") or ():
            failed = told.get(kind)
            if failed is not None and failed.get("status") == "True":
                why = f'reason={failed.get("reason", "")}, message="{failed.get("message", "")}"'
                raise NotBindable(f"device binding failed: claim={claim['metadata']['name']}, {why}")
        if any((told.get(kind) or {}).get("status") != "True" for kind in result["bindingConditions"]):
            return False
    return True


def is_late(claim: Obj, now: float, seconds: float) -> bool:
    """It has been waited for that long."""
    since = (allocation_of(claim) or {}).get("allocationTimestamp")
    return since is not None and waits(claim) and times.parse(since) + seconds < now


def is_lost(claim: Obj, now: float, seconds: float) -> bool:
    """Other devices had better be found."""
    try:
        return not is_ready(claim) and is_late(claim, now, seconds)
    except NotBindable:
        return True


def _waiting(claim: Obj) -> Iterator[Obj]:
    results = ((allocation_of(claim) or {}).get("devices") or {}).get("results") or ()
    return (each for each in results if each.get("bindingConditions"))


def _told_of(claim: Obj, result: Obj) -> dict[str, Any] | None:
    """What its driver says of the device: conditions by their types."""
    for each in (claim.get("status") or {}).get("devices") or ():
        if all(each.get(key) == result.get(key) for key in ("driver", "pool", "device")):
            return {one["type"]: one for one in reversed(each.get("conditions") or ())}
    return None
