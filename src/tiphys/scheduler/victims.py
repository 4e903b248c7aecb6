"""Who would have to go from one node, and where that is the least loss."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiphys.scheduler.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class Victims:
    node: str
    pods: tuple[PodInfo, ...]
    """The most important one first: of those of the highest priority the one that started first."""
    violations: int = 0
    """How many of them their disruption budgets do not allow to go."""

    @property
    def loss(self) -> tuple[float, ...]:
        """The least is the best."""
        first = self.pods[0]
        total = sum([victim.priority for victim in self.pods]) + 2**31 * len(self.pods)
        return self.violations, first.priority, total, len(self.pods), -first.started


def importance(pod: PodInfo) -> tuple[int, float]:
    """The most important sorts first: by priority, then by how long it has run."""
    return -pod.priority, pod.started


def best(candidates: Sequence[Victims]) -> Victims:
    """The node whose victims are the least loss; where they are alike, the first."""
    return min(candidates, key=lambda each: each.loss)
