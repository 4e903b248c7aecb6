"""Mirror pods must not refer to objects of the API: a kubelet could read them by way of such a pod."""

from collections.abc import Iterator

from tiphys.machinery.tree import Obj

_SECRET_SOURCES = frozenset(
    ("secret", "secretRef", "secretKeyRef", "nodePublishSecretRef", "controllerExpandSecretRef", "controllerPublishSecretRef")
)
_CONFIG_SOURCES = frozenset(("configMap", "configMapRef", "configMapKeyRef"))
_HARMLESS_VOLUMES = frozenset(
    (
        "awsElasticBlockStore",
        "azureDisk",
        "cephfs",
        "cinder",
        "downwardAPI",
        "emptyDir",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "gitRepo",
        "hostPath",
        "image",
        "iscsi",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    )
)
_VOLUMES = {
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTIONS = {
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def referenced_resource(pod: Obj) -> tuple[str, str]:
    """What is wrong with the pod, and what it refers to; both empty for a pod that is all right."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        return "", "serviceaccounts"
    if spec.get("imagePullSecrets") or _mentions(spec, _SECRET_SOURCES):
        return "", "secrets"
    if _mentions(spec, _CONFIG_SOURCES):
        return "", "configmaps"
    if spec.get("resourceClaims"):
        return "", "resourceclaims"
    return next(_volume_references(spec), ("", ""))


def _mentions(value: object, keys: frozenset[str]) -> bool:
    if isinstance(value, list):
        return any(_mentions(each, keys) for each in value)
    if isinstance(value, dict):
        return any((key in keys and isinstance(each, dict)) or _mentions(each, keys) for key, each in value.items())
    return False


def _volume_references(spec: Obj) -> Iterator[tuple[str, str]]:
    for volume in spec.get("volumes") or ():
        kinds = volume.keys() - {"name"}
        if kinds & _HARMLESS_VOLUMES:
            continue
        found = next((said for kind, said in _VOLUMES.items() if kind in kinds), "")
        if found:
            yield "", found
        elif "projected" not in kinds:
            yield f'unknown volume type for volume  "{volume["name"]}"', ""
        for source in (volume.get("projected") or {}).get("sources") or ():
            found = next((said for kind, said in _PROJECTIONS.items() if kind in source), "")
            if found:
                yield "", found
            elif "downwardAPI" not in source:
                yield f'unknown source for projected volume "{volume["name"]}"', ""
