"""What people are told when the state of a node changes (pkg/kubelet/nodestatus/setters.go, kubelet_node_status.go)."""

from collections.abc import Iterator
from typing import NamedTuple

from tiphys.machinery.tree import Obj

_PRESSURES = {
    ("MemoryPressure", "True"): "NodeHasInsufficientMemory",
    ("MemoryPressure", "False"): "NodeHasSufficientMemory",
    ("DiskPressure", "True"): "NodeHasDiskPressure",
    ("DiskPressure", "False"): "NodeHasNoDiskPressure",
    ("PIDPressure", "True"): "NodeHasInsufficientPID",
    ("PIDPressure", "False"): "NodeHasSufficientPID",
}
_READY = {"True": "NodeReady", "False": "NodeNotReady"}


class News(NamedTuple):
    """An event."""

    kind: str
    reason: str
    message: str


def of_status(name: str, before: Obj, status: Obj) -> Iterator[News]:
    """`before`: the node until now. That a new node is not ready yet, or is at once, is no news."""
    held = before.get("status") or {}
    statuses = {each["type"]: each["status"] for each in held.get("conditions") or ()}
    for each in status["conditions"]:
        was, now = statuses.get(each["type"]), each["status"]
        reason = _PRESSURES.get((each["type"], now)) or (_READY[now] if was is not None else "")
        if was != now and reason:
            yield _now(name, reason)
    boot, boot_before = status["nodeInfo"]["bootID"], (held.get("nodeInfo") or {}).get("bootID")
    if boot_before and boot != boot_before:
        yield News("Warning", "Rebooted", f"Node {name} has been rebooted, boot id: {boot}")


def of_cordon(name: str, *, cordoned: bool) -> News:
    return _now(name, "NodeNotSchedulable" if cordoned else "NodeSchedulable")


def _now(name: str, reason: str) -> News:
    return News("Normal", reason, f"Node {name} status is now: {reason}")
