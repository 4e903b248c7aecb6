"""Writes that depend on who makes them, called as the verbs call them."""

import asyncio
from types import SimpleNamespace

import pytest

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.always import AlwaysDeny
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.authz.escalation import EscalationGuard
from tiphys.apiserver.authz.rbac import RbacAuthorizer
from tiphys.apiserver.authz.write_hooks import hooks
from tiphys.machinery.errors import ApiError

HOOKS = hooks(EscalationGuard(RbacAuthorizer(), Chain([AlwaysDeny()])))
GROUP = "rbac.authorization.k8s.io"
RULES = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
ALICE, ROOT = User("alice", ("devs",), "1", (("scopes", ("a",)),)), User("root", ("system:masters",))


def call(user, subresource=""):
    return SimpleNamespace(user=user, now=1_700_000_000.0, info=SimpleNamespace(subresource=subresource))


def created(plural, obj, user, group=GROUP):
    return asyncio.run(HOOKS[group, plural].creating(call(user), obj))


@pytest.mark.parametrize(("plural", "kind"), [("roles", "Role"), ("clusterroles", "ClusterRole")])
def test_a_role_gives_no_more_than_its_writer_has(plural, kind):
    role = {"kind": kind, "metadata": {"name": "r", "namespace": "ns"}, "rules": RULES}
    assert created(plural, role, ROOT) == ()
    with pytest.raises(ApiError, match="not currently held"):
        created(plural, role, ALICE)
    with pytest.raises(ApiError, match="not currently held"):
        asyncio.run(HOOKS[GROUP, plural].updating(call(ALICE), role, {**role, "rules": []}))


@pytest.mark.parametrize(("plural", "kind"), [("rolebindings", "RoleBinding"), ("clusterrolebindings", "ClusterRoleBinding")])
def test_a_binding_wants_its_role(plural, kind):
    binding = {"kind": kind, "metadata": {"name": "b", "namespace": "ns"}, "roleRef": {"kind": "ClusterRole", "name": "r"}}
    assert created(plural, binding, ROOT) == ()
    with pytest.raises(ApiError, match="not found"):
        created(plural, binding, ALICE)


# v1.36.4 pkg/registry/certificates/certificates/strategy.go:80,245
def test_a_certificate_request_says_who_asks_and_when_it_was_decided():
    plural, group = "certificatesigningrequests", "certificates.k8s.io"
    request = {"metadata": {"name": "r"}, "spec": {}}
    assert created(plural, request, ALICE, group) == ()
    assert request["spec"] == {"username": "alice", "uid": "1", "groups": ["devs"], "extra": {"scopes": ["a"]}}
    approved = {**request, "status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    asyncio.run(HOOKS[group, plural].updating(call(ALICE, "approval"), approved, request))
    times = {"lastUpdateTime": "2023-11-14T22:13:20Z", "lastTransitionTime": "2023-11-14T22:13:20Z"}
    assert approved["status"]["conditions"] == [{"type": "Approved", "status": "True", **times}]
