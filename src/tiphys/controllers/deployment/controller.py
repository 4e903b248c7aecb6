"""What a Deployment does in a turn: read `reconcile` from top to bottom."""

from dataclasses import dataclass

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.api.core.pods import PODS, facts
from tiphys.controllers import conditions
from tiphys.controllers.claims import candidates, claim
from tiphys.controllers.controller import Base, Caches, Watch, own, owned
from tiphys.controllers.deployment import rollback, scaling
from tiphys.controllers.deployment import status as reporting
from tiphys.controllers.deployment.revisions import find_new
from tiphys.controllers.deployment.rollout import Rollout, new_set_name
from tiphys.controllers.deployment.scaling import replicas
from tiphys.controllers.plan import Emit, Failure, Note, Plan, set_status
from tiphys.controllers.replicaset import selector_of
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class World:
    deployment: Obj
    sets: tuple[Obj, ...]
    """Its own, and orphans that it selects."""
    running: frozenset[str]
    """Uids of the sets that have pods which have not finished."""
    taken: Obj | None
    """What has the name that a set for the present template would get."""
    failure: Failure | None
    now: float


def _pod_keys(old: Obj | None, new: Obj | None, caches: Caches) -> tuple[str, ...]:
    """Only the end of a pod matters, and only to those who recreate: they wait for the last."""
    if new is not None or old is None:
        return ()
    reference = meta.controller_of(old)
    if reference is None or reference.get("kind") != "ReplicaSet":
        return ()
    rs = caches[REPLICASETS].get(f"{meta.namespace(old)}/{reference['name']}")
    above = meta.controller_of(rs) if rs is not None and meta.uid(rs) == reference["uid"] else None
    if above is None or above.get("kind") != "Deployment":
        return ()
    key = f"{meta.namespace(old)}/{above['name']}"
    deployment = caches[DEPLOYMENTS].get(key)
    return (key,) if deployment is not None and not scaling.is_rolling(deployment) else ()


