"""What the server fills into a pod spec, whether it stands in a pod or in the template of a workload.

Empty strings and zeroes count as left out, as they do on upstream's wire.
"""

from typing import Any

from tiphys.api.pod_template.amounts import rounded
from tiphys.api.pod_template.images import default_pull_policy
from tiphys.machinery.tree import Obj

FILE_MODE = 0o644
TOKEN_LIFETIME = 3600

# Left over from the first releases that had init containers.
_DEAD_ANNOTATIONS = frozenset(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)

VOLUME_SOURCES = frozenset(
    (
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "gitRepo",
        "glusterfs",
        "hostPath",
        "image",
        "iscsi",
        "nfs",
        "persistentVolumeClaim",
        "photonPersistentDisk",
        "portworxVolume",
        "projected",
        "quobyte",
        "rbd",
        "scaleIO",
        "secret",
        "storageos",
        "vsphereVolume",
    )
)


def default(template: Obj) -> None:
    """Fills in a PodTemplateSpec, in place."""
    if template.get("metadata") is None:
        template["metadata"] = {}
    drop_dead_annotations(template["metadata"])
    spec = template.get("spec")
    if spec is None:
        spec = template["spec"] = {"containers": None}
    default_spec(spec)


def drop_dead_annotations(metadata: Obj) -> None:
    annotations = metadata.get("annotations")
    if annotations and not _DEAD_ANNOTATIONS.isdisjoint(annotations):
        for name in _DEAD_ANNOTATIONS:
            annotations.pop(name, None)
        if not annotations:
            del metadata["annotations"]


def default_spec(spec: Obj) -> None:
    """Fills in a PodSpec, in place."""
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    _sync_service_account(spec)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for containers in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            default_container(container)
    if spec.get("overhead"):
        default_amounts(spec["overhead"])
    if spec.get("resources"):
        default_requirements(spec["resources"])


def _sync_service_account(spec: Obj) -> None:
    """The deprecated field is kept equal to the one that replaced it, so that old clients go on reading it."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = name
        spec["serviceAccount"] = name


def default_container(container: Obj) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    resources = container.get("resources")
    if resources is None:
        container["resources"] = {}
    elif resources:
        default_requirements(resources)
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _default_env_source(source)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(probe) is not None:
            default_probe(container[probe])
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for hook in ("postStart", "preStop"):
            if lifecycle.get(hook) and lifecycle[hook].get("httpGet") is not None:
                _default_http_get(lifecycle[hook]["httpGet"])


def _default_env_source(source: Obj) -> None:
    if source.get("fieldRef") is not None:
        _default_field_reference(source["fieldRef"])
    if source.get("resourceFieldRef") is not None:
        _default_resource_reference(source["resourceFieldRef"])
    if source.get("fileKeyRef") is not None and source["fileKeyRef"].get("optional") is None:
        source["fileKeyRef"]["optional"] = False


def _default_field_reference(reference: Obj) -> None:
    if not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def _default_resource_reference(reference: Obj) -> None:
    """Not a default in name, but a divisor is never absent on upstream's wire."""
    if not reference.get("divisor"):
        reference["divisor"] = "0"


def default_probe(probe: Obj) -> None:
    if not probe.get("timeoutSeconds"):
        probe["timeoutSeconds"] = 1
    if not probe.get("periodSeconds"):
        probe["periodSeconds"] = 10
    if not probe.get("successThreshold"):
        probe["successThreshold"] = 1
    if not probe.get("failureThreshold"):
        probe["failureThreshold"] = 3
    if probe.get("httpGet") is not None:
        _default_http_get(probe["httpGet"])
    if probe.get("grpc") is not None and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _default_http_get(action: Obj) -> None:
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def default_requirements(resources: Obj) -> None:
    for name in ("limits", "requests"):
        amounts = resources.get(name)
        if amounts:
            default_amounts(amounts)


def default_amounts(amounts: Obj) -> None:
    """Nothing finer than a thousandth is kept."""
    for name, amount in amounts.items():
        amounts[name] = rounded(amount)


def default_volume(volume: Obj) -> None:
    source = next((name for name in volume if name in VOLUME_SOURCES and volume[name] is not None), None)
    if source is None:
        volume["emptyDir"] = {}
        return
    for name in volume:
        fill = _VOLUME_DEFAULTS.get(name)
        if fill is not None and volume[name] is not None:
            fill(volume[name])


def _default_file_mode(source: Obj) -> None:
    if source.get("defaultMode") is None:
        source["defaultMode"] = FILE_MODE


def _default_downward(source: Obj) -> None:
    _default_file_mode(source)
    _default_downward_items(source)


def _default_downward_items(source: Obj) -> None:
    for item in source.get("items") or ():
        if item.get("fieldRef") is not None:
            _default_field_reference(item["fieldRef"])
        if item.get("resourceFieldRef") is not None:
            _default_resource_reference(item["resourceFieldRef"])


def _default_projected(source: Obj) -> None:
    _default_file_mode(source)
    # Upstream's wire spells even the absence of sources.
    for projection in source.setdefault("sources", None) or ():
        if projection.get("downwardAPI") is not None:
            _default_downward_items(projection["downwardAPI"])
        token = projection.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = TOKEN_LIFETIME


def _default_host_path(source: Obj) -> None:
    if source.get("type") is None:
        source["type"] = ""


def _default_image(source: Obj) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = default_pull_policy(source.get("reference") or "")


def _default_ephemeral(source: Obj) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return
    if template.get("metadata") is None:
        template["metadata"] = {}
    spec = template.setdefault("spec", {})
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    if spec.get("resources") is None:
        spec["resources"] = {}
    default_requirements(spec["resources"])


def _filling(**values: Any) -> Any:
    """A default function that fills in `values` where they were left out."""

    def fill(source: Obj) -> None:
        for name, value in values.items():
            if source.get(name) in (None, ""):
                source[name] = value

    return fill


_VOLUME_DEFAULTS = {
    "azureDisk": _filling(cachingMode="ReadWrite", fsType="ext4", readOnly=False, kind="Shared"),
    "configMap": _default_file_mode,
    "downwardAPI": _default_downward,
    "ephemeral": _default_ephemeral,
    "hostPath": _default_host_path,
    "image": _default_image,
    "iscsi": _filling(iscsiInterface="default"),
    "projected": _default_projected,
    "rbd": _filling(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "scaleIO": _filling(storageMode="ThinProvisioned", fsType="xfs"),
    "secret": _default_file_mode,
}
