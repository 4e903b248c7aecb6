"""How many devices a node has of a class, and how many of them are in use: for scores of resources that devices stand behind.

upstream pkg/scheduler/framework/plugins/noderesources/resource_allocation.go (calculateDRAResourceTotals).
"""

from collections.abc import Iterable

from tiphys.machinery.cel import Trouble, Unsound
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.device import Device
from tiphys.scheduler.devices.ledger import Ledger
from tiphys.scheduler.devices.pools import Slice, is_there


def totals(slices: Iterable[Slice], device_class: Obj, node: Obj, ledger: Ledger) -> tuple[int, int]:
    """Nothing where its selectors make no sense."""
    there = used = 0
    expressions = [each["cel"]["expression"] for each in (device_class.get("spec") or {}).get("selectors") or ()]
    try:
        for device in _here(slices, node):
            if all(map(device.selected_by, expressions)):
                there += 1
                used += ledger.is_used(device.id)
    except (Trouble, Unsound):
        return 0, 0
    return there, used


def _here(slices: Iterable[Slice], node: Obj) -> Iterable[Device]:
    for each in slices:
        if each.spec.get("perDeviceNodeSelection"):
            yield from (device for device in each.devices if is_there(device.tree, node))
        elif is_there(each.spec, node):
            yield from each.devices
