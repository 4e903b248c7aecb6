"""PersistentVolumeClaimResize: a claim grows only where its class says that volumes can."""

from tiphys.apiserver.admission.chain import UPDATE, Attributes, Resources
from tiphys.apiserver.admission.default_storage_class import OLD_ANNOTATION
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj, get


class PersistentVolumeClaimResize:
    name = "PersistentVolumeClaimResize"
    operations = UPDATE
    resources: Resources = frozenset((("", "persistentvolumeclaims"),))

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def validate(self, attributes: Attributes) -> None:
        new, old = attributes.obj, attributes.old
        if new is None or old is None or attributes.subresource or not _size(new) > _size(old):
            return
        if get(old, ("status", "phase")) != "Bound":
            raise attributes.forbidden("Only bound persistent volume claims can be expanded")
        if not self._may_grow(new, old):
            raise attributes.forbidden(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
                "must support resize"
            )

    def _may_grow(self, new: Obj, old: Obj) -> bool:
        name = _class_of(new)
        if not name or name != _class_of(old):
            return False
        storage_class = self._lookup.get("storageclasses", name)
        return storage_class is not None and bool(storage_class.get("allowVolumeExpansion"))


def _size(claim: Obj) -> Quantity:
    return quantity.parse(get(claim, ("spec", "resources", "requests", "storage")) or 0)


def _class_of(claim: Obj) -> str:
    annotated = (claim["metadata"].get("annotations") or {}).get(OLD_ANNOTATION)
    return annotated if annotated is not None else claim["spec"].get("storageClassName") or ""
