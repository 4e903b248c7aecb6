"""A container's environment: from the Services around it, from maps and secrets, and from its own list.

https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.kubelet.pods.downward import FieldValues, field_value, resource_value
from tiphys.kubelet.pods.env_file import BadFile, value_of
from tiphys.machinery.tree import Obj


class CannotMake(Exception):
    """The container cannot be made as its spec says; the text is upstream's."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What was fetched for a pod: by (namespace-local) name; absent where it does not exist."""

    config_maps: Mapping[str, Obj] = field(default_factory=dict)
    secrets: Mapping[str, Obj] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    """The variables that tell of Services."""
    files: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By volume and path: those that hold variables."""


def referenced(container: Obj) -> tuple[set[str], set[str]]:
    """Names of the config maps and secrets that its environment needs."""
    maps: set[str] = set()
    secrets: set[str] = set()
    for each in container.get("envFrom") or ():
        if each.get("configMapRef"):
            maps.add(each["configMapRef"]["name"])
        if each.get("secretRef"):
            secrets.add(each["secretRef"]["name"])
    for each in container.get("env") or ():
        source = each.get("valueFrom") or {}
        if source.get("configMapKeyRef"):
            maps.add(source["configMapKeyRef"]["name"])
        if source.get("secretKeyRef"):
            secrets.add(source["secretKeyRef"]["name"])
    return maps, secrets


def files_referenced(container: Obj) -> set[tuple[str, str]]:
    """Volume and path of the files that its environment needs."""
    sources = (each.get("valueFrom") or {} for each in container.get("env") or ())
    found = (each["fileKeyRef"] for each in sources if each.get("fileKeyRef"))
    return {(each["volumeName"], each["path"]) for each in found}


def environment(pod: Obj, container: Obj, sources: Sources, values: FieldValues) -> dict[str, str]:
    """In the order of precedence: its own list over what it takes from elsewhere, that over the Services."""
    made: dict[str, str] = {}
    for each in container.get("envFrom") or ():
        made.update(_all_of(each, sources))
    own: dict[str, str] = {}
    for each in container.get("env") or ():
        told = _value(pod, container, each, sources, values, {**sources.services, **made, **own})
        if told is not None:
            own[each["name"]] = told
    return {**sources.services, **made, **own}


def _all_of(entry: Obj, sources: Sources) -> Iterable[tuple[str, str]]:
    prefix = entry.get("prefix") or ""
    for kind, found, words in (
        ("configMapRef", sources.config_maps, "configmap"),
        ("secretRef", sources.secrets, "secret"),
    ):
        reference = entry.get(kind)
        if not reference:
            continue
        held = found.get(reference["name"])
        if held is None:
            if reference.get("optional"):
                continue
            raise CannotMake(f'{words} "{reference["name"]}" not found')
        for key, value in texts(held).items():
            yield prefix + key, value


def texts(held: Obj) -> dict[str, str]:
    """What a config map or a secret says, as text."""
    if held.get("kind") == "Secret":
        from base64 import b64decode

        return {key: b64decode(value).decode(errors="surrogateescape") for key, value in (held.get("data") or {}).items()}
    return dict(held.get("data") or {})


def _value(
    pod: Obj, container: Obj, entry: Obj, sources: Sources, values: FieldValues, so_far: Mapping[str, str]
) -> str | None:
    source = entry.get("valueFrom")
    if not source:
        return expand(entry.get("value") or "", so_far)
    if source.get("fieldRef"):
        return field_value(pod, source["fieldRef"]["fieldPath"], values)
    if source.get("resourceFieldRef"):
        return resource_value(pod, container, source["resourceFieldRef"], values)
    if source.get("fileKeyRef"):
        return _of_file(source["fileKeyRef"], sources.files)
    for kind, found, words in (
        ("configMapKeyRef", sources.config_maps, "configmap"),
        ("secretKeyRef", sources.secrets, "secret"),
    ):
        reference = source.get(kind)
        if reference:
            return _key(pod, reference, found.get(reference["name"]), words)
    return None


def _of_file(reference: Obj, files: Mapping[tuple[str, str], str]) -> str | None:
    key, path = reference["key"], reference["path"]
    try:
        found = value_of(files.get((reference["volumeName"], path), ""), key)
    except BadFile as problem:
        raise CannotMake("couldn't parse env file") from problem
    if not found and not reference.get("optional"):
        raise CannotMake(f'environment variable key "{key}" not found in file "{path}"')
    return found or None


def _key(pod: Obj, reference: Obj, held: Obj | None, words: str) -> str | None:
    optional = reference.get("optional")
    if held is None:
        if optional:
            return None
        raise CannotMake(f'{words} "{reference["name"]}" not found')
    told = texts(held)
    if reference["key"] not in told:
        if optional:
            return None
        kind = "ConfigMap" if words == "configmap" else "Secret"
        raise CannotMake(f"couldn't find key {reference['key']} in {kind} {pod['metadata']['namespace']}/{reference['name']}")
    return told[reference["key"]]


_REFERENCE = re.compile(r"\$(?:\$|\(([^()]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, where there is one; `$$` is a dollar sign (third_party/forked/golang/expansion)."""

    def one(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return values.get(found[1], found[0])

    return _REFERENCE.sub(one, text) if "$" in text else text


def names_in(text: str) -> set[str]:
    """That `expand` looks up."""
    return {found[1] for found in _REFERENCE.finditer(text) if found[0] != "$$"}