class DeploymentController(Base):
    name = "deployment-controller"
    component = "deployment-controller"
    watches = (own(DEPLOYMENTS), owned(REPLICASETS, DEPLOYMENTS, selector_of=selector_of), Watch(PODS, _pod_keys))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        deployment = caches[DEPLOYMENTS].get(key)
        if deployment is None:
            return None
        sets = candidates(caches[REPLICASETS], deployment, selector_of(deployment))
        running = frozenset(meta.uid(rs) for rs in sets if any(not facts.is_finished(pod) for pod in caches[PODS].owned_by(rs)))
        taken = caches[REPLICASETS].get(f"{meta.namespace(deployment)}/{new_set_name(deployment)[0]}")
        return World(deployment, sets, running, taken, caches.failures.get(key), now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        deployment = world.deployment
        if not any(deployment["spec"]["selector"].values()):
            return _selects_all(deployment)
        claimed = claim(REPLICASETS, world.sets, DEPLOYMENTS, deployment, selector_of(deployment))
        if claimed.writes:
            # What is adopted gets a further version; the rest is decided once it is here.
            return Plan(claimed.writes)
        sets = list(claimed.mine)
        new = find_new(deployment, sets)
        old = scaling.by_age(rs for rs in sets if new is None or meta.uid(rs) != meta.uid(new))
        rollout = Rollout(deployment, deployment, new, old, world.now, world.failure)
        if meta.is_deleting(deployment):
            rollout.sync_new()
            return rollout.plan(reporting.counts(rollout.deployment, rollout.sets, rollout.new, world.now))
        _tell_paused(rollout)
        rollout.sync_new()
        if deployment["spec"].get("paused"):
            return _resize(rollout, clean_up=rollback.wanted(deployment) is None)
        if rollback.wanted(deployment) is not None:
            return rollback.plan(rollout)
        desired = (scaling.desired_annotation(rs) for rs in scaling.active(rollout.sets))
        if any(count is not None and count != replicas(deployment) for count in desired):
            return _resize(rollout, clean_up=False)
        if scaling.is_rolling(deployment):
            return _roll(rollout, world)
        return _recreate(rollout, world)


def _selects_all(deployment: Obj) -> Plan:
    message = "This deployment is selecting all pods. A non-empty selector is required."
    told = Emit(Note(deployment, "SelectingAll", message, "Warning"))
    status = deployment.get("status") or {}
    if status.get("observedGeneration", 0) >= meta.generation(deployment):
        return Plan((told,))
    return Plan((told, set_status(DEPLOYMENTS, deployment, {**status, "observedGeneration": meta.generation(deployment)})))


def _tell_paused(rollout: Rollout) -> None:
    deployment = rollout.deployment
    told = conditions.find(rollout.conditions, reporting.PROGRESSING)
    reason = told.get("reason") if told is not None else None
    if reporting.deadline(deployment) is None or reason == reporting.TIMED_OUT:
        return
    paused = bool(deployment["spec"].get("paused"))
    if paused and reason != reporting.PAUSED:
        rollout.tell(reporting.PROGRESSING, "Unknown", reporting.PAUSED, "Deployment is paused")
    elif not paused and reason == reporting.PAUSED:
        rollout.tell(reporting.PROGRESSING, "Unknown", reporting.RESUMED, "Deployment is resumed")


def _resize(rollout: Rollout, *, clean_up: bool) -> Plan:
    """The Deployment's size has changed, or it is paused: sizes follow, templates do not."""
    deployment, new = rollout.deployment, rollout.new
    active = scaling.active(rollout.sets)
    lone = _active_or_latest(rollout, active)
    if lone is not None:
        rollout.scale(lone, replicas(deployment))
    elif scaling.is_saturated(deployment, new):
        for rs in scaling.active(rollout.old):
            rollout.scale(rs, 0)
    elif scaling.is_rolling(deployment) and active:
        for name, size in scaling.proportional(deployment, active).items():
            rollout.scale(rollout.named(name), size, annotate=True)
    if clean_up and deployment["spec"].get("paused"):
        rollout.clean_up()
    return rollout.plan(reporting.counts(rollout.deployment, rollout.sets, rollout.new, rollout.now))


def _active_or_latest(rollout: Rollout, active: list[Obj]) -> Obj | None:
    """The one set that counts; None where there are several (or none at all)."""
    if len(active) == 1:
        return active[0]
    if active:
        return None
    if rollout.new is not None:
        return rollout.new
    return rollout.old[-1] if rollout.old else None


def _roll(rollout: Rollout, world: World) -> Plan:
    """Grow the newest set as far as the surge allows; else shrink the old ones as far as availability allows."""
    if rollout.new is None:
        rollout.create_new(world.taken)
        if rollout.new is None:
            return rollout.plan(None)
        return _rolled(rollout)
    new, deployment = rollout.new, rollout.deployment
    wanted = replicas(deployment)
    size = wanted if replicas(new) > wanted else scaling.new_size(deployment, rollout.sets, new)
    if not rollout.scale(new, size) and not _shrink_old(rollout):
        _clean_up_if_complete(rollout)
    return _rolled(rollout)


def _shrink_old(rollout: Rollout) -> bool:
    deployment, new = rollout.deployment, rollout.new
    old = scaling.active(rollout.old)
    if not old or new is None:
        return False
    min_available = replicas(deployment) - scaling.max_unavailable(deployment)
    new_unavailable = replicas(new) - scaling.available(new)
    limit = scaling.total(rollout.sets) - min_available - new_unavailable
    if limit <= 0:
        return False
    shrunk = False
    for name, size in scaling.shrink_unhealthy(old, limit).items():
        shrunk |= rollout.scale(rollout.named(name), size)
    old = [rollout.named(meta.name(rs)) for rs in old]
    for name, size in scaling.shrink_old(deployment, rollout.sets, old).items():
        shrunk |= rollout.scale(rollout.named(name), size)
    return shrunk


def _recreate(rollout: Rollout, world: World) -> Plan:
    """First everything old goes, to the last pod; only then the new comes."""
    old = scaling.active(rollout.old)
    if old:
        for rs in old:
            rollout.scale(rs, 0)
        return _rolled(rollout)
    new_uid = meta.uid(rollout.new) if rollout.new is not None else ""
    if any(scaling.reported(rs, "replicas") for rs in rollout.old) or world.running - {new_uid}:
        return _rolled(rollout)
    if rollout.new is None:
        rollout.create_new(world.taken)
        return rollout.plan(None) if rollout.new is None else _rolled(rollout)
    rollout.scale(rollout.new, replicas(rollout.deployment))
    _clean_up_if_complete(rollout)
    return _rolled(rollout)


def _clean_up_if_complete(rollout: Rollout) -> None:
    if reporting.is_complete(rollout.deployment, rollout.deployment.get("status") or {}):
        rollout.clean_up()


def _rolled(rollout: Rollout) -> Plan:
    return rollout.plan(reporting.rollout(rollout.deployment, rollout.sets, rollout.new, rollout.now))
