"""What a pod refers to, in its namespace: accounts, Secrets, ConfigMaps and claims."""

from collections.abc import Iterator

from tiphys.api.core.pods import facts
from tiphys.machinery.tree import Obj, get

Reference = tuple[str, str, str]
"""(plural, namespace, name)."""

VOLUMES_WITH_SECRETS = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")


def references_of(pod: Obj) -> Iterator[Reference]:
    metadata, spec = pod["metadata"], pod["spec"]
    # A mirror pod is the node's own statement: it must not open anything to the node.
    if facts.is_mirror(pod):
        return
    namespace = metadata.get("namespace", "")
    if spec.get("serviceAccountName"):
        yield "serviceaccounts", namespace, spec["serviceAccountName"]
    named = (*_of_containers(spec), *_of_volumes(metadata["name"], spec), *_of_claims(pod, spec))
    for each in spec.get("imagePullSecrets") or ():
        named = (*named, ("secrets", each.get("name", "")))
    for plural, name in named:
        if name:
            yield plural, namespace, name


def _of_containers(spec: Obj) -> Iterator[tuple[str, str]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            for source in container.get("envFrom") or ():
                yield "secrets", get(source, ("secretRef", "name"), "")
                yield "configmaps", get(source, ("configMapRef", "name"), "")
            for variable in container.get("env") or ():
                source = variable.get("valueFrom") or {}
                yield "secrets", get(source, ("secretKeyRef", "name"), "")
                yield "configmaps", get(source, ("configMapKeyRef", "name"), "")


def _of_volumes(pod: str, spec: Obj) -> Iterator[tuple[str, str]]:
    for volume in spec.get("volumes") or ():
        yield "secrets", get(volume, ("secret", "secretName"), "")
        yield "secrets", get(volume, ("azureFile", "secretName"), "")
        yield "secrets", get(volume, ("csi", "nodePublishSecretRef", "name"), "")
        for kind in VOLUMES_WITH_SECRETS:
            yield "secrets", get(volume, (kind, "secretRef", "name"), "")
        yield "configmaps", get(volume, ("configMap", "name"), "")
        for source in get(volume, ("projected", "sources"), ()):
            yield "secrets", get(source, ("secret", "name"), "")
            yield "configmaps", get(source, ("configMap", "name"), "")
        yield "persistentvolumeclaims", get(volume, ("persistentVolumeClaim", "claimName"), "")
        if volume.get("ephemeral") is not None:
            yield "persistentvolumeclaims", f"{pod}-{volume['name']}"


def _of_claims(pod: Obj, spec: Obj) -> Iterator[tuple[str, str]]:
    """Those made from a template are named in the status."""
    made = {each.get("name"): each.get("resourceClaimName") for each in get(pod, ("status", "resourceClaimStatuses"), ())}
    for claim in spec.get("resourceClaims") or ():
        yield "resourceclaims", claim.get("resourceClaimName") or made.get(claim.get("name")) or ""
    yield "resourceclaims", get(pod, ("status", "extendedResourceClaimStatus", "resourceClaimName"), "")
