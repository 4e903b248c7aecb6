"""Where a container finds the volumes of its pod."""

from collections.abc import Iterator

from tiphys.api.pod_template.paths import local, no_backsteps
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_found, not_supported, required
from tiphys.machinery.tree import Obj

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def _named(listed: list[Obj] | None, field: str) -> dict[str, str]:
    return {each.get("name") or "": each.get(field) or "" for each in listed or ()}


def validate_mounts(container: Obj, volumes: dict[str, Obj], at: str) -> Iterator[FieldError]:
    devices = _named(container.get("volumeDevices"), "devicePath")
    taken = set()
    for position, mount in enumerate(container["volumeMounts"]):
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield required(f"{at}[{position}].name")
        if name not in volumes:
            yield not_found(f"{at}[{position}].name", name)
        if not path:
            yield required(f"{at}[{position}].mountPath")
        if path in taken:
            yield invalid(f"{at}[{position}].mountPath", path, "must be unique")
        taken.add(path)
        if devices:
            if name in devices:
                yield invalid(f"{at}[{position}].name", name, "must not already exist in volumeDevices")
            if path in devices.values():
                yield invalid(f"{at}[{position}].mountPath", path, "must not already exist as a path in volumeDevices")
        yield from _validate_mount_options(mount, container, at, position)


def _validate_mount_options(mount: Obj, container: Obj, at: str, position: int) -> Iterator[FieldError]:
    """Upstream leaves the index out of most of these paths."""
    sub_path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub_path:
        yield from local(sub_path, f"{at}.subPath")
    if expression:
        if sub_path:
            yield invalid(f"{at}[{position}].subPathExpr", expression, "subPathExpr and subPath are mutually exclusive")
        yield from local(expression, f"{at}.subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            yield not_supported(f"{at}.mountPropagation", propagation, _PROPAGATIONS)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            why = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(f"{at}.mountPropagation", why)
    recursive = mount.get("recursiveReadOnly")
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden(f"{at}.recursiveReadOnly", "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            why = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(f"{at}.recursiveReadOnly", why)
    elif recursive is not None and recursive != "Disabled":
        yield not_supported(f"{at}.recursiveReadOnly", recursive, _RECURSIVE)


def validate_devices(container: Obj, volumes: dict[str, Obj], at: str) -> Iterator[FieldError]:
    mounts = _named(container.get("volumeMounts"), "mountPath")
    paths, names = set(), set()
    for position, device in enumerate(container["volumeDevices"]):
        here = f"{at}[{position}]"
        name, path = device.get("name") or "", device.get("devicePath") or ""
        if not name:
            yield required(f"{here}.name")
        if name in names:
            yield invalid(f"{here}.name", name, "must be unique")
        volume = volumes.get(name)
        if volume is None:
            yield not_found(f"{here}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{here}.name", name, why)
        if not path:
            yield required(f"{here}.devicePath")
        if path in paths:
            yield invalid(f"{here}.devicePath", path, "must be unique")
        if any(no_backsteps(path, "")):
            yield invalid(f"{here}.devicePath", path, "can not contain backsteps ('..')")
        else:
            paths.add(path)
        if name in mounts:
            yield invalid(f"{here}.name", name, "must not already exist in volumeMounts")
        if path in mounts.values():
            yield invalid(f"{here}.devicePath", path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)
