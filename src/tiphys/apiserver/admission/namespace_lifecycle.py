"""NamespaceLifecycle: nothing is written into a namespace that is not there, nor created in one that is going away."""

from tiphys.apiserver.admission.chain import WRITES, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors
from tiphys.machinery.errors import Details

IMMORTAL = frozenset(("default", "kube-system", "kube-public"))


class NamespaceLifecycle:
    name = "NamespaceLifecycle"
    operations = WRITES
    resources = None

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def admit(self, attributes: Attributes) -> None:
        kind = attributes.kind
        if kind.plural == "namespaces" and not kind.group:
            if attributes.operation == "DELETE" and attributes.name in IMMORTAL:
                raise attributes.forbidden("this namespace may not be deleted")
            return
        if not attributes.namespace or attributes.operation == "DELETE" or kind.plural == "localsubjectaccessreviews":
            return
        namespace = self._lookup.get("namespaces", attributes.namespace)
        if namespace is None:
            namespace = await self._lookup.fresh("namespaces", attributes.namespace)
        if namespace is None:
            raise errors.not_found("", "namespaces", attributes.namespace)
        if attributes.operation == "CREATE" and namespace.get("status", {}).get("phase") == "Terminating":
            self._refuse(attributes)

    def _refuse(self, attributes: Attributes) -> None:
        where = attributes.namespace
        refusal = attributes.forbidden(f"unable to create new content in namespace {where} because it is being terminated")
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {where} is being terminated",
            "field": "metadata.namespace",
        }
        told = refusal.details or Details()
        refusal.details = Details(told.name, told.group, told.kind, causes=(cause,))
        raise refusal
