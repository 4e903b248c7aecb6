"""Which pods end when, and how long they may take (pkg/kubelet/nodeshutdown/nodeshutdown_manager.go). Core."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiphys.kubelet.configuration import seconds
from tiphys.kubelet.status import Verdict
from tiphys.machinery.tree import Obj

_USUAL_PRIORITY, _CRITICAL_PRIORITY = 0, 2_000_000_000
MESSAGE = "Pod was terminated in response to imminent node shutdown."
VERDICT = Verdict("Terminated", MESSAGE, disruption=MESSAGE)


@dataclass(frozen=True, slots=True)
class Step:
    priority: int
    """Of the least of its pods, the first step's aside: that one takes all that are lower, too."""
    seconds: int
    """For the whole step."""


def steps(settings: Obj) -> tuple[Step, ...]:
    """From low to high; none: pods are not ended with the machine."""
    given = settings.get("shutdownGracePeriodByPodPriority")
    if given:
        made = (Step(int(each.get("priority") or 0), int(each.get("shutdownGracePeriodSeconds") or 0)) for each in given)
        return tuple(sorted(made, key=lambda each: each.priority))
    whole, critical = seconds(settings, "shutdownGracePeriod"), seconds(settings, "shutdownGracePeriodCriticalPods")
    if whole == 0 or critical > whole:
        return ()
    return Step(_USUAL_PRIORITY, int(whole - critical)), Step(_CRITICAL_PRIORITY, int(critical))


def requested(wanted: Sequence[Step]) -> int:
    """Seconds that the machine is to wait for at most."""
    return sum(each.seconds for each in wanted)


def groups(wanted: Sequence[Step], pods: Iterable[Obj]) -> list[tuple[Step, list[Obj]]]:
    """The pods of each step, in order; without the steps that have none."""
    begins = [each.priority for each in wanted]
    members: list[list[Obj]] = [[] for _ in wanted]
    for pod in pods:
        members[max(0, bisect_right(begins, pod["spec"].get("priority") or 0) - 1)].append(pod)
    return [(step, found) for step, found in zip(wanted, members, strict=True) if found]


def grace(step: Step, pod: Obj) -> int:
    """The pod's own, unless the step is shorter."""
    own = pod["spec"].get("terminationGracePeriodSeconds")
    return step.seconds if own is None else min(int(own), step.seconds)
