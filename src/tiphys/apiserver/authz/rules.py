"""RBAC rules, compiled once for matching; and what they mean, rule by rule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj

_ALL = frozenset(("*",))
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    urls: tuple[str, ...]
    source: Obj
    """The rule as the role has it; read-only."""

    def covers_verb(self, verb: str) -> bool:
        return verb in self.verbs or "*" in self.verbs

    def covers_resource(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Whatever the name."""
        if not self.covers_verb(verb) or not (group in self.groups or "*" in self.groups):
            return False
        resources = self.resources
        if "*" in resources:
            return True
        if subresource:
            return f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources
        return resource in resources

    def covers_path(self, verb: str, path: str) -> bool:
        return bool(self.urls) and self.covers_verb(verb) and any(covers_url(url, path) for url in self.urls)


def covers_url(pattern: str, path: str) -> bool:
    if pattern in ("*", path):
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


def compile_rule(rule: Obj) -> Rule:
    return Rule(
        _set(rule.get("verbs")),
        _set(rule.get("apiGroups")),
        _set(rule.get("resources")),
        _set(rule.get("resourceNames")),
        tuple(rule.get("nonResourceURLs") or ()),
        rule,
    )


def compile_rules(rules: Iterable[Obj] | None) -> tuple[Rule, ...]:
    return tuple(compile_rule(rule) for rule in rules or ())


def _set(values: Sequence[str] | None) -> frozenset[str]:
    if not values:
        return _NONE
    return _ALL if values == ["*"] else frozenset(values)


_PARTS = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def spell(rule: Obj) -> str:
    """One line of the message about rights that may not be passed on."""
    return "{" + ", ".join(f"{name}:{spell_list(rule[field])}" for name, field in _PARTS if rule.get(field)) + "}"


def spell_list(values: Iterable[str]) -> str:
    return "[" + " ".join(quote(value) for value in values) + "]"
