"""What an informer knows of one kind: the newest trees by key, the revision reached, and indexes built when first asked for.

Trees are shared with everybody who asks: read-only.
"""

from collections.abc import Callable, Iterable, Iterator

from tiphys.api.kind import Kind
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

IndexFunction = Callable[[Obj], Iterable[str]]


def _namespace(obj: Obj) -> Iterable[str]:
    space = obj["metadata"].get("namespace")
    return (space,) if space else ()


def _owners(obj: Obj) -> Iterable[str]:
    references = obj["metadata"].get("ownerReferences")
    return [each["uid"] for each in references] if references else ()


def _controller(obj: Obj) -> Iterable[str]:
    found = meta.controller_of(obj)
    return (found["uid"],) if found is not None else ()


def _orphan(obj: Obj) -> Iterable[str]:
    """By namespace: what no controller has."""
    return _namespace(obj) if meta.controller_of(obj) is None else ()


def _node(obj: Obj) -> Iterable[str]:
    name = (obj.get("spec") or {}).get("nodeName")
    return (name,) if name else ()


def _uid(obj: Obj) -> Iterable[str]:
    return (meta.uid(obj),)


INDEXES: dict[str, IndexFunction] = {
    "namespace": _namespace,
    "owner": _owners,
    "controller": _controller,
    "orphan": _orphan,
    "node": _node,
    "uid": _uid,
}
"""Those that every cache offers; `index` adds others."""


class Cache:
    __slots__ = ("_functions", "_indexes", "_items", "kind", "revision")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.revision = 0
        """Everything written up to here, of this kind, is in."""
        self._items: dict[str, Obj] = {}
        self._functions: dict[str, IndexFunction] = dict(INDEXES)
        self._indexes: dict[str, dict[str, dict[str, None]]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Obj]:
        return iter(self._items.values())

    def keys(self) -> Iterable[str]:
        return self._items.keys()

    def get(self, key: str) -> Obj | None:
        """By `namespace/name`, or `name`."""
        return self._items.get(key)

    def index(self, name: str, function: IndexFunction) -> None:
        """A further index; the same name means the same function."""
        self._functions.setdefault(name, function)

    def by(self, index: str, value: str) -> list[Obj]:
        """In the order in which they came into the index, so that decisions repeat."""
        found = self._index(index).get(value)
        return [self._items[key] for key in found] if found else []

    def values(self, index: str) -> Iterable[str]:
        """The values that some object has in the index."""
        return self._index(index).keys()

    def in_namespace(self, namespace: str) -> list[Obj]:
        return self.by("namespace", namespace)

    def owned_by(self, owner: Obj) -> list[Obj]:
        """Those whose controller it is."""
        return self.by("controller", meta.uid(owner))

    def put(self, obj: Obj) -> Obj | None:
        """Keeps `obj`; returns what it replaces."""
        key = meta.key(obj)
        old = self._items.get(key)
        self._items[key] = obj
        for name, entries in self._indexes.items():
            _move(entries, self._functions[name], key, old, obj)
        return old

    def remove(self, key: str) -> Obj | None:
        old = self._items.pop(key, None)
        if old is not None:
            for name, entries in self._indexes.items():
                _move(entries, self._functions[name], key, old, None)
        return old

    def _index(self, name: str) -> dict[str, dict[str, None]]:
        entries = self._indexes.get(name)
        if entries is None:
            entries = self._indexes[name] = {}
            function = self._functions[name]
            for key, obj in self._items.items():
                _move(entries, function, key, None, obj)
        return entries


def _move(entries: dict[str, dict[str, None]], function: IndexFunction, key: str, old: Obj | None, new: Obj | None) -> None:
    before = tuple(function(old)) if old is not None else ()
    after = tuple(function(new)) if new is not None else ()
    if before == after:
        return
    for value in before:
        if value not in after:
            keys = entries[value]
            del keys[key]
            if not keys:
                del entries[value]
    for value in after:
        if value not in before:
            entries.setdefault(value, {})[key] = None
