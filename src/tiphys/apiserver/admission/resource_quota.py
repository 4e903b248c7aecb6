"""ResourceQuota: what a namespace uses stays below its limits, however many writes come at once.

The charged quota is written in the same transaction as the object that it is charged for: if somebody else charged it
meanwhile, the whole write starts again, and if the object is not written, nothing has been charged.
"""

from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS
from tiphys.api.quota import scopes
from tiphys.api.quota.admitting import Exceeded, charge
from tiphys.apiserver.admission.chain import CREATE_UPDATE, Attributes
from tiphys.machinery.record import encode
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Put, Store


class ResourceQuota:
    name = "ResourceQuota"
    operations = CREATE_UPDATE
    resources = None

    def __init__(self, store: Store) -> None:
        self._store = store

    async def validate(self, attributes: Attributes) -> None:
        if not attributes.namespace or attributes.obj is None or attributes.kind.ephemeral or not _handles(attributes):
            return
        bucket = RESOURCE_QUOTAS.prefix
        listing = await self._store.list(bucket, attributes.namespace)
        for listed in listing.records:
            record = await self._store.latest(bucket, listed.name)
            if record is None:
                continue
            changed = self._charge(attributes, record.tree())
            if changed is not None and not attributes.dry_run:
                attributes.extra.append(Put(bucket, record.name, encode(changed), record.revision))

    def _charge(self, attributes: Attributes, quota: Obj) -> Obj | None:
        assert attributes.obj is not None
        try:
            return charge(quota, attributes.kind, attributes.obj, attributes.old, attributes.now)
        except Exceeded as problem:
            raise attributes.forbidden(str(problem)) from None


def _handles(attributes: Attributes) -> bool:
    """Whether this write can change what the object uses."""
    kind, subresource = attributes.kind, attributes.subresource
    if kind.group or kind.plural not in ("pods", "services", "persistentvolumeclaims"):
        return not subresource and attributes.operation == "CREATE"
    if subresource:
        return kind.plural == "pods" and subresource == "resize" and attributes.operation == "UPDATE"
    if kind.plural == "pods" and attributes.operation == "UPDATE":
        assert attributes.obj is not None
        assert attributes.old is not None
        return scopes.is_terminating(attributes.old) != scopes.is_terminating(attributes.obj)
    return True
