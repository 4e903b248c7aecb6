"""Nobody hands out rights that they do not hold: what roles and bindings are checked against before they are written."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.authz.attributes import Attributes, Authorizer
from tiphys.apiserver.authz.rbac import RbacAuthorizer
from tiphys.apiserver.authz.rules import Rule, compile_rules, covers_url, spell, spell_list
from tiphys.machinery.errors import forbidden, not_found
from tiphys.machinery.tree import Obj, get

GROUP = "rbac.authorization.k8s.io"
FULL_AUTHORITY: tuple[Obj, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)

_LEFT_TO_THE_COLLECTOR = frozenset(("ownerReferences", "finalizers", "managedFields"))


def break_down(rule: Obj) -> Iterator[Obj]:
    """Rules that together say the same, each of one verb, one resource and at most one name."""
    names = rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                simple = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                if names:
                    yield from ({**simple, "resourceNames": [name]} for name in names)
                else:
                    yield simple
    for url in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [url], "verbs": [verb]}


def missing(owner: Iterable[Obj], wanted: Iterable[Obj]) -> list[Obj]:
    """The parts of `wanted` that `owner` does not cover."""
    held = compile_rules(owner)
    parts = (part for rule in wanted for part in break_down(rule))
    return [part for part in parts if not any(_covers(rule, part) for rule in held)]


def covers(owner: Iterable[Obj], wanted: Iterable[Obj]) -> bool:
    return not missing(owner, wanted)


def _covers(rule: Rule, part: Obj) -> bool:
    if not rule.covers_verb(part["verbs"][0]):
        return False
    if "nonResourceURLs" in part:
        return any(covers_url(url, part["nonResourceURLs"][0]) for url in rule.urls)
    group, full = part["apiGroups"][0], part["resources"][0]
    if group not in rule.groups and "*" not in rule.groups:
        return False
    _, _, subresource = full.partition("/")
    if not ("*" in rule.resources or full in rule.resources or (subresource and f"*/{subresource}" in rule.resources)):
        return False
    return not rule.names or part.get("resourceNames", [None])[0] in rule.names


def compact(parts: Iterable[Obj]) -> list[Obj]:
    """Parts that differ in their verb only become one again."""
    merged: dict[tuple[str, str, str | None], Obj] = {}
    others: list[Obj] = []
    for part in parts:
        if "resources" not in part:
            others.append(part)
            continue
        at = part["apiGroups"][0], part["resources"][0], part.get("resourceNames", [None])[0]
        known = merged.get(at)
        merged[at] = {**part, "verbs": [*known["verbs"], *part["verbs"]]} if known else part
    return [*others, *merged.values()]


def problem(user: User, owner: Sequence[Obj], wanted: Iterable[Obj], resolution: str = "") -> str:
    """Why `user` may not pass on `wanted`; empty if they may."""
    lacking = missing(owner, wanted)
    if not lacking:
        return ""
    who = f"user {spell_user(user)} is attempting to grant RBAC permissions not currently held:"
    lines = sorted({spell(rule) for rule in compact(lacking)})
    told = "\n".join((who, *lines))
    return f"{told}; resolution errors: [{resolution}]" if resolution else told


def spell_user(user: User) -> str:
    return f"{spell_list((user.name,))[1:-1]} (groups={spell_list(user.groups)})"


@dataclass(frozen=True, slots=True)
class EscalationGuard:
    """`rbac` knows the rules; `authorizer` is the whole chain, asked for the verbs `escalate` and `bind`."""

    rbac: RbacAuthorizer
    authorizer: Authorizer = field(repr=False)

    async def check_role(self, user: User, role: Obj, old: Obj | None = None) -> None:
        """Raises the 403 for a Role or ClusterRole that `user` may not write."""
        kind, metadata = role["kind"], role["metadata"]
        plural = "clusterroles" if kind == "ClusterRole" else "roles"
        name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
        if MASTERS in user.groups or only_collected(role, old) or await self._may(user, "escalate", plural, name, namespace):
            return
        self._confirm(user, role.get("rules") or (), plural, name, namespace)
        if not (_aggregates(role) or (old is not None and _aggregates(old))):
            return
        rules, _ = self.rbac.policy_rules(user, namespace)
        if not covers(rules, FULL_AUTHORITY):
            told = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden(GROUP, plural, name, told)

    async def check_binding(self, user: User, binding: Obj, old: Obj | None = None) -> None:
        """Raises the 403 for a RoleBinding or ClusterRoleBinding that `user` may not write."""
        plural = "clusterrolebindings" if binding["kind"] == "ClusterRoleBinding" else "rolebindings"
        metadata, reference = binding["metadata"], binding.get("roleRef") or {}
        name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
        if MASTERS in user.groups or only_collected(binding, old):
            return
        roles = "clusterroles" if reference.get("kind") == "ClusterRole" else "roles"
        if await self._may(user, "bind", roles, reference.get("name", ""), namespace):
            return
        rules = self.rbac.rules_of(reference, namespace)
        if rules is None:
            # Upstream names the resource of the request, not that of the role.
            raise not_found(GROUP, plural, reference.get("name", ""))
        self._confirm(user, rules, plural, name, namespace)

    async def _may(self, user: User, verb: str, plural: str, name: str, namespace: str) -> bool:
        asked = Attributes(user, verb, GROUP, "*", plural, namespace=namespace, name=name)
        return (await self.authorizer.authorize(asked)).allowed

    def _confirm(self, user: User, wanted: Iterable[Obj], plural: str, name: str, namespace: str) -> None:
        rules, resolution = self.rbac.policy_rules(user, namespace)
        told = problem(user, rules, wanted, resolution)
        if told:
            raise forbidden(GROUP, plural, name, told)


def _aggregates(role: Obj) -> bool:
    return bool(get(role, ("aggregationRule", "clusterRoleSelectors")))


def only_collected(new: Obj, old: Obj | None) -> bool:
    """Whether the write is of the kind that the garbage collector makes."""
    if old is None:
        return False

    def rest(obj: Obj) -> Obj:
        metadata = {key: value for key, value in obj["metadata"].items() if key not in _LEFT_TO_THE_COLLECTOR}
        return {**obj, "metadata": metadata}

    return rest(new) == rest(old)
