"""DefaultStorageClass: a claim that names no class gets the default one."""

from tiphys.apiserver.admission.chain import CREATE, Attributes, Resources
from tiphys.apiserver.admission.default_classes import default_class
from tiphys.apiserver.lookup import Lookup

MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
OLD_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class DefaultStorageClass:
    name = "DefaultStorageClass"
    operations = CREATE
    resources: Resources = frozenset((("", "persistentvolumeclaims"),))

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def admit(self, attributes: Attributes) -> None:
        claim = attributes.obj
        if claim is None or attributes.subresource:
            return
        if OLD_ANNOTATION in (claim["metadata"].get("annotations") or ()):
            return
        if claim["spec"].get("storageClassName") is None:
            name = default_class(await self._lookup.all("storageclasses"), MARKS)
            if name:
                claim["spec"]["storageClassName"] = name
