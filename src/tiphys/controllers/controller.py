"""What a controller is, and what wakes it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tiphys.api.kind import Kind
from tiphys.client.cache import Cache, IndexFunction
from tiphys.client.interface import Client
from tiphys.controllers.plan import Failure, Plan
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

Named = tuple[str, str]
"""Group and plural: which cache."""


def named(kind: Kind) -> Named:
    return kind.group, kind.plural


@dataclass(slots=True)
class Caches:
    """What `observe` may look at."""

    of: Mapping[Named, Cache]
    failures: dict[str, Failure] = field(default_factory=dict)
    """By key: how its last plan ended, where it failed."""
    answers: dict[str, Any] = field(default_factory=dict)
    """By key: the answer to its last inquiry."""

    def __getitem__(self, kind: Kind) -> Cache:
        return self.of[kind.group, kind.plural]

    def knows(self, kind: Kind) -> bool:
        return (kind.group, kind.plural) in self.of


Keys = Callable[[Obj | None, Obj | None, Caches], Iterable[str]]
"""The keys that a change (before, after) concerns."""


@dataclass(frozen=True, slots=True)
class Watch:
    kind: Kind
    keys: Keys
    indexes: Mapping[str, IndexFunction] = field(default_factory=dict)
    """Further indexes of this kind that the controller looks into."""
    delay: float = 0.0
    """Seconds to wait for further changes, so that a burst of them is one turn."""
    keep: Callable[[Obj], Obj] | None = None
    """What of an object is kept in the cache, where no controller needs all of it."""
    heard: Callable[[Obj, float], None] | None = None
    """Told of every new state of an object and of the time, for what is not worth a turn."""


def no_keys(_old: Obj | None, _new: Obj | None, _caches: Caches) -> Iterable[str]:
    """For kinds that are only looked up."""
    return ()


def namespace_key(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    """The namespace it is in: what a controller of namespaces is woken with."""
    obj = new if new is not None else old
    return (meta.namespace(obj),) if obj is not None else ()


WorldT = TypeVar("WorldT")

Inquiry = Callable[[Client, Mapping[str, Any]], Awaitable[Any]]


class Controller(Protocol[WorldT]):
    @property
    def name(self) -> str:
        """As `--controllers` names it."""
        ...

    @property
    def component(self) -> str:
        """As its Events name it."""
        ...

    @property
    def watches(self) -> tuple[Watch, ...]: ...

    @property
    def inquiries(self) -> Mapping[str, Inquiry]: ...

    @property
    def custom(self) -> Callable[[Kind], Watch] | None:
        """For controllers of everything: how they watch a kind that a CustomResourceDefinition brings."""
        ...

    def observe(self, key: str, caches: Caches, now: float) -> WorldT | None:
        """None: there is nothing to decide about."""
        ...

    def reconcile(self, world: WorldT) -> Plan: ...


class Base:
    """What most controllers say about themselves."""

    name = ""
    component = ""
    watches: tuple[Watch, ...] = ()
    inquiries: Mapping[str, Inquiry] = {}
    custom: Callable[[Kind], Watch] | None = None


def own_key(old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    obj = new if new is not None else old
    return (meta.key(obj),) if obj is not None else ()


def own(kind: Kind) -> Watch:
    """Its own objects."""
    return Watch(kind, own_key)


def owned(kind: Kind, owner: Kind, *, adopts: bool = True, selector_of: Callable[[Obj], Any] | None = None) -> Watch:
    """Objects whose controller is of kind `owner`, old and new; an orphan concerns every owner in its namespace that selects
    it, where owners adopt."""

    def keys(old: Obj | None, new: Obj | None, caches: Caches) -> Iterable[str]:
        for each in (old, new):
            key = _owner_key(each, owner) if each is not None else None
            if key is not None:
                yield key
        if new is None or not adopts or selector_of is None or meta.controller_of(new) is not None:
            return
        if old is not None and meta.labels(old) == meta.labels(new) and meta.controller_of(old) is None:
            return
        for candidate in caches[owner].in_namespace(meta.namespace(new)):
            if selector_of(candidate).matches(meta.labels(new)):
                yield meta.key(candidate)

    return Watch(kind, keys)


def _owner_key(obj: Obj, owner: Kind) -> str | None:
    reference = meta.controller_of(obj)
    if (
        reference is None
        or reference.get("kind") != owner.kind
        or meta.group_of(reference.get("apiVersion", "")) != owner.group
    ):
        return None
    return f"{meta.namespace(obj)}/{reference['name']}" if owner.namespaced else str(reference["name"])


def metadata_only(obj: Obj) -> Obj:
    """An object without its weight."""
    metadata = obj["metadata"]
    kept = {part: metadata[part] for part in _KEPT if part in metadata}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": kept}


_KEPT = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "ownerReferences",
    "finalizers",
    "deletionTimestamp",
    "labels",
)
