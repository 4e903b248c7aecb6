"""How long a pod may be active on its node (pkg/kubelet/active_deadline.go)."""

from tiphys.machinery import times
from tiphys.machinery.tree import Obj

DEADLINE_EXCEEDED = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


def active_left(pod: Obj, now: float) -> float:
    """Seconds; without a limit, or before it has begun, there is no end."""
    limit, began = pod["spec"].get("activeDeadlineSeconds"), (pod.get("status") or {}).get("startTime")
    if limit is None or not began:
        return float("inf")
    return times.parse(began) + float(limit) - now
