"""Resource quota: what a namespace uses of its quotas, counted anew when something is given back.

What is taken is charged by the API server, in the transaction of the write that takes it. This controller sees to the rest:
new quotas, changed limits, and objects that are gone or done.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.core.pods import PODS, facts
from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS
from tiphys.api.kind import Kind
from tiphys.api.quota import scopes, usage
from tiphys.api.quota.usage import Amounts
from tiphys.controllers import kinds
from tiphys.controllers.controller import Base, Caches, Keys, Watch, metadata_only, named
from tiphys.controllers.plan import NOTHING, Plan, set_status
from tiphys.machinery import meta, quantity
from tiphys.machinery.tree import Obj

WEIGHED = frozenset((("", "pods"), ("", "services"), ("", "persistentvolumeclaims"), ("resource.k8s.io", "resourceclaims")))
"""Kinds whose objects use more than one of their own; of the others only the number counts."""
_UNCOUNTED = frozenset((("", "events"), ("events.k8s.io", "events")))
_BATCH = 0.1
"""Seconds in which deletions that come together are counted together."""


@dataclass(frozen=True, slots=True)
class World:
    quota: Obj
    objects: tuple[tuple[Kind, tuple[Obj, ...]], ...]
    """Of the kinds that the quota limits."""
    now: float


def _own_keys(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    """Each charge changes its status; only changes of the limits are for us, wanted or reported ones."""
    if new is None:
        return ()
    status = new.get("status") or {}
    dirty = old is None or old["spec"] != new["spec"] or status.get("used") is None
    dirty = dirty or not _same(status.get("hard"), new["spec"].get("hard") or {})
    return (meta.key(new),) if dirty else ()


def _keys_of(kind: Kind) -> Keys:
    def keys(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
        if old is None or (new is not None and not _gives_back(kind, old, new)):
            return
        for quota in caches[RESOURCE_QUOTAS].in_namespace(meta.namespace(old)):
            if usage.limited(kind, quota["spec"].get("hard") or {}):
                yield meta.key(quota)

    return keys


def _gives_back(kind: Kind, old: Obj, new: Obj) -> bool:
    if kind is PODS:
        return facts.is_finished(old) != facts.is_finished(new) or old["spec"] != new["spec"]
    return named(kind) in WEIGHED and old["spec"] != new["spec"]


class ResourceQuotaController(Base):
    name = "resourcequota-controller"
    component = "resourcequota-controller"

    def __init__(self) -> None:
        self._kinds = [each for each in kinds.built_in() if each.namespaced and named(each) not in _UNCOUNTED]
        self.watches: tuple[Watch, ...] = (Watch(RESOURCE_QUOTAS, _own_keys), *(self._watch(kind) for kind in self._kinds))

    def custom(self, kind: Kind) -> Watch:
        if kind.namespaced:
            self._kinds.append(kind)
        return self._watch(kind)

    @staticmethod
    def _watch(kind: Kind) -> Watch:
        keep = None if named(kind) in WEIGHED or kind is RESOURCE_QUOTAS else metadata_only
        return Watch(kind, _keys_of(kind), delay=_BATCH, keep=keep)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        quota = caches[RESOURCE_QUOTAS].get(key)
        if quota is None:
            return None
        hard = quota["spec"].get("hard") or {}
        concerned = [kind for kind in self._kinds if caches.knows(kind) and usage.limited(kind, hard)]
        space = meta.namespace(quota)
        return World(quota, tuple((kind, tuple(caches[kind].in_namespace(space))) for kind in concerned), now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        quota = world.quota
        hard: dict[str, str] = quota["spec"].get("hard") or {}
        status = quota.get("status") or {}
        used = _used(world, hard)
        told = {name: str(used[name]) for name in hard if name in used}
        # What nobody counts keeps the amount that it had.
        told |= {name: text for name, text in (status.get("used") or {}).items() if name in hard and name not in told}
        if _same(status.get("hard"), hard) and _same(status.get("used"), told):
            return NOTHING
        return Plan((set_status(RESOURCE_QUOTAS, quota, {"hard": hard, "used": told}),))


def _used(world: World, hard: dict[str, str]) -> Amounts:
    # Judged by the limits that are wanted, not by those that were reported.
    quota = {**world.quota, "status": {}}
    total: Amounts = {}
    for kind, objects in world.objects:
        limited = usage.limited(kind, hard)
        total.update({name: quantity.from_int(0) for name in limited})
        for each in objects:
            if scopes.counts(quota, kind, each):
                for name, amount in usage.of(kind, each, world.now).items():
                    if name in limited:
                        total[name] = total[name].add(amount)
    return total


def _same(one: dict[str, str] | None, other: dict[str, str]) -> bool:
    if one is None or one.keys() != other.keys():
        return False
    return all(quantity.parse(one[name]) == quantity.parse(amount) for name, amount in other.items())
