"""What a role grants and to whom a binding grants it: the parts that the four kinds share."""

from collections.abc import Iterator
from typing import Any

from tiphys.api.kind import AGE, Column
from tiphys.api.pod_template import internal
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1123_subdomain, path_segment

GROUP = "rbac.authorization.k8s.io"


def created_at(obj: Obj, _now: float) -> Any:
    return get(obj, ("metadata", "creationTimestamp"))


CREATED_AT = Column("Created At", created_at, description="When the object was created.")
"""The time itself, not how long ago that is."""


def default(role: Obj) -> None:
    """Upstream's struct always writes its rules."""
    role.setdefault("rules", None)


def validate_rule(rule: Obj, at: str, *, namespaced: bool) -> Iterator[FieldError]:
    if not rule.get("verbs"):
        yield required(child(at, "verbs"), "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            yield invalid(child(at, "nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            told = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(child(at, "nonResourceURLs"), urls, told)
        return
    if not rule.get("apiGroups"):
        yield required(child(at, "apiGroups"), "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(child(at, "resources"), "resource rules must supply at least one resource")


def validate_rules(role: Obj, *, namespaced: bool) -> Iterator[FieldError]:
    for position, rule in enumerate(role.get("rules") or ()):
        yield from validate_rule(rule, index("rules", position), namespaced=namespaced)


def default_binding(binding: Obj) -> None:
    reference = binding.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


def validate_binding(binding: Obj, *, role_kinds: tuple[str, ...], namespaced: bool) -> Iterator[FieldError]:
    reference = binding.get("roleRef") or {}
    if reference.get("apiGroup", "") != GROUP:
        yield not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,))
    if reference.get("kind", "") not in role_kinds:
        yield not_supported("roleRef.kind", reference.get("kind", ""), role_kinds)
    name = reference.get("name", "")
    if not name:
        yield required("roleRef.name")
    for told in path_segment(name):
        yield invalid("roleRef.name", name, told)
    for position, subject in enumerate(binding.get("subjects") or ()):
        yield from validate_subject(subject, index("subjects", position), namespaced=namespaced)


def validate_subject(subject: Obj, at: str, *, namespaced: bool) -> Iterator[FieldError]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        yield required(child(at, "name"))
    if kind == "ServiceAccount":
        if name:
            for told in dns1123_subdomain(name):
                yield invalid(child(at, "name"), name, told)
        if group:
            yield not_supported(child(at, "apiGroup"), group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(child(at, "namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            yield not_supported(child(at, "apiGroup"), group, (GROUP,))
    else:
        yield not_supported(child(at, "kind"), kind, ("ServiceAccount", "User", "Group"))


def validate_binding_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    if new.get("roleRef") != old.get("roleRef"):
        yield invalid("roleRef", internal.told(new.get("roleRef") or {}, "RoleRef"), "cannot change roleRef")


def role_of(binding: Obj, _now: float) -> str:
    reference = binding.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def users_of(binding: Obj, _now: float) -> str:
    return _names(binding, "User")


def groups_of(binding: Obj, _now: float) -> str:
    return _names(binding, "Group")


def service_accounts_of(binding: Obj, _now: float) -> str:
    accounts = (each for each in binding.get("subjects") or () if each.get("kind") == "ServiceAccount")
    return ", ".join(f"{each.get('namespace', '')}/{each.get('name', '')}" for each in accounts)


def _names(binding: Obj, kind: str) -> str:
    return ", ".join(each.get("name", "") for each in binding.get("subjects") or () if each.get("kind") == kind)


def binding_columns(binding: str) -> tuple[Column, ...]:
    return (
        Column("Role", role_of, description="The role that is granted."),
        AGE,
        Column("Users", users_of, description=f"Users in the {binding}", wide=True),
        Column("Groups", groups_of, description=f"Groups in the {binding}", wide=True),
        Column("ServiceAccounts", service_accounts_of, description=f"ServiceAccounts in the {binding}", wide=True),
    )
