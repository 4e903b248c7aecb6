"""Which kinds the server serves now, by URL and by GVK. Built-in kinds come from api.registry; CRDs add and remove theirs."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count

import orjson

from tiphys.api.kind import Kind
from tiphys.machinery import errors
from tiphys.machinery.record import Record
from tiphys.machinery.schema import Node, Schemas

_serials = count()
KEPT_SHOWN = 4096
"""Of how many custom resources is known how they are shown."""


class Served:
    """A kind as the server uses it: with its schema compiled and the bytes that every answer repeats."""

    __slots__ = (
        "_followers",
        "_shown",
        "custom",
        "head",
        "kind",
        "list_head",
        "node",
        "serial",
    )

    def __init__(self, kind: Kind, node: Node) -> None:
        self.kind = kind
        self.node = node
        self.custom = kind.custom
        self.serial = next(_serials)
        self._shown: dict[tuple[str, int], Record] = {}
        self._followers: set[Callable[[], None]] = set()
        self.head = b'{"kind":"%b","apiVersion":"%b",' % (kind.kind.encode(), kind.api_version.encode())
        """How the stored bytes of this kind begin; items of a list of a built-in kind are sent without it."""
        self.list_head = b'{"kind":"%b","apiVersion":"%b","metadata":{"resourceVersion":"' % (
            kind.list_kind.encode(),
            kind.api_version.encode(),
        )

    @property
    def converts(self) -> bool:
        return self.kind.stored_as is not None and not self.custom

    def shown(self, record: Record) -> Record:
        """A custom resource as it is now: what its definition has learned or lost since it was stored is filled in or left out,
        and its version is the one that is asked for. Mostly that is the very record."""
        if not self.custom or self.kind.conversion is None:
            return record
        key = (record.name, record.revision)
        found = self._shown.get(key)
        if found is None:
            stored = record.tree()
            obj = self.kind.conversion.from_stored(stored)
            found = record
            if obj is not stored:
                found = Record(record.bucket, record.name, orjson.dumps(obj), record.revision, record.created)
            if len(self._shown) >= KEPT_SHOWN:
                self._shown.clear()
            self._shown[key] = found
        return found

    def follow(self, when_retired: Callable[[], None]) -> Callable[[], None]:
        """Calls back when the kind is served so no longer; returns what ends that."""
        self._followers.add(when_retired)
        return lambda: self._followers.discard(when_retired)

    def retire(self) -> None:
        for each in tuple(self._followers):
            each()

    def name_in_store(self, namespace: str, name: str) -> str:
        return f"{namespace}/{name}" if self.kind.namespaced else name

    def not_found(self, name: str) -> errors.ApiError:
        return errors.not_found(self.kind.group, self.kind.plural, name)

    def item_bytes(self, record: Record) -> bytes:
        """The record's object as it stands in a list."""
        return record.data if self.custom else b"{" + record.data[len(self.head) :]


class Catalogue:
    def __init__(self, schemas: Schemas, kinds: Iterable[Kind], serves: Callable[[Kind], bool] = lambda _: True) -> None:
        """`serves`: whether a built-in kind is turned on."""
        self.schemas = schemas
        self._by_url: dict[tuple[str, str, str], Served] = {}
        self._by_gvk: dict[tuple[str, str, str], Served] = {}
        self._groups: set[str] = set()
        self.generation = 0
        """Raised by every change: what is derived from the catalogue (discovery, OpenAPI) is rebuilt when it differs."""
        self._off: set[tuple[str, str, str]] = set()
        for kind in kinds:
            if serves(kind):
                self.add(Served(kind, schemas.node(kind.schema)))
            else:
                self._off.add(kind.gvk)

    def add(self, served: Served) -> None:
        kind = served.kind
        self._by_url[kind.group, kind.version, kind.plural] = served
        self._by_gvk[kind.gvk] = served
        self._groups.add(kind.group)
        self.generation += 1

    def remove(self, kind: Kind) -> None:
        retired = self._by_url.pop((kind.group, kind.version, kind.plural), None)
        self._by_gvk.pop(kind.gvk, None)
        self._groups = {each.kind.group for each in self._by_url.values()}
        self.generation += 1
        if retired is not None:
            retired.retire()

    def is_off(self, group: str, version: str, kind: str) -> bool:
        """Whether a built-in kind is there, and turned off."""
        return (group, version, kind) in self._off

    def versions_off(self) -> set[tuple[str, str]]:
        """Groups and versions of which all that is built in is turned off."""
        return {(group, version) for group, version, _ in self._off} - {each[:2] for each in self._by_gvk}

    def at(self, group: str, version: str, plural: str) -> Served | None:
        return self._by_url.get((group, version, plural))

    def has_group(self, group: str) -> bool:
        return group in self._groups

    def is_custom_group(self, group: str) -> bool:
        """Whether only definitions put anything into it."""
        return all(each.custom for each in self._by_url.values() if each.kind.group == group)

    def of(self, kind: Kind) -> Served:
        """Raises ApiError 404 for a kind that is served no more."""
        found = self.at(kind.group, kind.version, kind.plural)
        if found is None:
            raise errors.no_such_path()
        return found

    def by_gvk(self, group: str, version: str, kind: str) -> Served | None:
        return self._by_gvk.get((group, version, kind))

    def by_resource(self, group: str, plural: str) -> Served | None:
        """Any version of a resource, the first one listed."""
        for served in self._by_url.values():
            if served.kind.group == group and served.kind.plural == plural:
                return served
        return None

    def __iter__(self) -> Iterator[Served]:
        return iter(tuple(self._by_url.values()))
