"""Devices that nodes offer in slices, and which of them a claim is given."""

from tiphys.scheduler.devices.allocating import Allocator, OnThisNode
from tiphys.scheduler.devices.pools import DeviceId, allocated_in, pools_on

__all__ = ["Allocator", "DeviceId", "OnThisNode", "allocated_in", "pools_on"]
