"""ReplicaSet controller: make the number of live pods equal to `spec.replicas`. ReplicationController is the same thing with
an older selector.

In the life of a pod this is the step that writes the Pod object. Before it: the Deployment controller wrote the ReplicaSet.
After it: the scheduler sees a pod that has no node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.pods.deletion import deletion_order
from tiphys.api.core.replicationcontrollers import REPLICATION_CONTROLLERS
from tiphys.api.kind import Kind
from tiphys.controllers import conditions
from tiphys.controllers.claims import candidates, claim
from tiphys.controllers.controller import Base, Caches, Watch, own, owned
from tiphys.controllers.plan import NAMESPACE_TERMINATING, Create, Delete, Failure, Note, Plan, Write, set_status
from tiphys.controllers.pods import is_terminating, neighbours, next_available, pod_from, seconds_until_available
from tiphys.machinery import meta, selectors
from tiphys.machinery.selectors import Selector
from tiphys.machinery.tree import Obj

BURST = 500
"""Most pods that one plan may create or delete; the next one goes on from there."""
FAILURE = "ReplicaFailure"
_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


@dataclass(frozen=True, slots=True)
class World:
    """All that the decision may depend on."""

    kind: Kind
    owner: Obj
    pods: tuple[Obj, ...]
    related: tuple[Obj, ...]
    """Pods of its siblings too, those of the same Deployment: where they run decides which are given up first."""
    failure: Failure | None
    now: float


def selector_of(owner: Obj) -> Selector:
    """Of a ReplicaSet, or of a ReplicationController, whose selector is a plain map."""
    selector = (owner.get("spec") or {}).get("selector")
    if owner.get("kind") == "ReplicationController":
        return selectors.from_labels(selector) if selector else selectors.NOTHING
    try:
        return selectors.from_tree(selector)
    except ValueError:
        return selectors.NOTHING


class ReplicaSetController(Base):
    def __init__(self, kind: Kind = REPLICASETS) -> None:
        self._kind = kind
        short = kind is REPLICASETS
        self.name = "replicaset-controller" if short else "replicationcontroller-controller"
        self.component = "replicaset-controller" if short else "replication-controller"
        self.watches: tuple[Watch, ...] = (own(kind), owned(PODS, kind, selector_of=selector_of))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        owner = caches[self._kind].get(key)
        if owner is None:
            return None
        pods = candidates(caches[PODS], owner, selector_of(owner))
        return World(self._kind, owner, pods, self._related(owner, pods, caches), caches.failures.get(key), now)

    def _related(self, owner: Obj, pods: tuple[Obj, ...], caches: Caches) -> tuple[Obj, ...]:
        above = meta.controller_of(owner)
        if above is None or len(pods) <= owner["spec"].get("replicas", 1):
            return pods
        siblings = caches[self._kind].by("controller", above["uid"])
        return tuple(pod for sibling in siblings for pod in caches[PODS].owned_by(sibling))

    @staticmethod
    def reconcile(world: World) -> Plan:
        owner, now = world.owner, world.now
        selector = selector_of(owner)
        live = [pod for pod in world.pods if facts.is_active(pod)]
        claimed = claim(PODS, live, world.kind, owner, selector)
        active = claimed.mine
        wanted = owner["spec"].get("replicas", 1)
        writes: list[Write] = list(claimed.writes)
        terminating = sum(1 for pod in world.pods if is_terminating(pod) and selector.matches(meta.labels(pod)))
        status = _status(world, active, terminating, wanted)
        if status is not None:
            writes.append(set_status(world.kind, owner, status))
        if not meta.is_deleting(owner):
            writes += _scale(world, active, wanted)
        return Plan(tuple(writes), again_in=next_available(active, owner["spec"].get("minReadySeconds", 0), now))


def _scale(world: World, active: Sequence[Obj], wanted: int) -> list[Write]:
    owner = world.owner
    missing = wanted - len(active)
    if missing > 0:
        pod = pod_from(owner["spec"]["template"], world.kind, owner)
        return [
            Create(
                PODS,
                pod,
                min(missing, BURST),
                done=Note(owner, "SuccessfulCreate", "Created pod: {name}"),
                failed=Note(owner, "FailedCreate", "Error creating: {error}", "Warning"),
                tolerate=NAMESPACE_TERMINATING,
            )
        ]
    if missing == 0:
        return []
    surplus = min(-missing, BURST)
    ordered = deletion_order(active, neighbours(active, world.related), world.now) if surplus < len(active) else active
    return [
        Delete(
            PODS,
            pod,
            done=Note(owner, "SuccessfulDelete", f"Deleted pod: {meta.name(pod)}"),
            failed=Note(owner, "FailedDelete", "Error deleting: {error}", "Warning"),
        )
        for pod in ordered[:surplus]
    ]


def _status(world: World, active: Sequence[Obj], terminating: int, wanted: int) -> Obj | None:
    """The status to report; None: what is there is right."""
    owner = world.owner
    old = owner.get("status") or {}
    spec = owner["spec"]
    labelled = selectors.from_labels((spec["template"].get("metadata") or {}).get("labels"))
    min_ready = spec.get("minReadySeconds", 0)
    counts = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(1 for pod in active if labelled.matches(meta.labels(pod))),
        "readyReplicas": sum(1 for pod in active if facts.is_ready(pod)),
        "availableReplicas": sum(1 for pod in active if seconds_until_available(pod, min_ready, world.now) == 0),
    }
    listed = _conditions(world, old.get("conditions") or [], wanted - len(active))
    counts_terminating = world.kind is REPLICASETS
    if (
        all(old.get(name, 0) == count for name, count in counts.items())
        and (not counts_terminating or old.get("terminatingReplicas") == terminating)
        and old.get("observedGeneration", 0) == meta.generation(owner)
        and (old.get("conditions") or []) == listed
    ):
        return None
    status: Obj = {name: count for name, count in counts.items() if count or name == "replicas"}
    if counts_terminating:
        status["terminatingReplicas"] = terminating
    status["observedGeneration"] = meta.generation(owner)
    if listed:
        status["conditions"] = listed
    return status


def _conditions(world: World, old: list[Obj], missing: int) -> list[Obj]:
    """A write that was refused is told as a condition, until one goes well."""
    failure = world.failure
    told = conditions.find(old, FAILURE)
    if failure is None or not isinstance(failure.write, Create | Delete) or not missing:
        return conditions.without(old, FAILURE) if told is not None else old
    if told is not None:
        return old
    message = str(failure.error)
    if missing < 0:
        message = f"unable to delete pods: {message}"
    reason = "FailedCreate" if missing > 0 else "FailedDelete"
    return [*old, conditions.condition(FAILURE, "True", reason, message, world.now)]


def replication_controllers() -> ReplicaSetController:
    return ReplicaSetController(REPLICATION_CONTROLLERS)
