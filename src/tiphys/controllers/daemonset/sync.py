"""Which pods a DaemonSet makes and which it ends in a turn. Values only.

First every node is put right by itself: the missing pod comes, what should not be there goes. Only when nothing is left to do
in that way, an update goes on: without surge, old pods are ended (the next turn fills the gap); with surge, new pods come
beside old ones, and old ones go once the new ones are available.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tiphys.api.core.pods import facts
from tiphys.controllers.daemonset.placing import Fit, is_updated
from tiphys.controllers.history import HASH_LABEL
from tiphys.controllers.numbers import scaled
from tiphys.controllers.plan import Emit, Note
from tiphys.controllers.pods import seconds_until_available
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


def by_age(pods: Iterable[Obj]) -> list[Obj]:
    """Those that have a node first, then the oldest."""
    return sorted(
        pods,
        key=lambda pod: (
            not pod["spec"].get("nodeName"),
            pod["metadata"].get("creationTimestamp") or "",
            meta.name(pod),
        ),
    )


@dataclass(slots=True)
class Sync:
    daemon_set: Obj
    digest: str
    """Of the present template, as its pods are labelled."""
    fit: Fit
    nodes: Sequence[Obj]
    starts: Sequence[str]
    """Nodes on which a pod should be."""
    on: Mapping[str, list[Obj]]
    """Pods by the node that they run on or are meant for."""
    waits: Mapping[str, float]
    """Seconds, by uid, before a failed pod may be ended."""
    now: float
    wanted: list[str] = field(default_factory=list)
    """Nodes that get a pod."""
    unwanted: list[Obj] = field(default_factory=list)
    told: list[Emit] = field(default_factory=list)
    _starts: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._starts = frozenset(self.starts)

    def decide(self) -> None:
        for node in self.nodes:
            self._put_right(node)
        known = {meta.name(node) for node in self.nodes}
        for name, pods in self.on.items():
            if name not in known:
                # Nobody else would end a pod that waits for a node which is gone.
                self._end(pod for pod in pods if not pod["spec"].get("nodeName"))
        if not self.wanted and not self.unwanted and self._strategy.get("type") == "RollingUpdate":
            self._roll()

    # One node

    def _put_right(self, node: Obj) -> None:
        name = meta.name(node)
        pods = self.on.get(name)
        starts = name in self._starts
        if starts and not pods:
            self.wanted.append(name)
        elif starts or self.fit.stays_on(node):
            running = by_age(self._running(pods or (), name))
            if not self._surges:
                self._end(running[1:])
            elif running:
                self._end(self._superseded(running))
            elif starts:
                self.wanted.append(name)
        elif pods:
            self._end(pods)

    def _running(self, pods: Iterable[Obj], node: str) -> list[Obj]:
        """Those that have ended are ended for good; the others are returned."""
        running = []
        for pod in pods:
            place = f"{meta.namespace(pod)}/{meta.name(pod)} on node {node}"
            if facts.is_deleting(pod):
                continue
            if facts.phase(pod) == "Failed":
                # Often a kubelet that rejects the pod, again and again.
                if not self.waits.get(meta.uid(pod)):
                    text = f"Found failed daemon pod {place}, will try to kill it"
                    self.told.append(Emit(Note(self.daemon_set, "FailedDaemonPod", text, "Warning")))
                    self._end((pod,))
            elif facts.phase(pod) == "Succeeded":
                text = f"Found succeeded daemon pod {place}, will try to delete it"
                self.told.append(Emit(Note(self.daemon_set, "SucceededDaemonPod", text)))
                self._end((pod,))
            else:
                running.append(pod)
        return running

    def _superseded(self, running: list[Obj]) -> list[Obj]:
        """While surging two pods may be on a node: a new one that is not available, and an old one that still serves."""
        new = [pod for pod in running if meta.labels(pod).get(HASH_LABEL) == self.digest]
        old = [pod for pod in running if meta.labels(pod).get(HASH_LABEL) != self.digest]
        surplus = [*new[1:], *old[1:]]
        if new and old and (not facts.is_ready(old[0]) or self._is_available(new[0])):
            surplus.append(old[0])
        return surplus

    def _end(self, pods: Iterable[Obj]) -> None:
        self.unwanted += [pod for pod in pods if not facts.is_deleting(pod)]

    # The update

    @property
    def _strategy(self) -> Obj:
        found: Obj = self.daemon_set["spec"].get("updateStrategy") or {}
        return found

    def _limit(self, name: str, total: int) -> int:
        if self._strategy.get("type") != "RollingUpdate":
            return 0
        return scaled((self._strategy.get("rollingUpdate") or {}).get(name), total, up=True)

    @property
    def _surges(self) -> bool:
        return self._limit("maxSurge", 1) > 0

    def _roll(self) -> None:
        surge, unavailable = self._limit("maxSurge", len(self.starts)), self._limit("maxUnavailable", len(self.starts))
        if surge == 0:
            self._replace(unavailable or 1)
        else:
            self._surge(surge)

    def _pairs(self) -> list[tuple[str, Obj | None, Obj | None, bool]]:
        """For each node with pods, or that should have one: its new pod, its old one, and whether there are more of a sort."""
        found = []
        for name in dict.fromkeys((*self.starts, *self.on)):
            pods = [pod for pod in self.on.get(name) or () if not facts.is_deleting(pod)]
            new = [pod for pod in pods if is_updated(self.daemon_set, pod, self.digest)]
            old = [pod for pod in pods if not is_updated(self.daemon_set, pod, self.digest)]
            crowded = len(new) > 1 or len(old) > 1
            found.append((name, new[0] if new else None, old[0] if old else None, crowded))
        return found

    def _replace(self, most: int) -> None:
        """Old pods that serve nobody may always go; of the others as many as may be away."""
        away, candidates = 0, []
        for _, new, old, crowded in self._pairs():
            if crowded or (new is None) == (old is None):
                away += 1
            elif new is not None:
                away += not self._is_available(new)
            elif old is not None and not self._is_available(old):
                self._end((old,))
                away += 1
            elif old is not None:
                candidates.append(old)
        self._end(candidates[: max(0, most - away)])

    def _surge(self, most: int) -> None:
        surging, available = 0, 0
        candidates: list[str] = []
        misplaced: list[Obj] = []
        for name, new, old, crowded in self._pairs():
            if crowded:
                surging += 1
                continue
            first = old or new
            available += first is not None and self._is_available(first)
            if old is None:
                continue
            if new is not None:
                if self._is_available(new):
                    self._end((old,))
                else:
                    surging += 1
            elif name not in self._starts:
                if self._is_available(old):
                    misplaced.append(old)
                else:
                    self._end((old,))
            elif self._is_available(old):
                candidates.append(name)
            else:
                self.wanted.append(name)
        # A pod that serves where none should run any more waits until others serve in its stead.
        self._end(misplaced[: max(0, available - len(self.starts))])
        self.wanted += candidates[: max(0, most - surging)]

    def _is_available(self, pod: Obj) -> bool:
        return seconds_until_available(pod, self.daemon_set["spec"].get("minReadySeconds", 0), self.now) == 0
