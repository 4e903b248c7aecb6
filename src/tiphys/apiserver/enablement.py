"""Which built-in groups, versions and resources are served: what --runtime-config says of them. Core.

Keys are `api/all`, `api/ga`, `api/beta`, `api/alpha`, `group/version` and `group/version/resource`; whatever is narrower goes
before what is wider (upstream: apiserver/pkg/server/resourceconfig/helpers.go).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tiphys.api.kind import Kind
from tiphys.machinery.fields import quote

_STAGES: Mapping[str, re.Pattern[str]] = {
    "api/all": re.compile(""),
    "api/ga": re.compile(r"v\d+$"),
    "api/beta": re.compile(r"v\d+beta\d+$"),
    "api/alpha": re.compile(r"v\d+alpha\d+$"),
}
_TRUE, _FALSE = ("", "1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")
_NEVER_OFF = ("flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all")

NOT_SERVED: Mapping[str, str] = {
    "admission.k8s.io": "v1 v1beta1",
    "admissionregistration.k8s.io": "v1alpha1 v1beta1",
    "apiextensions.k8s.io": "v1beta1",
    "apiregistration.k8s.io": "v1beta1",
    "apps": "v1beta1 v1beta2",
    "authentication.k8s.io": "v1alpha1 v1beta1",
    "authorization.k8s.io": "v1beta1",
    "batch": "v1beta1",
    "certificates.k8s.io": "v1alpha1 v1beta1",
    "coordination.k8s.io": "v1alpha2 v1beta1",
    "discovery.k8s.io": "v1beta1",
    "events.k8s.io": "v1beta1",
    "extensions": "v1beta1",
    "flowcontrol.apiserver.k8s.io": "v1beta1 v1beta2 v1beta3",
    "imagepolicy.k8s.io": "v1alpha1",
    "internal.apiserver.k8s.io": "v1alpha1",
    "networking.k8s.io": "v1beta1",
    "node.k8s.io": "v1alpha1 v1beta1",
    "policy": "v1beta1",
    "rbac.authorization.k8s.io": "v1alpha1 v1beta1",
    "resource.k8s.io": "v1alpha3 v1beta1 v1beta2",
    "scheduling.k8s.io": "v1alpha2 v1beta1",
    "storage.k8s.io": "v1alpha1 v1beta1",
    "storagemigration.k8s.io": "v1beta1",
}
"""Versions that upstream's v1.36 knows beside those that are served here. They are off, and stay so."""

GroupVersion = tuple[str, str]
REGISTRATION: GroupVersion = ("apiregistration.k8s.io", "v1")


class Unusable(ValueError):
    """What is wrong with it, in upstream's words."""


@dataclass(frozen=True, slots=True)
class Enablement:
    versions: Mapping[GroupVersion, bool] = field(default_factory=dict)
    resources: Mapping[tuple[str, str, str], bool] = field(default_factory=dict)
    """Said of them by name, which goes before what is said of their version."""
    idle: tuple[str, ...] = ()
    """Keys that turn on nothing, since there is nothing of that stage here."""

    def has(self, kind: Kind) -> bool:
        version = self.versions.get((kind.group, kind.version), True)
        return self.resources.get((kind.group, kind.version, kind.plural), version)


def parse(text: str) -> dict[str, str]:
    """`a=b,c` as keys with values."""
    pairs = [each.partition("=") for each in text.split(",") if each]
    return {key.strip(): value.strip() for key, _, value in pairs}


def read(given: Mapping[str, str], kinds: Iterable[Kind]) -> Enablement:
    """What `given` leaves of the built-in kinds. Raises Unusable."""
    given = _without_old_names(given)
    served = {(kind.group, kind.version) for kind in kinds}
    parts = {key: key.split("/") for key in given if key not in _STAGES}
    problems = [*_conflicts(given), *_unknown(given, parts, {group for group, _ in served} | NOT_SERVED.keys())]
    if problems:
        raise Unusable(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    versions, idle = _stages(given, served)
    resources: dict[tuple[str, str, str], bool] = {}
    for key, (group, version, *resource) in sorted(parts.items(), key=lambda each: len(each[1])):
        on = _truth(key, given[key])
        if (group, version) not in served and (on or version not in NOT_SERVED.get(group, "").split()):
            raise Unusable(f"group version {f'{group}/' if group else ''}{version} that has not been registered")
        if not group and not on:
            raise Unusable("the core group cannot be turned off")
        if not resource:
            versions[group, version] = on
        elif resource[0] != resource[0].lower():
            told = f"group/version/resource and resource is always lowercase plural, not {quote(resource[0])}"
            raise Unusable(f"invalid key {key}: {told}")
        else:
            resources[group, version, resource[0]] = on
    if not versions.get(REGISTRATION, True):
        raise Unusable(f"API group/version {'/'.join(REGISTRATION)} must be enabled")
    return Enablement(versions, resources, idle)


def _without_old_names(given: Mapping[str, str]) -> dict[str, str]:
    """The core group has no name; it had been `api` in the times of one group."""
    kept: dict[str, str] = {}
    for key, value in given.items():
        if re.match(r"(api/)?v1(/|$)", key):
            kept["/v1"] = value
        elif key != "api/legacy":
            kept[key] = value
    return kept


def _conflicts(given: Mapping[str, str]) -> Iterator[str]:
    """Requests are always queued by priority, and whoever does that reads how from the API."""
    for key in _NEVER_OFF:
        if given.get(key) == "false":
            yield f"--runtime-config={key}=false conflicts with --enable-priority-and-fairness=true"
        if key in given:
            return


def _unknown(given: Mapping[str, str], parts: Mapping[str, list[str]], groups: Iterable[str]) -> Iterator[str]:
    if given.get("api/all") == "false" and len(given) == 1:
        yield "invalid runtime-config with only api/all=false"
        return
    for key, split in parts.items():
        if len(split) not in (2, 3):
            yield f"runtime-config invalid key {key}"
            return
    unknown = {f"{group}/{version}" for group, version, *_ in parts.values() if group not in groups}
    if unknown:
        yield f"unknown api groups {','.join(sorted(unknown))}"


def _stages(given: Mapping[str, str], served: Iterable[GroupVersion]) -> tuple[dict[GroupVersion, bool], tuple[str, ...]]:
    versions: dict[GroupVersion, bool] = {}
    idle = []
    for stage, pattern in _STAGES.items():
        if stage not in given:
            continue
        if given[stage] not in ("true", "false"):
            raise Unusable(f"invalid value {stage}={given[stage]}")
        matching = [each for each in served if pattern.match(each[1])]
        versions.update(dict.fromkeys(matching, given[stage] == "true"))
        if not matching and given[stage] == "true":
            idle.append(stage)
    return versions, tuple(idle)


def _truth(key: str, value: str) -> bool:
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise Unusable(f"invalid value of {key}: {value}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax")
