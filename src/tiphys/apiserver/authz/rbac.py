"""Roles and bindings as an authorizer: what is granted to whom, resolved on first question and remembered until a change.

A question is looked up without the object's name first: most rules do not mention names, so requests for a thousand pods
share one answer. Any change of a role or binding forgets all answers; resolving anew looks only at the bindings of the user
and their groups, however many there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tiphys.apiserver.authn.user import SERVICE_ACCOUNT_PREFIX, User
from tiphys.apiserver.authz.attributes import Attributes, Decision, Rules, Verdict
from tiphys.apiserver.authz.rules import Rule, compile_rules
from tiphys.machinery.errors import not_found
from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj

GROUP = "rbac.authorization.k8s.io"
MOST_ANSWERS = 50_000

Subject = tuple[str, str]
"""("User", name) or ("Group", name): a service account is the user it goes by."""


@dataclass(frozen=True, slots=True)
class Binding:
    key: str
    role_kind: str
    role: str
    subjects: tuple[tuple[Subject, str], ...]
    """Each with its part of the reason."""
    told: str


@dataclass(slots=True)
class _Scope:
    """The bindings of the cluster, or of one namespace."""

    bindings: dict[str, Binding] = field(default_factory=dict)
    of_subject: dict[Subject, set[str]] = field(default_factory=dict)

    def add(self, binding: Binding) -> None:
        self.remove(binding.key)
        self.bindings[binding.key] = binding
        for subject, _ in binding.subjects:
            self.of_subject.setdefault(subject, set()).add(binding.key)

    def remove(self, key: str) -> None:
        binding = self.bindings.pop(key, None)
        for subject, _ in binding.subjects if binding else ():
            keys = self.of_subject.get(subject)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self.of_subject[subject]

    def applying(self, subjects: Iterable[Subject]) -> list[Binding]:
        """By name, so that the same binding is named as the reason each time."""
        keys: set[str] = set()
        for subject in subjects:
            keys |= self.of_subject.get(subject, frozenset())
        return [self.bindings[key] for key in sorted(keys)]


@dataclass(frozen=True, slots=True)
class _Answer:
    """To a question without its name: for every name, or for some."""

    otherwise: Decision
    names: dict[str, Decision]


class RbacAuthorizer:
    """Given the objects one by one (`set`, `remove`); asked with `authorize`."""

    def __init__(self) -> None:
        self._roles: dict[str, tuple[Rule, ...]] = {}
        self._cluster_roles: dict[str, tuple[Rule, ...]] = {}
        self._cluster = _Scope()
        self._namespaces: dict[str, _Scope] = {}
        self._answers: dict[tuple[User, str, str, str, str, str], _Answer] = {}
        self._paths: dict[tuple[User, str, str], Decision] = {}

    def set(self, kind: str, obj: Obj) -> None:
        """`kind` is Role, ClusterRole, RoleBinding or ClusterRoleBinding."""
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        if kind == "Role":
            self._roles[f"{namespace}/{name}"] = compile_rules(obj.get("rules"))
        elif kind == "ClusterRole":
            self._cluster_roles[name] = compile_rules(obj.get("rules"))
        elif kind == "ClusterRoleBinding":
            self._cluster.add(_binding(obj, name, ""))
        elif kind == "RoleBinding":
            self._namespaces.setdefault(namespace, _Scope()).add(_binding(obj, name, namespace))
        else:
            raise ValueError(f"not a kind of RBAC: {kind}")
        self._forget()

    def remove(self, kind: str, key: str) -> None:
        """`key` is `name`, or `namespace/name`."""
        namespace, _, name = key.rpartition("/")
        if kind == "Role":
            self._roles.pop(key, None)
        elif kind == "ClusterRole":
            self._cluster_roles.pop(key, None)
        elif kind == "ClusterRoleBinding":
            self._cluster.remove(key)
        elif namespace in self._namespaces:
            self._namespaces[namespace].remove(name)
        self._forget()

    def _forget(self) -> None:
        self._answers.clear()
        self._paths.clear()

    def authorize(self, asked: Attributes) -> Decision:
        if asked.path:
            return self._authorize_path(asked)
        key = (asked.user, asked.verb, asked.group, asked.resource, asked.subresource, asked.namespace)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            answer = self._answers[key] = self._resolve(*key)
        return answer.names.get(asked.name, answer.otherwise) if answer.names else answer.otherwise

    def _authorize_path(self, asked: Attributes) -> Decision:
        key = (asked.user, asked.verb, asked.path)
        found = self._paths.get(key)
        if found is None:
            if len(self._paths) >= MOST_ANSWERS:
                self._paths.clear()
            found = self._paths[key] = self._resolve_path(*key)
        return found

    def _resolve(self, user: User, verb: str, group: str, resource: str, subresource: str, namespace: str) -> _Answer:
        problems: list[str] = []
        names: dict[str, Decision] = {}
        for told, rule in self._granted(user, namespace, problems):
            if not rule.covers_resource(verb, group, resource, subresource):
                continue
            decision = Decision(Verdict.ALLOW, f"RBAC: allowed by {told}")
            if not rule.names:
                return _Answer(decision, names)
            for name in rule.names:
                names.setdefault(name, decision)
        return _Answer(_undecided(problems), names)

    def _resolve_path(self, user: User, verb: str, path: str) -> Decision:
        problems: list[str] = []
        for told, rule in self._granted(user, "", problems):
            if rule.covers_path(verb, path):
                return Decision(Verdict.ALLOW, f"RBAC: allowed by {told}")
        return _undecided(problems)

    def _granted(self, user: User, namespace: str, problems: list[str]) -> Iterator[tuple[str, Rule]]:
        """Every rule that holds for `user`, with the binding that grants it; what cannot be resolved goes to `problems`."""
        subjects = (("User", user.name), *(("Group", group) for group in user.groups))
        wanted = frozenset(subjects)
        for scope, inside in ((self._cluster, ""), (self._namespaces.get(namespace) if namespace else None, namespace)):
            for binding in scope.applying(subjects) if scope else ():
                rules = self._rules(binding.role_kind, binding.role, inside)
                if rules is None:
                    problems.append(_missing(binding.role_kind, binding.role))
                    continue
                told = binding.told + next(part for subject, part in binding.subjects if subject in wanted)
                for rule in rules:
                    yield told, rule

    def _rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        if kind == "ClusterRole":
            return self._cluster_roles.get(name)
        return self._roles.get(f"{namespace}/{name}")

    def policy_rules(self, user: User, namespace: str) -> tuple[list[Obj], str]:
        """Every rule that holds for `user` there, and what could not be resolved."""
        problems: list[str] = []
        rules = [rule.source for _, rule in self._granted(user, namespace, problems)]
        return rules, _aggregate(problems)

    def rules_for(self, user: User, namespace: str) -> Rules:
        rules, problem = self.policy_rules(user, namespace)
        told = Rules(problem=problem)
        for rule in rules:
            if rule.get("resources"):
                fields = ("verbs", "apiGroups", "resources", "resourceNames")
                told.resource.append({key: rule[key] for key in fields if rule.get(key)})
            if rule.get("nonResourceURLs"):
                told.non_resource.append({"verbs": rule.get("verbs"), "nonResourceURLs": rule["nonResourceURLs"]})
        return told

    def rules_of(self, reference: Obj, namespace: str) -> Sequence[Obj] | None:
        """The rules of the role that a binding refers to; None if there is no such role."""
        rules = self._rules(reference.get("kind", ""), reference.get("name", ""), namespace)
        return None if rules is None else [rule.source for rule in rules]


def _missing(kind: str, name: str) -> str:
    """In the singular, as upstream's listers say it."""
    return str(not_found(GROUP, kind.lower(), name))


def _aggregate(problems: Sequence[str]) -> str:
    told = list(dict.fromkeys(problems))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]" if told else ""


def _undecided(problems: Sequence[str]) -> Decision:
    return Decision(Verdict.NO_OPINION, f"RBAC: {_aggregate(problems)}" if problems else "")


def _binding(obj: Obj, name: str, namespace: str) -> Binding:
    reference = obj.get("roleRef") or {}
    kind, role = reference.get("kind", ""), reference.get("name", "")
    title = f"RoleBinding {quote(f'{name}/{namespace}')}" if namespace else f"ClusterRoleBinding {quote(name)}"
    subjects = tuple(filter(None, (_subject(each, namespace) for each in obj.get("subjects") or ())))
    return Binding(name, kind, role, subjects, f"{title} of {kind} {quote(role)} to ")


def _subject(subject: Obj, namespace: str) -> tuple[Subject, str] | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in ("User", "Group"):
        return (kind, name), f"{kind} {quote(name)}"
    inside = subject.get("namespace") or namespace
    if kind != "ServiceAccount" or not inside:
        return None
    return ("User", f"{SERVICE_ACCOUNT_PREFIX}{inside}:{name}"), f"{kind} {quote(f'{name}/{inside}')}"
