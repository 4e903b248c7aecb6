"""NamespaceExists: nothing is written into a namespace that is not there. NamespaceLifecycle says that, too, and more."""

from tiphys.apiserver.admission.chain import WRITES, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors


class NamespaceExists:
    name = "NamespaceExists"
    operations = WRITES
    resources = None

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def validate(self, attributes: Attributes) -> None:
        kind, where = attributes.kind, attributes.namespace
        if not where or (kind.plural == "namespaces" and not kind.group):
            return
        if self._lookup.get("namespaces", where) is None and await self._lookup.fresh("namespaces", where) is None:
            raise errors.not_found("", "namespaces", where)
