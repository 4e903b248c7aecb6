"""Garbage collector: what all owners of are gone goes, too; owners that wait for their dependents, or leave them behind, are
let go when that is done.

Every object of every kind is watched (its metadata). The key of an object names its kind. An owner that no cache knows is not
therefore absent: the server is asked before anything is deleted.

    owner gone            -> its dependents are looked at: all owners gone: deleted; some: the references are removed
    owner deleted, and
      foregroundDeletion  -> dependents that block it are deleted (foreground, if they have dependents); then the finalizer
      orphan              -> references to it are removed from its dependents; then the finalizer
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tiphys.api.kind import Kind
from tiphys.client.interface import Client
from tiphys.controllers import kinds
from tiphys.controllers.controller import Base, Caches, Inquiry, Keys, Named, Watch, metadata_only, named
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Delete, Inquire, Patch, Plan, Write
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.meta import FINALIZER_FOREGROUND, FINALIZER_ORPHAN
from tiphys.machinery.tree import Obj

KNOWN_GONE = 4096
_IGNORED = frozenset((("", "events"), ("events.k8s.io", "events")))


@dataclass(frozen=True, slots=True)
class Item:
    kind: Kind
    obj: Obj

    @property
    def waits_for_dependents(self) -> bool:
        return meta.is_deleting(self.obj) and FINALIZER_FOREGROUND in meta.finalizers(self.obj)

    @property
    def orphans_dependents(self) -> bool:
        return meta.is_deleting(self.obj) and FINALIZER_ORPHAN in meta.finalizers(self.obj)


@dataclass(frozen=True, slots=True)
class World:
    item: Item
    dependents: tuple[Item, ...]
    owners: Mapping[str, Item | Literal["gone", "unknown", "unserved"]]
    """By uid, for each reference of the item."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Where an owner would be."""

    kind: Kind
    namespace: str
    name: str
    uid: str


