"""Nobody passes on rights that they do not hold."""

from asyncio import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.always import AlwaysAllow, AlwaysDeny
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.authz.escalation import EscalationGuard, covers, missing
from tiphys.apiserver.authz.rbac import RbacAuthorizer
from tiphys.machinery.errors import ApiError

ALICE = User("alice", ("devs",))


def rule(verbs, resources, groups=("",), names=()):
    made = {"verbs": verbs.split(), "apiGroups": list(groups), "resources": resources.split()}
    return {**made, "resourceNames": list(names)} if names else made


def urls(verbs, *paths):
    return {"verbs": verbs.split(), "nonResourceURLs": list(paths)}


# v1.36.4 staging/src/k8s.io/component-helpers/auth/rbac/validation/policy_comparator_test.go
@pytest.mark.parametrize(
    ("owner", "wanted", "covered"),
    [
        ([rule("get list", "pods services")], [rule("list", "services")], True),
        ([rule("get", "pods"), rule("list", "pods")], [rule("get list", "pods")], True),
        ([rule("get", "pods")], [rule("get delete", "pods")], False),
        ([rule("*", "*", ["*"])], [rule("get", "pods/log", ["apps"])], True),
        ([rule("get", "*/scale", ["*"])], [rule("get", "deployments/scale", ["apps"])], True),
        ([rule("get", "pods")], [rule("get", "pods/log")], False),
        ([rule("get", "pods")], [rule("get", "pods", names=["a"])], True),
        ([rule("get", "pods", names=["a"])], [rule("get", "pods")], False),
        ([rule("get", "pods", names=["a", "b"])], [rule("get", "pods", names=["b"])], True),
        ([rule("get", "pods")], [rule("*", "pods")], False),
        ([urls("get", "/healthz/*")], [urls("get", "/healthz/etcd")], True),
        ([urls("get", "/healthz")], [urls("get", "/healthz/*")], False),
        ([rule("get", "pods")], [urls("get", "/")], False),
        ([urls("*", "*")], [rule("get", "pods")], False),
    ],
)
def test_covers(owner, wanted, covered):
    assert covers(owner, wanted) is covered


WORDS = st.lists(st.sampled_from(["get", "list", "*"]), min_size=1, max_size=2, unique=True).map(" ".join)
THINGS = st.lists(st.sampled_from(["pods", "pods/log", "*/log", "*"]), min_size=1, max_size=2, unique=True).map(" ".join)
RULES = st.lists(st.builds(rule, WORDS, THINGS), max_size=4)


@given(RULES, RULES)
def test_what_is_missing_is_all_that_is_missing(owner, wanted):
    assert covers([*owner, *missing(owner, wanted)], wanted)
    assert covers(owner, owner)


def rbac_with(*rules):
    rbac = RbacAuthorizer()
    rbac.set("ClusterRole", {"metadata": {"name": "mine"}, "rules": list(rules)})
    subjects = [{"kind": "User", "name": "alice"}]
    rbac.set(
        "ClusterRoleBinding",
        {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "mine"}, "subjects": subjects},
    )
    return rbac


def new_role(*rules, **more):
    return {"kind": "ClusterRole", "metadata": {"name": "new"}, "rules": list(rules), **more}


# v1.36.4 pkg/registry/rbac/validation/rule.go:55
def test_the_refusal_lists_what_is_missing():
    guard = EscalationGuard(rbac_with(rule("get", "pods")), Chain([AlwaysDeny()]))
    with pytest.raises(ApiError) as caught:
        run(guard.check_role(ALICE, new_role(rule("get list watch", "pods"), urls("get", "/metrics"), rule("get", "a", ["x"]))))
    assert caught.value.code == 403
    assert str(caught.value) == (
        'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "alice" (groups=["devs"]) is attempting to grant '
        "RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
        '{APIGroups:["x"], Resources:["a"], Verbs:["get"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
    )


@pytest.mark.parametrize(
    ("user", "authorizer"),
    [(User("root", ("system:masters",)), AlwaysDeny()), (ALICE, AlwaysAllow())],
    ids=["masters", "who may escalate"],
)
def test_who_may_grant_anything(user, authorizer):
    guard = EscalationGuard(RbacAuthorizer(), Chain([authorizer]))
    run(guard.check_role(user, new_role(rule("*", "*", ["*"]))))


def test_aggregation_wants_full_authority():
    guard = EscalationGuard(rbac_with(rule("get", "pods")), Chain([AlwaysDeny()]))
    role = new_role(aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    with pytest.raises(ApiError, match="must have cluster-admin privileges to use the aggregationRule"):
        run(guard.check_role(ALICE, role))
    full = EscalationGuard(rbac_with(rule("*", "*", ["*"]), urls("*", "*")), Chain([AlwaysDeny()]))
    run(full.check_role(ALICE, role))


def test_a_binding_wants_the_rights_of_its_role():
    rbac = rbac_with(rule("get", "pods"))
    rbac.set("ClusterRole", {"metadata": {"name": "less"}, "rules": [rule("get", "pods", names=["a"])]})
    rbac.set("ClusterRole", {"metadata": {"name": "more"}, "rules": [rule("delete", "pods")]})
    guard = EscalationGuard(rbac, Chain([AlwaysDeny()]))

    def binding(to):
        return {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "new"},
            "roleRef": {"kind": "ClusterRole", "name": to},
            "subjects": [],
        }

    run(guard.check_binding(ALICE, binding("less")))
    with pytest.raises(ApiError, match=r"clusterrolebindings.*not currently held"):
        run(guard.check_binding(ALICE, binding("more")))
    with pytest.raises(ApiError) as caught:
        run(guard.check_binding(ALICE, binding("gone")))
    assert str(caught.value) == 'clusterrolebindings.rbac.authorization.k8s.io "gone" not found'


# v1.36.4 pkg/registry/rbac/helpers.go:29
def test_what_the_garbage_collector_writes_is_no_grant():
    guard = EscalationGuard(RbacAuthorizer(), Chain([AlwaysDeny()]))
    old = new_role(rule("*", "*", ["*"]))
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["orphan"]}}
    run(guard.check_role(ALICE, new, old))
    with pytest.raises(ApiError):
        run(guard.check_role(ALICE, {**new, "metadata": {**new["metadata"], "labels": {"a": "b"}}}, old))
