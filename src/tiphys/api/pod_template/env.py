"""The environment of a container."""

from collections.abc import Iterator
from typing import Any

from tiphys.api.pod_template.paths import no_backsteps
from tiphys.machinery import quantity, validators
from tiphys.machinery.fields import FieldError, invalid, not_found, not_supported, required
from tiphys.machinery.tree import Obj

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
RESOURCE_FIELDS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_SUBSCRIPTED = ("metadata.annotations", "metadata.labels")
_KNOWN_FIELDS = frozenset((*ENV_FIELDS, *_SUBSCRIPTED, "spec.restartPolicy", "spec.schedulerName", "status.phase"))
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")

_BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_BYTES_TOLD = f"only divisor's values {', '.join(_BYTES)} are supported with the "
_DIVISORS: dict[str, tuple[tuple[str, ...], str]] = {
    "cpu": (("1m", "1"), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (_BYTES, _BYTES_TOLD + "memory resource"),
    "ephemeral-storage": (_BYTES, _BYTES_TOLD + "local ephemeral storage resource"),
}


def validate_env(variables: list[Obj], at: str) -> Iterator[FieldError]:
    for position, variable in enumerate(variables):
        name = variable.get("name") or ""
        if not name:
            yield required(f"{at}[{position}].name")
        else:
            for problem in validators.relaxed_env_var_name(name):
                yield invalid(f"{at}[{position}].name", name, problem)
        source = variable.get("valueFrom")
        if source is not None:
            yield from _validate_source(variable, source, f"{at}[{position}].valueFrom")


def _validate_source(variable: Obj, source: Obj, at: str) -> Iterator[FieldError]:
    given = [name for name in _SOURCES if source.get(name) is not None]
    for name in given:
        yield from _VALIDATE_SOURCE[name](source[name], f"{at}.{name}")
    if not given:
        told = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(at, "", told)
    elif variable.get("value"):
        yield invalid(at, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(at, "", "may not have more than one field specified at a time")


def split_subscript(path: str) -> tuple[str, str | None]:
    """`metadata.labels['app']` is (`metadata.labels`, `app`); a plain path has no subscript."""
    if path.endswith("']"):
        head, found, subscript = path[:-2].partition("['")
        if found and head:
            return head, subscript
    return path, None


def validate_field_reference(reference: Obj, known: tuple[str, ...], at: str) -> Iterator[FieldError]:
    version, path = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        yield required(f"{at}.apiVersion")
        return
    if not path:
        yield required(f"{at}.fieldPath")
        return
    head, subscript = split_subscript(path)
    if version != "v1":
        yield _unconverted(at, path, f"unsupported pod version: {version}")
    elif subscript is not None:
        if head not in _SUBSCRIPTED:
            yield _unconverted(at, path, f"field label does not support subscript: {path}")
            return
        name = subscript.lower() if head == "metadata.annotations" else subscript
        for problem in validators.qualified_name(name):
            yield invalid(at, name, problem)
    elif path != "spec.host" and path not in _KNOWN_FIELDS:
        yield _unconverted(at, path, f"field label not supported: {path}")
    else:
        path = "spec.nodeName" if path == "spec.host" else path
        if path not in known:
            yield not_supported(f"{at}.fieldPath", path, sorted(known))


def _unconverted(at: str, path: str, why: str) -> FieldError:
    return invalid(f"{at}.fieldPath", path, f"error converting fieldPath: {why}")


def validate_resource_reference(reference: Obj, at: str, in_volume: bool = False) -> Iterator[FieldError]:
    resource = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        yield required(f"{at}.containerName")
    elif not resource:
        yield required(f"{at}.resource")
    elif resource not in RESOURCE_FIELDS and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{at}.resource", resource, RESOURCE_FIELDS)
    divisor = reference.get("divisor")
    if divisor and divisor != "0":
        yield from _validate_divisor(resource, divisor, at)


def _validate_divisor(resource: str, divisor: str, at: str) -> Iterator[FieldError]:
    parsed = quantity.parse(divisor)
    if not parsed.sign():
        return
    if resource.startswith(_HUGE_PAGES):
        allowed: tuple[str, ...] = _BYTES
        told = _BYTES_TOLD + "hugepages resource"
    elif resource in RESOURCE_FIELDS:
        allowed, told = _DIVISORS[resource.partition(".")[2]]
    else:
        return
    if str(parsed) not in allowed:
        yield invalid(f"{at}.divisor", resource, told)


def _validate_key(selector: Obj, at: str) -> Iterator[FieldError]:
    name, key = selector.get("name") or "", selector.get("key") or ""
    for problem in validators.dns1123_subdomain(name):
        yield invalid(f"{at}.name", name, problem)
    if not key:
        yield required(f"{at}.key")
        return
    for problem in validators.config_map_key(key):
        yield invalid(f"{at}.key", key, problem)


def _validate_file_key(selector: Obj, at: str) -> Iterator[FieldError]:
    key, volume, path = selector.get("key") or "", selector.get("volumeName") or "", selector.get("path") or ""
    if not key:
        yield required(f"{at}.key")
    else:
        for problem in validators.relaxed_env_var_name(key):
            yield invalid(f"{at}.key", key, problem)
    if not volume:
        yield required(f"{at}.volumeName")
    else:
        for problem in validators.dns1123_label(volume):
            yield invalid(f"{at}.volumeName", volume, problem)
    if not path:
        yield required(f"{at}.path")
    else:
        yield from no_backsteps(path, f"{at}.path")


def _validate_env_field(reference: Obj, at: str) -> Iterator[FieldError]:
    return validate_field_reference(reference, ENV_FIELDS, at)


_VALIDATE_SOURCE: dict[str, Any] = {
    "fieldRef": _validate_env_field,
    "resourceFieldRef": validate_resource_reference,
    "configMapKeyRef": _validate_key,
    "secretKeyRef": _validate_key,
    "fileKeyRef": _validate_file_key,
}


def validate_env_from(sources: list[Obj], at: str) -> Iterator[FieldError]:
    for position, source in enumerate(sources):
        prefix = source.get("prefix")
        if prefix:
            for problem in validators.relaxed_env_var_name(prefix):
                yield invalid(f"{at}[{position}].prefix", prefix, problem)
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            yield from _validate_named(source[name], f"{at}[{position}].{name}.name")
        if not given:
            yield invalid(at, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(at, "", "may not have more than one field specified at a time")


def _validate_named(reference: Obj, at: str) -> Iterator[FieldError]:
    name = reference.get("name") or ""
    if not name:
        yield required(at)
        return
    # Upstream takes it for the start of a generated name, which may end in a dash.
    for problem in validators.dns1123_subdomain(name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name):
        yield invalid(at, name, problem)


def validate_file_references(spec: Obj, containers: Iterator[tuple[Obj, str]]) -> Iterator[FieldError]:
    """Variables read from a file need an emptyDir that holds the file."""
    volumes = {volume.get("name"): volume for volume in spec.get("volumes") or ()}
    for container, place in containers:
        for position, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name = reference.get("volumeName") or ""
            here = f"{place}.env[{position}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                yield not_found(here, name)
            elif volumes[name].get("emptyDir") is None:
                yield invalid(here, name, "referenced volume must be of type emptyDir")