class GarbageCollector(Base):
    name = "garbage-collector-controller"
    component = "garbage-collector-controller"
    inquiries: Mapping[str, Inquiry]

    def __init__(self) -> None:
        self._kinds: dict[Named, Kind] = {}
        self._by_name: dict[tuple[str, str], Kind] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()
        self.watches = tuple(self.custom(kind) for kind in kinds.built_in() if named(kind) not in _IGNORED)
        self.inquiries = {"owners": present_owners}

    def custom(self, kind: Kind) -> Watch:
        """Also for kinds that come later."""
        self._kinds[named(kind)] = kind
        self._by_name[kind.group, kind.kind] = kind
        return Watch(kind, self._keys_of(kind), keep=metadata_only)

    def _keys_of(self, kind: Kind) -> Keys:
        def keys(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
            if new is None:
                assert old is not None
                self._forget(meta.uid(old))
                yield from self._keys_of_dependents(meta.uid(old), caches)
                yield from self._keys_of_owners(old, meta.owners(old))
                return
            owners = meta.owners(new)
            before = meta.owners(old) if old is not None else []
            waiting = Item(kind, new).waits_for_dependents
            if owners != before or (meta.is_deleting(new) and meta.finalizers(new)):
                yield _key(kind, new)
            if before and owners != before:
                # An owner that was blocked by this one may go on.
                yield from self._keys_of_owners(new, [each for each in before if each not in owners])
            if waiting and (old is None or not Item(kind, old).waits_for_dependents):
                yield from self._keys_of_dependents(meta.uid(new), caches)

        return keys

    def _keys_of_dependents(self, uid: str, caches: Caches) -> Iterable[str]:
        return [_key(item.kind, item.obj) for item in self._dependents(uid, caches)]

    def _keys_of_owners(self, obj: Obj, references: list[Obj]) -> Iterable[str]:
        for each in references:
            place = self._place(obj, each)
            if place is not None:
                yield f"{place.kind.plural}.{place.kind.group}|" + (
                    f"{place.namespace}/{place.name}" if place.namespace else place.name
                )

    def _dependents(self, uid: str, caches: Caches) -> list[Item]:
        return [
            Item(kind, obj)
            for which, kind in self._kinds.items()
            if which in caches.of
            for obj in caches.of[which].by("owner", uid)
        ]

    def _place(self, obj: Obj, reference: Obj) -> Reference | None:
        """None: no kind of this server. Owners are in the namespace of what they own, or in none."""
        kind = self._by_name.get((meta.group_of(reference.get("apiVersion", "")), reference.get("kind", "")))
        if kind is None or (kind.namespaced and not meta.namespace(obj)):
            return None
        return Reference(kind, meta.namespace(obj) if kind.namespaced else "", reference["name"], reference["uid"])

    def _forget(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > KNOWN_GONE:
            self._gone.popitem(last=False)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        resource, _, place = key.partition("|")
        plural, _, group = resource.partition(".")
        kind, cache = self._kinds.get((group, plural)), caches.of.get((group, plural))
        obj = cache.get(place) if cache is not None else None
        if kind is None or obj is None:
            return None
        answer: frozenset[str] | None = caches.answers.get(key)
        owners = {each["uid"]: self._owner(obj, each, caches, answer) for each in meta.owners(obj)}
        return World(Item(kind, obj), tuple(self._dependents(meta.uid(obj), caches)), owners)

    def _owner(
        self, obj: Obj, reference: Obj, caches: Caches, present: frozenset[str] | None
    ) -> Item | Literal["gone", "unknown", "unserved"]:
        uid = reference["uid"]
        if uid in self._gone:
            return "gone"
        place = self._place(obj, reference)
        if place is None:
            return "unserved"
        found = caches[place.kind].get(f"{place.namespace}/{place.name}" if place.namespace else place.name)
        if found is not None and meta.uid(found) == uid:
            return Item(place.kind, found)
        if present is None:
            return "unknown"
        if uid in present:
            # The server knows it, our cache not yet.
            return Item(place.kind, {"metadata": {"name": place.name, "uid": uid}})
        self._forget(uid)
        return "gone"

    def reconcile(self, world: World) -> Plan:
        item = world.item
        if item.orphans_dependents:
            return _orphan(world)
        if item.waits_for_dependents:
            return _let_go_if_alone(world)
        if meta.is_deleting(item.obj) or not world.owners:
            return NOTHING
        if "unserved" in world.owners.values():
            return Plan(retry="an owner is of a kind that is not served")
        if "unknown" in world.owners.values():
            references = (self._place(item.obj, each) for each in meta.owners(item.obj))
            asked = [each for each in references if each is not None and world.owners[each.uid] == "unknown"]
            return Plan((Inquire("owners", {"references": asked}),))
        return _collect(world)


async def present_owners(client: Client, arguments: Mapping[str, Any]) -> frozenset[str]:
    """The uids of those that are really there."""
    found: set[str] = set()
    for each in arguments["references"]:
        try:
            live = await client.get(each.kind, each.name, each.namespace)
        except ApiError as refused:
            if refused.reason != "NotFound":
                raise
            continue
        if meta.uid(live) == each.uid:
            found.add(each.uid)
    return frozenset(found)


def _key(kind: Kind, obj: Obj) -> str:
    return f"{kind.plural}.{kind.group}|{meta.key(obj)}"


def _blocks(dependent: Obj, uid: str) -> bool:
    return any(each["uid"] == uid and each.get("blockOwnerDeletion") for each in meta.owners(dependent))


def _collect(world: World) -> Plan:
    item = world.item
    gone = {uid for uid, owner in world.owners.items() if owner == "gone"}
    # Those that do not hold up their owner's end go with it, too.
    waiting = {uid for uid, owner in world.owners.items() if isinstance(owner, Item) and owner.waits_for_dependents}
    solid = world.owners.keys() - gone - waiting
    if solid:
        return Plan((_without(item, gone | waiting),)) if gone | waiting else NOTHING
    if waiting and world.dependents:
        writes: list[Write] = []
        if any(each.waits_for_dependents for each in world.dependents):
            # A circle: each would wait for the other.
            writes.append(_unblocked(item))
        return Plan((*writes, Delete(item.kind, item.obj, "Foreground", same_version=not writes)))
    finalizers = meta.finalizers(item.obj)
    policy: Literal["Orphan", "Foreground", "Background"] = (
        "Orphan" if FINALIZER_ORPHAN in finalizers else "Foreground" if FINALIZER_FOREGROUND in finalizers else "Background"
    )
    return Plan((Delete(item.kind, item.obj, policy, same_version=True),))


def _orphan(world: World) -> Plan:
    item = world.item
    uid = meta.uid(item.obj)
    return Plan((*(_without(each, {uid}) for each in world.dependents), _unfinalized(item, FINALIZER_ORPHAN)))


def _let_go_if_alone(world: World) -> Plan:
    uid = meta.uid(world.item.obj)
    if any(_blocks(each.obj, uid) for each in world.dependents):
        return NOTHING
    return Plan((_unfinalized(world.item, FINALIZER_FOREGROUND),))


def _patch(item: Item, **changes: Any) -> Patch:
    """Only of the version that was looked at."""
    metadata = {"uid": meta.uid(item.obj), "resourceVersion": meta.resource_version(item.obj), **changes}
    return Patch(item.kind, item.obj, {"metadata": metadata}, tolerate=NOT_FOUND)


def _without(item: Item, uids: set[str]) -> Patch:
    kept = [each for each in meta.owners(item.obj) if each["uid"] not in uids]
    return _patch(item, ownerReferences=kept or None)


def _unblocked(item: Item) -> Patch:
    return _patch(item, ownerReferences=[{**each, "blockOwnerDeletion": False} for each in meta.owners(item.obj)])


def _unfinalized(item: Item, finalizer: str) -> Patch:
    return _patch(item, finalizers=[each for each in meta.finalizers(item.obj) if each != finalizer] or None)
