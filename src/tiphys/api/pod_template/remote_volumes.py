"""Volumes on the network, most of them left from the days before CSI: each has its few required fields."""

import re
from collections.abc import Callable, Iterator

from tiphys.api.pod_template.paths import local
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, invalid, not_supported, required, too_long
from tiphys.machinery.tree import Obj

Check = Callable[[Obj, str], Iterator[FieldError]]

_PARTITION_TOLD = "must be between 1 and 255, inclusive"
_BYTE_TOLD = "must be between 0 and 255, inclusive"
_ISCSI = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}
_HOST_PORTS_TOLD = "must be a host:port pair or multiple pairs separated by commas"
_RESERVED = (".kubernetes.io", ".k8s.io")
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED_URI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
CSI_DRIVER_MAX = 63


def _needs(*names: str) -> Check:
    """For sources that are sound as soon as these fields are set."""

    def check(source: Obj, at: str) -> Iterator[FieldError]:
        for name in names:
            if not source.get(name):
                yield required(f"{at}.{name}")

    return check


def _secret_name(source: Obj, at: str) -> Iterator[FieldError]:
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        yield required(f"{at}.secretRef.name")


def _partitioned(name: str) -> Check:
    def check(source: Obj, at: str) -> Iterator[FieldError]:
        yield from _needs(name)(source, at)
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            yield invalid(f"{at}.partition", partition, _PARTITION_TOLD)

    return check


def _validate_git(source: Obj, at: str) -> Iterator[FieldError]:
    yield from _needs("repository")(source, at)
    yield from local(source.get("directory") or "", f"{at}.directory")


def _validate_nfs(source: Obj, at: str) -> Iterator[FieldError]:
    yield from _needs("server", "path")(source, at)
    path = source.get("path") or ""
    if not path.startswith("/"):
        yield invalid(f"{at}.path", path, "must be an absolute path")


def _validate_iscsi(source: Obj, at: str) -> Iterator[FieldError]:
    yield from _needs("targetPortal", "iqn")(source, at)
    if source.get("iqn"):
        yield from _iscsi_name(source["iqn"], f"{at}.iqn")
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        yield invalid(f"{at}.lun", lun, _BYTE_TOLD)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield required(f"{at}.secretRef")
    if source.get("initiatorName") is not None:
        yield from _iscsi_name(source["initiatorName"], f"{at}.initiatorname")


def _iscsi_name(name: str, at: str) -> Iterator[FieldError]:
    pattern = _ISCSI.get(name[:3])
    if pattern is None:
        yield invalid(at, name, "must be valid format starting with iqn, eui, or naa")
    elif not pattern.search(name):
        yield invalid(at, name, "must be valid format")


def _validate_flocker(source: Obj, at: str) -> Iterator[FieldError]:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID")
    if not name and not uuid:
        yield required(at, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(f"{at}.datasetName", name, "must not contain '/'")


def _validate_cinder(source: Obj, at: str) -> Iterator[FieldError]:
    yield from _needs("volumeID")(source, at)
    yield from _secret_name(source, at)


def _validate_quobyte(source: Obj, at: str) -> Iterator[FieldError]:
    registry = source.get("registry") or ""
    if not registry:
        yield required(f"{at}.registry", _HOST_PORTS_TOLD)
    elif len(source.get("tenant") or "") > 64:
        yield required(f"{at}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not _is_host_port(pair):
                yield invalid(f"{at}.registry", registry, _HOST_PORTS_TOLD)
    yield from _needs("volume")(source, at)


def _is_host_port(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    if not colon or "[" in port or "]" in port:
        return False
    if host.startswith("["):
        return host.endswith("]") and "[" not in host[1:] and "]" not in host[1:-1]
    return not any(each in host for each in ":[]")


def _validate_fc(source: Obj, at: str) -> Iterator[FieldError]:
    names, lun = source.get("targetWWNs"), source.get("lun")
    if not names and not source.get("wwids"):
        yield required(f"{at}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and source.get("wwids"):
        yield invalid(f"{at}.targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously")
    if names:
        if lun is None:
            yield required(f"{at}.lun", "lun is required if targetWWNs is specified")
        elif not 0 <= lun <= 255:
            yield invalid(f"{at}.lun", lun, _BYTE_TOLD)


def _validate_flex(source: Obj, at: str) -> Iterator[FieldError]:
    yield from _needs("driver")(source, at)
    for name in source.get("options") or ():
        if f".{name.partition('/')[0].lower()}".endswith(_RESERVED):
            yield invalid(f"{at}.options[{name}]", name, "kubernetes.io and k8s.io namespaces are reserved")


def _validate_azure_disk(source: Obj, at: str) -> Iterator[FieldError]:
    yield from _needs("diskName", "diskURI")(source, at)
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    if caching is not None and caching not in _CACHING_MODES:
        yield not_supported(f"{at}.cachingMode", caching, _CACHING_MODES)
    if kind is None:
        return
    if kind not in _DISK_KINDS:
        yield not_supported(f"{at}.kind", kind, _DISK_KINDS)
    if kind == "Managed":
        if not uri.startswith("/subscriptions/"):
            yield not_supported(f"{at}.diskURI", uri, (_MANAGED_URI,))
    elif not uri.startswith("https://"):
        yield not_supported(f"{at}.diskURI", uri, (_BLOB_URI,))


def _validate_storageos(source: Obj, at: str) -> Iterator[FieldError]:
    yield from _needs("volumeName")(source, at)
    for field in ("volumeName", "volumeNamespace"):
        if source.get(field):
            for problem in validators.dns1123_label(source[field]):
                yield invalid(f"{at}.{field}", source[field], problem)
    yield from _secret_name(source, at)


def validate_csi_driver(name: str, at: str) -> Iterator[FieldError]:
    if not name:
        yield required(at)
        return
    if len(name) > CSI_DRIVER_MAX:
        yield too_long(at, CSI_DRIVER_MAX)
    for problem in validators.dns1123_subdomain(name.lower()):
        yield invalid(at, name, problem)


def _validate_csi(source: Obj, at: str) -> Iterator[FieldError]:
    yield from validate_csi_driver(source.get("driver") or "", f"{at}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    name = secret.get("name") or ""
    if not name:
        yield required(f"{at}.nodePublishSecretRef.name")
        return
    for problem in validators.dns1123_subdomain(name):
        yield invalid(f"{at}.name", name, problem)


REMOTE: dict[str, Check] = {
    "awsElasticBlockStore": _partitioned("volumeID"),
    "azureDisk": _validate_azure_disk,
    "azureFile": _needs("secretName", "shareName"),
    "cephfs": _needs("monitors"),
    "cinder": _validate_cinder,
    "csi": _validate_csi,
    "fc": _validate_fc,
    "flexVolume": _validate_flex,
    "flocker": _validate_flocker,
    "gcePersistentDisk": _partitioned("pdName"),
    "gitRepo": _validate_git,
    "glusterfs": _needs("endpoints", "path"),
    "iscsi": _validate_iscsi,
    "nfs": _validate_nfs,
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "quobyte": _validate_quobyte,
    "rbd": _needs("monitors", "image"),
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "storageos": _validate_storageos,
    "vsphereVolume": _needs("volumePath"),
}
