"""Policies from a file, one JSON object a line: the oldest way to say who may do what."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from tiphys.apiserver.authn.user import AUTHENTICATED_GROUP, User
from tiphys.apiserver.authz.attributes import ALLOWED, READ_VERBS, Attributes, Decision, Rules, Verdict
from tiphys.apiserver.authz.rules import covers_url
from tiphys.machinery.tree import Obj

_GROUP = "abac.authorization.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Policy:
    user: str = ""
    group: str = ""
    readonly: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def is_about(self, user: User) -> bool:
        """A policy that names both wants both."""
        if self.user not in ("", "*", user.name):
            return False
        if self.group not in ("", "*") and self.group not in user.groups:
            return False
        return bool(self.user or self.group)

    def covers(self, asked: Attributes) -> bool:
        if self.readonly and asked.verb not in READ_VERBS:
            return False
        if asked.path:
            return covers_url(self.path, asked.path) if self.path else False
        return (
            self.namespace in ("*", asked.namespace)
            and self.resource in ("*", asked.resource)
            and self.api_group in ("*", asked.group)
        )


class AbacAuthorizer:
    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = tuple(policies)

    def authorize(self, asked: Attributes) -> Decision:
        if any(policy.is_about(asked.user) and policy.covers(asked) for policy in self._policies):
            return ALLOWED
        return Decision(Verdict.NO_OPINION, "No policy matched.")

    def rules_for(self, user: User, namespace: str) -> Rules:
        told = Rules()
        for policy in self._policies:
            if not policy.is_about(user) or policy.namespace not in ("*", namespace):
                continue
            verbs = ["get", "list", "watch"] if policy.readonly else ["*"]
            if policy.resource:
                told.resource.append({"verbs": verbs, "apiGroups": [policy.api_group], "resources": [policy.resource]})
            if policy.path:
                told.non_resource.append({"verbs": verbs, "nonResourceURLs": [policy.path]})
        return told


def parse(text: str, path: str) -> list[Policy]:
    """The policies of a file. ValueError names the line that is wrong."""
    policies = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            policies.append(_policy(line))
        except ValueError as error:
            raise ValueError(f"error reading policy file {path}, line {number}: {line}: {error}") from error
    return policies


def _policy(line: str) -> Policy:
    tree = orjson.loads(line)
    if not isinstance(tree, dict):
        raise ValueError("unrecognized object")
    if "apiVersion" not in tree or "kind" not in tree:
        return _unversioned(tree)
    if tree["kind"] != "Policy" or not str(tree["apiVersion"]).startswith(_GROUP):
        raise ValueError(f'no kind "{tree["kind"]}" is registered for version "{tree["apiVersion"]}"')
    spec: Obj = tree.get("spec") or {}
    user, group = spec.get("user", ""), spec.get("group", "")
    # A beta policy for every user means those who have shown who they are.
    if "*" in (user, group) and tree["apiVersion"] == _GROUP + "v1beta1":
        user, group = "", AUTHENTICATED_GROUP
    return Policy(
        user,
        group,
        bool(spec.get("readonly")),
        spec.get("apiGroup", ""),
        spec.get("resource", ""),
        spec.get("namespace", ""),
        spec.get("nonResourcePath", ""),
    )


def _unversioned(tree: Obj) -> Policy:
    user, group = tree.get("user", ""), tree.get("group", "")
    if "*" in (user, group) or not (user or group):
        user, group = "", AUTHENTICATED_GROUP
    resource, namespace = tree.get("resource", ""), tree.get("namespace", "")
    readonly = bool(tree.get("readonly"))
    return Policy(user, group, readonly, "*", resource or "*", namespace or "*", "" if resource or namespace else "*")
