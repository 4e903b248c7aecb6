"""The policy (audit.k8s.io/v1 Policy): the first rule that matches a request says how much of it is recorded. Core."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import yaml

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.request import RequestInfo
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj

RECEIVED, STARTED, COMPLETE, PANIC = "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"
STAGES = (RECEIVED, STARTED, COMPLETE, PANIC)


class Level(IntEnum):
    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


LEVELS = {"None": Level.NONE, "Metadata": Level.METADATA, "Request": Level.REQUEST, "RequestResponse": Level.REQUEST_RESPONSE}
NAMES = {level: name for name, level in LEVELS.items()}


class BadPolicy(ValueError):
    """What is wrong with it."""


@dataclass(frozen=True, slots=True)
class Decision:
    level: Level
    omitted: frozenset[str] = frozenset()
    """Stages that are not recorded."""
    omit_managed_fields: bool = False


@dataclass(frozen=True, slots=True)
class Resources:
    group: str
    resources: tuple[str, ...]
    names: frozenset[str]

    def hold(self, info: RequestInfo) -> bool:
        if self.group not in (info.group, "*"):
            return False
        if not self.resources:
            return True
        if self.names and info.name not in self.names:
            return False
        combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        accepted = {combined, "*", f"{info.resource}/*"}
        if info.subresource:
            accepted.add(f"*/{info.subresource}")
        return not accepted.isdisjoint(self.resources)


@dataclass(frozen=True, slots=True)
class Rule:
    decision: Decision
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    resources: tuple[Resources, ...] = ()
    paths: tuple[str, ...] = ()

    def matches(self, user: User | None, info: RequestInfo) -> bool:
        if self.users and (user is None or user.name not in self.users):
            return False
        if self.groups and (user is None or self.groups.isdisjoint(user.groups)):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._matches_resource(info)
        return not self.paths or (not info.is_resource and any(_path_matches(info.path, each) for each in self.paths))

    def _matches_resource(self, info: RequestInfo) -> bool:
        if not info.is_resource or (self.namespaces and info.namespace not in self.namespaces):
            return False
        return not self.resources or any(each.hold(info) for each in self.resources)


def _path_matches(path: str, wanted: str) -> bool:
    return wanted in ("*", path) or (wanted.endswith("*") and path.startswith(wanted.rstrip("*")))


@dataclass(frozen=True, slots=True)
class Policy:
    rules: tuple[Rule, ...]

    def decide(self, user: User | None, info: RequestInfo) -> Decision:
        return next((rule.decision for rule in self.rules if rule.matches(user, info)), _NOTHING)


_NOTHING = Decision(Level.NONE)


def read(text: str) -> Policy:
    """Raises BadPolicy."""
    try:
        tree: Any = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise BadPolicy(f"failed decoding: {problem}") from None
    if not isinstance(tree, dict) or (tree.get("apiVersion"), tree.get("kind")) != ("audit.k8s.io/v1", "Policy"):
        told = f"{tree.get('apiVersion', '')}, Kind={tree.get('kind', '')}" if isinstance(tree, dict) else ""
        raise BadPolicy(f"unknown group version field {told} in policy")
    if problems := [str(each) for each in _problems(tree)]:
        raise BadPolicy(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    if not tree.get("rules"):
        raise BadPolicy("loaded illegal policy with 0 rules")
    return Policy(tuple(_rule(each, tree) for each in tree["rules"]))


def _rule(given: Obj, policy: Obj) -> Rule:
    omitted = frozenset((*(policy.get("omitStages") or ()), *(given.get("omitStages") or ())))
    omit_managed = given.get("omitManagedFields")
    if omit_managed is None:
        omit_managed = policy.get("omitManagedFields", False)
    return Rule(
        Decision(LEVELS[given["level"]], omitted, bool(omit_managed)),
        _set(given.get("users")),
        _set(given.get("userGroups")),
        _set(given.get("verbs")),
        _set(given.get("namespaces")),
        tuple(
            Resources(each.get("group") or "", tuple(each.get("resources") or ()), _set(each.get("resourceNames")))
            for each in given.get("resources") or ()
        ),
        tuple(given.get("nonResourceURLs") or ()),
    )


def _set(values: Iterable[str] | None) -> frozenset[str]:
    return frozenset(values or ())


def _problems(tree: Obj) -> Iterator[FieldError]:
    yield from _wrong_stages(tree, "omitStages")
    for number, rule in enumerate(tree.get("rules") or ()):
        at = index("rules", number)
        level = rule.get("level") or ""
        if not level:
            yield required(child(at, "level"))
        elif level not in LEVELS:
            yield not_supported(child(at, "level"), level, tuple(LEVELS))
        yield from _wrong_paths(rule.get("nonResourceURLs") or (), child(at, "nonResourceURLs"))
        for each in rule.get("resources") or ():
            if each.get("resourceNames") and not each.get("resources"):
                told = "using resourceNames requires at least one resource"
                yield invalid(child(at, "resources.resourceNames"), each["resourceNames"], told)
        yield from _wrong_stages(rule, child(at, "omitStages"))
        if rule.get("nonResourceURLs") and (rule.get("resources") or rule.get("namespaces")):
            told = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(child(at, "nonResourceURLs"), rule["nonResourceURLs"], told)


def _wrong_paths(paths: Iterable[str], at: str) -> Iterator[FieldError]:
    for number, path in enumerate(paths):
        if path == "*":
            continue
        if not path.startswith("/"):
            yield invalid(index(at, number), path, "non-resource URL rules must begin with a '/' character")
        if "*" in path[:-1]:
            told = "non-resource URL wildcards '*' must be the final character of the rule"
            yield invalid(index(at, number), path, told)


def _wrong_stages(tree: Obj, at: str) -> Iterator[FieldError]:
    for number, stage in enumerate(tree.get("omitStages") or ()):
        if stage not in STAGES:
            yield invalid(index(at, number), stage, f"allowed stages are {','.join(STAGES)}")
