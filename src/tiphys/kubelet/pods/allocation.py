"""What the pods of this node have been given, which may be less than what they ask for now: a pod can be resized while it runs.

    admit     a pod that is new here is given what its spec says, or refused
    wish      its spec says something else: given if there is room, kept waiting (Deferred) if not
    release   it runs no more; those that wait are tried again, the most deserving first

https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/ and pkg/kubelet/allocation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tiphys.api.core.pods import facts
from tiphys.kubelet.pods.admission import Place, Refusal, refusal, resource_refusal
from tiphys.kubelet.pods.resources import quality
from tiphys.kubelet.pods.restarts import is_sidecar
from tiphys.machinery.tree import Obj

Given = Mapping[str, Obj]
"""Container -> its `resources`; the empty name is the pod's own."""
_QUALITIES = ("Guaranteed", "Burstable", "BestEffort")


@dataclass(frozen=True, slots=True)
class Pending:
    """A resize that cannot be made (now)."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Held:
    pod: Obj
    """As the API shows it."""
    given: Given
    pending: Pending | None = None
    since: float = 0.0


def given_by_spec(pod: Obj) -> Given:
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if is_sidecar(each)]
    found = {each["name"]: each.get("resources") or {} for each in (*spec["containers"], *sidecars)}
    if spec.get("resources") is not None:
        found[""] = spec["resources"]
    return found


def with_resources(pod: Obj, given: Given) -> Obj:
    """The pod as if its spec had asked for just that. What is the same stays the very same."""
    spec = pod["spec"]
    changed: Obj = {}
    if given.get("", spec.get("resources")) != spec.get("resources"):
        changed["resources"] = given[""]
    for group in ("initContainers", "containers"):
        before = spec.get(group) or []
        after = [_container(each, given) for each in before]
        if any(one is not other for one, other in zip(before, after, strict=True)):
            changed[group] = after
    return {**pod, "spec": {**spec, **changed}} if changed else pod


def _container(container: Obj, given: Given) -> Obj:
    held = given.get(container["name"])
    if held is None or held == (container.get("resources") or {}):
        return container
    return {**container, "resources": held}


class Allocations:
    """`place` tells how the node is now, without its pods; `wake` is told whose waiting resize has been decided anew."""

    def __init__(self, place: Callable[[], Place], wake: Callable[[str], None]) -> None:
        self._place = place
        self._wake = wake
        self._held: dict[str, _Held] = {}

    def admit(self, pod: Obj, kept: Given | None) -> Refusal | None:
        """`kept`: what it was given before the kubelet restarted; that it has, whatever there is room for."""
        uid = pod["metadata"]["uid"]
        if kept is None:
            refused = refusal(pod, self._among_others(uid))
            if refused is not None:
                return refused
        self._held[uid] = _Held(pod, given_by_spec(pod) if kept is None else kept)
        return None

    def wish(self, pod: Obj, now: float) -> bool:
        """Its spec, as it is now. Whether the pod has been given something else."""
        held = self._held.get(pod["metadata"]["uid"])
        if held is None:
            return False
        self._held[pod["metadata"]["uid"]] = replace(held, pod=pod)
        gave = self._try(pod["metadata"]["uid"], now)
        if gave:
            self._settle(now)
        return gave

    def _try(self, uid: str, now: float) -> bool:
        held = self._held[uid]
        wanted = given_by_spec(held.pod)
        if wanted == held.given:
            self._held[uid] = replace(held, pending=None)
            return False
        refused = resource_refusal(held.pod, self._among_others(uid))
        if refused is None:
            self._held[uid] = replace(held, given=wanted, pending=None)
            return True
        since = held.since if held.pending is not None else now
        self._held[uid] = replace(held, pending=Pending("Deferred", refused.message), since=since)
        return False

    def release(self, uid: str, now: float) -> None:
        if self._held.pop(uid, None) is not None:
            self._settle(now)

    def _settle(self, now: float) -> None:
        waiting = [(uid, each) for uid, each in self._held.items() if each.pending is not None]
        for uid, held in sorted(waiting, key=lambda pair: _deserves(pair[1])):
            before = held.pending
            if self._try(uid, now) or self._held[uid].pending != before:
                self._wake(uid)

    def pending(self, uid: str) -> Pending | None:
        held = self._held.get(uid)
        return held.pending if held is not None else None

    def given(self, uid: str) -> Given | None:
        held = self._held.get(uid)
        return held.given if held is not None else None

    def pods(self) -> list[Obj]:
        """All that run here, with what they have been given."""
        return [with_resources(held.pod, held.given) for held in self._held.values()]

    def _among_others(self, uid: str) -> Place:
        return replace(self._place(), others=tuple(each for each in self.pods() if each["metadata"]["uid"] != uid))


def _deserves(held: _Held) -> tuple[bool, int, int, float]:
    """Those first that ask for no more than they have; then by priority, quality, and how long they wait."""
    before, after = facts.requests(with_resources(held.pod, held.given)), facts.requests(held.pod)
    grows = any(name in after and (name not in before or after[name] > before[name]) for name in ("cpu", "memory"))
    return grows, -held.pod["spec"].get("priority", 0), _QUALITIES.index(quality(held.pod)), held.since
