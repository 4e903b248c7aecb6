"""Annotations that mean something to the server: mirror pods, deletion cost, and profiles from before they had fields."""

import json
from collections.abc import Iterator

from tiphys.api.pod_template.options import Options, containers, containers_at
from tiphys.api.pod_template.paths import local
from tiphys.api.pod_template.scheduling import validate_tolerations
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, quote
from tiphys.machinery.tree import Obj

MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"

_LOCALHOST = "localhost/"
_SECCOMP_DEFAULTS = ("runtime/default", "docker/default")
_APP_ARMOR_PLAIN = ("", "runtime/default", "unconfined")


def parse_deletion_cost(text: str) -> int | None:
    """A 32-bit integer without a plus sign or leading zeros; None for everything else."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or (text[0] == "0" and text != "0"):
        return None
    cost = int(text)
    return cost if -(2**31) <= cost < 2**31 else None


def validate_annotations(annotations: Obj, spec: Obj, at: str, options: Options) -> Iterator[FieldError]:
    if MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{at}[{MIRROR}]", annotations[MIRROR], why)
    if annotations.get(TOLERATIONS):
        yield from _validate_tolerations(annotations[TOLERATIONS], at, options)
    cost = annotations.get(DELETION_COST)
    if cost is not None and not options.any_deletion_cost and parse_deletion_cost(cost) is None:
        yield invalid(f"{at}[{DELETION_COST}]", cost, "must be a 32bit integer")
    if SECCOMP_POD in annotations:
        yield from _validate_seccomp(annotations[SECCOMP_POD], f"{at}.{SECCOMP_POD}")
    for name, value in annotations.items():
        if name.startswith(SECCOMP_CONTAINER):
            yield from _validate_seccomp(value, f"{at}.{name}")
    for name, value in annotations.items():
        if name.startswith(APP_ARMOR):
            yield from _validate_app_armor(name, value, spec, at)


def _validate_tolerations(text: str, at: str, options: Options) -> Iterator[FieldError]:
    try:
        tolerations = json.loads(text)
    except ValueError as problem:
        yield invalid(at, TOLERATIONS, str(problem))
        return
    if isinstance(tolerations, list) and all(isinstance(each, dict) for each in tolerations):
        yield from validate_tolerations(tolerations, f"{at}.{TOLERATIONS}", options)
    else:
        yield invalid(at, TOLERATIONS, "json: cannot unmarshal into Go value of type []v1.Toleration")


def _validate_seccomp(profile: str, at: str) -> Iterator[FieldError]:
    if profile in _SECCOMP_DEFAULTS or profile == "unconfined":
        return
    if profile.startswith(_LOCALHOST):
        yield from local(profile.removeprefix(_LOCALHOST), at)
    else:
        yield invalid(at, profile, "must be a valid seccomp profile")


def _validate_app_armor(name: str, profile: str, spec: Obj, at: str) -> Iterator[FieldError]:
    container = name.removeprefix(APP_ARMOR)
    if all(each.get("name") != container for each in containers(spec)):
        yield invalid(f"{at}[{name}]", container, "container not found")
    if profile not in _APP_ARMOR_PLAIN and not profile.startswith(_LOCALHOST):
        yield invalid(f"{at}[{name}]", profile, f"invalid AppArmor profile name: {quote(profile)}")


def validate_annotation_update(new: Obj, old: Obj, at: str) -> Iterator[FieldError]:
    """What the kubelet has acted upon already stays as it is."""
    for name, value in old.items():
        if new.get(name) != value:
            if name.startswith(APP_ARMOR):
                yield forbidden(f"{at}[{name}]", "may not remove or update AppArmor annotations")
            if name == MIRROR:
                yield forbidden(f"{at}[{name}]", "may not remove or update mirror pod annotation")
    for name in new:
        if name not in old:
            if name.startswith(APP_ARMOR):
                yield forbidden(f"{at}[{name}]", "may not add AppArmor annotations")
            if name == MIRROR:
                yield forbidden(f"{at}[{name}]", "may not add mirror pod annotation")


def validate_fields_match(annotations: Obj, spec: Obj, at: str) -> Iterator[FieldError]:
    """Where a profile is given by annotation and by field, both must say the same."""
    context = spec.get("securityContext") or {}
    profile = context.get("seccompProfile")
    if profile is not None and SECCOMP_POD in annotations:
        yield from _seccomp_matches(annotations[SECCOMP_POD], profile, f"{at}.securityContext.seccompProfile")
    for container, here in containers_at(spec, at):
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        annotation = annotations.get(SECCOMP_CONTAINER + (container.get("name") or ""))
        if profile is not None and annotation is not None:
            yield from _seccomp_matches(annotation, profile, f"{here}.securityContext.seccompProfile")
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for container, here in containers_at(spec, at):
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = context.get("appArmorProfile") if own is None else own
        annotation = annotations.get(APP_ARMOR + (container.get("name") or ""))
        if profile is not None and annotation is not None:
            yield from _app_armor_matches(annotation, profile, f"{here}.securityContext.appArmorProfile")


def _seccomp_matches(annotation: str, profile: Obj, at: str) -> Iterator[FieldError]:
    return _matches(annotation, profile, "seccomp", _SECCOMP_DEFAULTS, at)


def _app_armor_matches(annotation: str, profile: Obj, at: str) -> Iterator[FieldError]:
    return _matches(annotation, profile, "apparmor", _SECCOMP_DEFAULTS[:1], at)


def _matches(annotation: str, profile: Obj, what: str, defaults: tuple[str, ...], at: str) -> Iterator[FieldError]:
    kind = profile.get("type")
    matches = {
        "Unconfined": annotation == "unconfined",
        "RuntimeDefault": annotation in defaults,
        "Localhost": annotation.startswith(_LOCALHOST),
    }.get(kind or "", True)
    if not matches:
        yield forbidden(child(at, "type"), f"{what} type in annotation and field must match")
    elif kind == "Localhost" and annotation.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
        yield forbidden(child(at, "localhostProfile"), f"{what} profile in annotation and field must match")
