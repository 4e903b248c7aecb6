"""What a PersistentVolume may stand on. Most are also volumes of pods; those that say more here have checks of their own."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from tiphys.api.pod_template.paths import no_backsteps
from tiphys.api.pod_template.remote_volumes import REMOTE
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, not_supported, required, too_long
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import dns1123_label, dns1123_subdomain

Check = Callable[[Obj, str], Iterator[FieldError]]

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_CSI_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
_LONGEST_DRIVER = 63
_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[a-zA-Z0-9]{16}$"),
    "naa": re.compile(r"^naa.[a-zA-Z0-9]{32}$"),
}
_ISCSI_LENGTH_TOLD = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."
)


def default_source(spec: Obj) -> None:
    for kind, values in _DEFAULTS.items():
        source = spec.get(kind)
        if source is None:
            continue
        for part, value in values.items():
            if source.get(part) in (None, ""):
                source[part] = value


_DEFAULTS: dict[str, dict[str, Any]] = {
    "hostPath": {"type": ""},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "iscsi": {"iscsiInterface": "default"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def _host_path(source: Obj, at: str) -> Iterator[FieldError]:
    path, kind = source.get("path") or "", source.get("type")
    if not path:
        yield required(child(at, "path"))
        return
    yield from no_backsteps(path, child(at, "path"))
    if kind is not None and kind not in _HOST_PATH_TYPES:
        yield not_supported(child(at, "type"), kind, _HOST_PATH_TYPES)


def _local(source: Obj, at: str) -> Iterator[FieldError]:
    path = source.get("path") or ""
    if not path:
        yield required(child(at, "path"))
    yield from no_backsteps(path, child(at, "path"))


def _glusterfs(source: Obj, at: str) -> Iterator[FieldError]:
    yield from REMOTE["glusterfs"](source, at)
    namespace, place = source.get("endpointsNamespace"), child(at, "endpointsNamespace")
    if namespace == "":
        yield invalid(place, "", "if the endpointnamespace is set, it must be a valid namespace name")
    elif namespace is not None:
        for problem in dns1123_label(namespace):
            yield invalid(place, namespace, problem)


def _iscsi(source: Obj, at: str) -> Iterator[FieldError]:
    portal, name, initiator = source.get("targetPortal"), source.get("iqn") or "", source.get("initiatorName")
    if not portal:
        yield required(child(at, "targetPortal"))
    if not name:
        yield required(child(at, "iqn"))
    elif not _is_iscsi_name(name):
        yield invalid(child(at, "iqn"), name, "must be valid format")
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        yield invalid(child(at, "lun"), lun, "must be between 0 and 255, inclusive")
    secret = source.get("secretRef")
    if secret is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        yield required(child(at, "secretRef"))
    if secret is not None and not secret.get("name"):
        yield required(child(at, "secretRef", "name"))
    if initiator is not None and not _is_iscsi_name(initiator):
        yield invalid(child(at, "initiatorname"), initiator, "must be valid format")


def _is_iscsi_name(name: str) -> bool:
    pattern = _ISCSI_NAMES.get(name[:3])
    return pattern is not None and pattern.search(name) is not None


def validate_iscsi_length(source: Obj, volume: str, at: str) -> Iterator[FieldError]:
    portal = source.get("targetPortal") or ""
    if source.get("initiatorName") is not None and len(f"{volume}:{portal}") > 64:
        yield invalid(child(at, "targetportal"), portal, _ISCSI_LENGTH_TOLD)


def _secret_with_namespace(source: Obj, at: str) -> Iterator[FieldError]:
    secret = source.get("secretRef")
    if secret is None:
        return
    for part in ("name", "namespace"):
        if not secret.get(part):
            yield required(child(at, "secretRef", part))


def _cinder(source: Obj, at: str) -> Iterator[FieldError]:
    if not source.get("volumeID"):
        yield required(child(at, "volumeID"))
    yield from _secret_with_namespace(source, at)


def _azure_file(source: Obj, at: str) -> Iterator[FieldError]:
    yield from REMOTE["azureFile"](source, at)
    if source.get("secretNamespace") == "":
        yield required(child(at, "secretNamespace"))


def _storageos(source: Obj, at: str) -> Iterator[FieldError]:
    if not source.get("volumeName"):
        yield required(child(at, "volumeName"))
    for part in ("volumeName", "volumeNamespace"):
        if name := source.get(part):
            for problem in dns1123_label(name):
                yield invalid(child(at, part), name, problem)
    yield from _secret_with_namespace(source, at)


def _csi(source: Obj, at: str) -> Iterator[FieldError]:
    driver = source.get("driver") or ""
    if not driver:
        yield required(child(at, "driver"))
    else:
        if len(driver.encode()) > _LONGEST_DRIVER:
            yield too_long(child(at, "driver"), _LONGEST_DRIVER)
        for problem in dns1123_subdomain(driver.lower()):
            yield invalid(child(at, "driver"), driver, problem)
    if not source.get("volumeHandle"):
        yield required(child(at, "volumeHandle"))
    for reference in _CSI_SECRETS:
        secret = source.get(reference)
        if secret is None:
            continue
        for part, check in (("name", dns1123_subdomain), ("namespace", dns1123_label)):
            value = secret.get(part) or ""
            if not value:
                yield required(child(at, reference, part))
                continue
            for problem in check(value):
                yield invalid(child(at, reference, part), value, problem)


# In the order in which upstream counts them.
SOURCES: dict[str, Check] = {
    "hostPath": _host_path,
    "gcePersistentDisk": REMOTE["gcePersistentDisk"],
    "awsElasticBlockStore": REMOTE["awsElasticBlockStore"],
    "glusterfs": _glusterfs,
    "flocker": REMOTE["flocker"],
    "nfs": REMOTE["nfs"],
    "rbd": REMOTE["rbd"],
    "quobyte": REMOTE["quobyte"],
    "cephfs": REMOTE["cephfs"],
    "iscsi": _iscsi,
    "cinder": _cinder,
    "fc": REMOTE["fc"],
    "flexVolume": REMOTE["flexVolume"],
    "azureFile": _azure_file,
    "vsphereVolume": REMOTE["vsphereVolume"],
    "photonPersistentDisk": REMOTE["photonPersistentDisk"],
    "portworxVolume": REMOTE["portworxVolume"],
    "azureDisk": REMOTE["azureDisk"],
    "scaleIO": REMOTE["scaleIO"],
    "local": _local,
    "storageos": _storageos,
    "csi": _csi,
}
_NAMED_IF_SECOND = {"cephfs": "cephFS"}
_NAMED_WITHIN = {"gcePersistentDisk": "persistentDisk"}


def validate_source(spec: Obj, volume: str, at: str) -> Iterator[FieldError]:
    """Exactly one of them; the paths of some are upstream's own mistakes."""
    count = 0
    for kind, check in SOURCES.items():
        source = spec.get(kind)
        if source is None:
            continue
        if count and kind != "flexVolume":
            yield forbidden(child(at, _NAMED_IF_SECOND.get(kind, kind)), "may not specify more than 1 volume type")
            continue
        count += 1
        place = child(at, _NAMED_WITHIN.get(kind, kind))
        yield from check(source, place)
        if kind == "iscsi":
            yield from validate_iscsi_length(source, volume, place)
        if kind == "local" and spec.get("nodeAffinity") is None:
            yield required(child(at, "nodeAffinity"), "Local volume requires node affinity")
    if not count:
        yield required(at, "must specify a volume type")
