"""The volumes of a pod, of every kind that there ever was."""

from collections.abc import Callable, Iterator
from typing import Any

from tiphys.api.pod_template.containers import validate_pull_policy
from tiphys.api.pod_template.options import Options
from tiphys.api.pod_template.paths import no_backsteps
from tiphys.api.pod_template.projected import validate_downward, validate_items, validate_mode, validate_projected
from tiphys.api.pod_template.remote_volumes import REMOTE
from tiphys.api.pod_template.volume_claims import validate_claim_template
from tiphys.machinery import quantity, validators
from tiphys.machinery.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from tiphys.machinery.tree import Obj

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")

# In the order in which upstream counts them; those with a second name are told of by it, now and then by mistake.
_ORDER = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
_NAMED_IF_SECOND = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_NAMED_WITHIN = {"gcePersistentDisk": "persistentDisk"}


def validate_volumes(volumes: list[Obj], pod_name: str, at: str, options: Options) -> tuple[dict[str, Obj], list[FieldError]]:
    """The sound volumes by name, and what is wrong with the others. `pod_name` is empty where it is not known yet."""
    found: dict[str, Obj] = {}
    problems: list[FieldError] = []
    created = {f"{pod_name}-{each.get('name') or ''}" for each in volumes if pod_name and each.get("ephemeral") is not None}
    for position, volume in enumerate(volumes):
        here = f"{at}[{position}]"
        name = volume.get("name") or ""
        own = list(_validate_source(volume, name, pod_name, here, options))
        if not name:
            own.append(required(f"{here}.name"))
        else:
            own += [invalid(f"{here}.name", name, problem) for problem in validators.dns1123_label(name)]
        if name in found:
            own.append(duplicate(f"{here}.name", name))
        if not own:
            found[name] = volume
        problems += own
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            problems.append(invalid(f"{here}.persistentVolumeClaim.claimName", claim, why))
    return found, problems


def _validate_source(volume: Obj, name: str, pod_name: str, at: str, options: Options) -> Iterator[FieldError]:
    given = [kind for kind in volume if kind != "name" and volume[kind] is not None]
    if len(given) > 1:
        given = [kind for kind in _ORDER if volume.get(kind) is not None]
    if not given:
        yield required(at, "must specify a volume type")
    for place, kind in enumerate(given):
        if place:
            yield forbidden(f"{at}.{_NAMED_IF_SECOND.get(kind, kind)}", "may not specify more than 1 volume type")
        elif kind in _SOURCES:
            yield from _SOURCES[kind](volume[kind], f"{at}.{_NAMED_WITHIN.get(kind, kind)}", options)
            if kind == "ephemeral" and pod_name and name:
                yield from _validate_created_claim(f"{pod_name}-{name}", name, at)
        if kind == "iscsi":
            yield from _validate_iscsi_length(volume[kind], name, at)


def _validate_created_claim(claim: str, name: str, at: str) -> Iterator[FieldError]:
    for problem in validators.dns1123_subdomain(claim):
        yield invalid(f"{at}.name", name, f'PVC name "{claim}": {problem}')


def _validate_iscsi_length(source: Obj, name: str, at: str) -> Iterator[FieldError]:
    if source.get("initiatorName") is not None and len(f"{name}:{source.get('targetPortal') or ''}") > 64:
        told = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        yield invalid(f"{at}.name", name, told)


def _validate_empty_dir(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
    limit = source.get("sizeLimit")
    if limit and quantity.parse(limit).sign() < 0:
        yield forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _validate_host_path(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
    path, kind = source.get("path") or "", source.get("type")
    if not path:
        yield required(f"{at}.path")
        return
    yield from no_backsteps(path, f"{at}.path")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        yield not_supported(f"{at}.type", kind, _HOST_PATH_TYPES)


def _validate_secret(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
    if not source.get("secretName"):
        yield required(f"{at}.secretName")
    yield from validate_mode(source.get("defaultMode"), f"{at}.defaultMode")
    if source.get("items"):
        yield from validate_items(source["items"], f"{at}.items")


def _validate_config_map(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
    if not source.get("name"):
        yield required(f"{at}.name")
    yield from validate_mode(source.get("defaultMode"), f"{at}.defaultMode")
    if source.get("items"):
        yield from validate_items(source["items"], f"{at}.items")


def _validate_downward_volume(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
    yield from validate_mode(source.get("defaultMode"), f"{at}.defaultMode")
    for item in source.get("items") or ():
        yield from validate_downward(item, at)


def _validate_claim(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
    if not source.get("claimName"):
        yield required(f"{at}.claimName")


def _validate_ephemeral(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{at}.volumeClaimTemplate")
    else:
        yield from validate_claim_template(template, f"{at}.volumeClaimTemplate")


def _validate_image(source: Obj, at: str, options: Options) -> Iterator[FieldError]:
    if options.is_pod and not source.get("reference"):
        yield required(f"{at}.reference")
    yield from validate_pull_policy(source.get("pullPolicy"), f"{at}.pullPolicy")


def _without_options(check: Callable[[Obj, str], Iterator[FieldError]]) -> Callable[[Obj, str, Options], Iterator[FieldError]]:
    def checked(source: Obj, at: str, _options: Options) -> Iterator[FieldError]:
        return check(source, at)

    return checked


_SOURCES: dict[str, Callable[[Any, str, Options], Iterator[FieldError]]] = {
    "emptyDir": _validate_empty_dir,
    "hostPath": _validate_host_path,
    "secret": _validate_secret,
    "configMap": _validate_config_map,
    "downwardAPI": _validate_downward_volume,
    "projected": validate_projected,
    "persistentVolumeClaim": _validate_claim,
    "ephemeral": _validate_ephemeral,
    "image": _validate_image,
    **{kind: _without_options(check) for kind, check in REMOTE.items()},
}
