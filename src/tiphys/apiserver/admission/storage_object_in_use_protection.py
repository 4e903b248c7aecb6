"""StorageObjectInUseProtection: claims, volumes and their classes are born with the finalizer that keeps them while used."""

from tiphys.apiserver.admission.chain import CREATE, Attributes, Resources

FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection:
    name = "StorageObjectInUseProtection"
    operations = CREATE
    resources: Resources = frozenset(
        (("", "persistentvolumes"), ("", "persistentvolumeclaims"), ("storage.k8s.io", "volumeattributesclasses"))
    )

    def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or attributes.subresource:
            return
        metadata, finalizer = attributes.obj["metadata"], FINALIZERS[attributes.kind.plural]
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
