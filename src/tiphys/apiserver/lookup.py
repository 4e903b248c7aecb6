"""Stored objects as admission and authentication need them: read-only trees, decoded once a revision."""

from collections import OrderedDict
from collections.abc import Iterator

from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Store

KEPT = 2048


class Lookup:
    """Reads what this server has seen; see Store.peek."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trees: OrderedDict[tuple[str, str], tuple[int, Obj]] = OrderedDict()

    def get(self, bucket: str, name: str) -> Obj | None:
        record = self._store.peek(bucket, name)
        return self._tree(record) if record is not None else None

    async def fresh(self, bucket: str, name: str) -> Obj | None:
        """Linearizable: for "it is not there", which a server that lags behind must not say."""
        record = await self._store.get(bucket, name)
        return self._tree(record) if record is not None else None

    async def all(self, bucket: str, namespace: str = "") -> Iterator[Obj]:
        listing = await self._store.list(bucket, namespace, revision=0)
        return (self._tree(record) for record in listing.records)

    def _tree(self, record: Record) -> Obj:
        key = (record.bucket, record.name)
        kept = self._trees.get(key)
        if kept is not None and kept[0] == record.revision:
            return kept[1]
        tree = record.tree()
        self._trees[key] = (record.revision, tree)
        if len(self._trees) > KEPT:
            self._trees.popitem(last=False)
        return tree
