"""What a StatefulSet does in a turn: whose pods and revisions are these, which revision is wanted, then the work."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.apps.controllerrevisions import CONTROLLERREVISIONS
from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS
from tiphys.controllers import history
from tiphys.controllers.claims import candidates, claim
from tiphys.controllers.controller import Base, Caches, Watch, own, owned
from tiphys.controllers.plan import NOTHING, Plan, Write, set_status
from tiphys.controllers.replicaset import selector_of
from tiphys.controllers.statefulset import identity
from tiphys.controllers.statefulset.sync import Sync
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

_HASH_LABEL = "controller.kubernetes.io/hash"


@dataclass(frozen=True, slots=True)
class World:
    stateful_set: Obj
    pods: tuple[Obj, ...]
    """Its own, and orphans that it selects."""
    revisions: tuple[Obj, ...]
    """The same of its history."""
    claims: dict[str, Obj]
    """By name: those that its pods mount."""
    taken: Obj | None
    """What has the name that a new revision would get."""
    now: float


def _sets_of_claim(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
    """A set may have waited for the end of a claim, to make it anew."""
    if new is not None or old is None:
        return
    stem = meta.name(old).rpartition("-")[0]
    for each in caches[STATEFULSETS].in_namespace(meta.namespace(old)):
        if any(stem == f"{meta.name(template)}-{meta.name(each)}" for template in identity.claim_templates(each)):
            yield meta.key(each)


class StatefulSetController(Base):
    name = "statefulset-controller"
    component = "statefulset-controller"
    watches = (
        own(STATEFULSETS),
        owned(PODS, STATEFULSETS, selector_of=selector_of),
        owned(CONTROLLERREVISIONS, STATEFULSETS, selector_of=selector_of),
        Watch(PERSISTENT_VOLUME_CLAIMS, _sets_of_claim),
    )

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        stateful_set = caches[STATEFULSETS].get(key)
        if stateful_set is None:
            return None
        selector = selector_of(stateful_set)
        pods = candidates(caches[PODS], stateful_set, selector)
        revisions = candidates(caches[CONTROLLERREVISIONS], stateful_set, selector)
        numbers = {*identity.ordinals(stateful_set), *(identity.ordinal(stateful_set, pod) for pod in pods)} - {None}
        space = meta.namespace(stateful_set)
        names = [name for number in numbers if number is not None for name in identity.claim_names(stateful_set, number)]
        found = {name: caches[PERSISTENT_VOLUME_CLAIMS].get(f"{space}/{name}") for name in names}
        claims = {name: each for name, each in found.items() if each is not None}
        data, taken = history.data_of(stateful_set), None
        if not any(history.matches(each, data) for each in revisions):
            name = history.name_of(stateful_set, _digest(stateful_set))
            taken = caches[CONTROLLERREVISIONS].get(f"{space}/{name}")
        return World(stateful_set, pods, revisions, claims, taken, now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        stateful_set, selector = world.stateful_set, selector_of(world.stateful_set)
        past = [each for each in world.revisions if selector.matches(meta.labels(each))]
        adopted = claim(CONTROLLERREVISIONS, past, STATEFULSETS, stateful_set, selector)
        claimed = claim(
            PODS,
            world.pods,
            STATEFULSETS,
            stateful_set,
            selector,
            belongs=lambda pod: identity.ordinal(stateful_set, pod) is not None,
        )
        if adopted.writes or claimed.writes:
            # What is adopted gets a further version; the rest is decided once it is here.
            return Plan((*adopted.writes, *claimed.writes))
        revisions = history.in_order(adopted.mine)
        update = next((each for each in reversed(revisions) if history.matches(each, history.data_of(stateful_set))), None)
        if update is None or update is not revisions[-1]:
            return NOTHING if meta.is_deleting(stateful_set) else Plan((_begin(world, revisions, update),))
        name = (stateful_set.get("status") or {}).get("currentRevision")
        current = next((each for each in revisions if meta.name(each) == name), update)
        plan = Sync(stateful_set, claimed.mine, world.claims, current, update, world.now).plan()
        used = {meta.name(current), meta.name(update), *(identity.revision_of(pod) for pod in claimed.mine)}
        limit = stateful_set["spec"].get("revisionHistoryLimit", 10)
        unused = [each for each in revisions if meta.name(each) not in used]
        surplus = history.surplus(unused, len(unused) - limit) if limit >= 0 else []
        return Plan((*plan.writes, *surplus), plan.again_in, plan.retry)


def _begin(world: World, revisions: list[Obj], known: Obj | None) -> Write:
    """A revision for a template that is not the last one; its pods come in the next turn."""
    stateful_set = world.stateful_set
    number = history.next_number(revisions)
    if known is not None:
        return history.renumber(known, number)
    if world.taken is not None:
        # Two templates with one hash: count it, and the next name is another one.
        status = {**(stateful_set.get("status") or {}), "collisionCount": history.collisions(stateful_set) + 1}
        return set_status(STATEFULSETS, stateful_set, status)
    return history.create(STATEFULSETS, stateful_set, _digest(stateful_set), _HASH_LABEL, number)


def _digest(stateful_set: Obj) -> str:
    return history.digest(history.data_of(stateful_set), history.collisions(stateful_set))
