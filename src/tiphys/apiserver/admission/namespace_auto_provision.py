"""NamespaceAutoProvision: a namespace appears when something is first written into it."""

from collections.abc import Callable

from tiphys.api.core.namespaces import NAMESPACES
from tiphys.apiserver.admission.chain import CREATE, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.apiserver.rest import writing
from tiphys.machinery.record import encode
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Mismatch, Put, Store


class NamespaceAutoProvision:
    name = "NamespaceAutoProvision"
    operations = CREATE
    resources = None

    def __init__(self, store: Store, lookup: Lookup, new_uid: Callable[[], str]) -> None:
        self._store = store
        self._lookup = lookup
        self._new_uid = new_uid

    async def admit(self, attributes: Attributes) -> None:
        kind, where = attributes.kind, attributes.namespace
        if attributes.dry_run or not where or (kind.plural == "namespaces" and not kind.group):
            return
        if self._lookup.get("namespaces", where) is None:
            await self._create(where, attributes)

    async def _create(self, name: str, attributes: Attributes) -> None:
        namespace: Obj = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}
        NAMESPACES.default(namespace)
        writing.fill_system_metadata(namespace, attributes.now, self._new_uid())
        writing.prepare_new(NAMESPACES, namespace)
        writing.check_new(NAMESPACES, namespace, attributes.warnings)
        try:
            await self._store.write([Put(NAMESPACES.prefix, name, encode(namespace), expect=0)])
        except Mismatch:
            return  # somebody was faster
