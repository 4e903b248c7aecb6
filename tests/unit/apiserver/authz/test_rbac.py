"""Roles and bindings as an authorizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Attributes, Verdict
from tiphys.apiserver.authz.denial import denial
from tiphys.apiserver.authz.rbac import RbacAuthorizer

ALICE = User("alice", ("devs", "system:authenticated"))


def role(name, *rules, namespace=""):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"kind": "Role" if namespace else "ClusterRole", "metadata": metadata, "rules": list(rules)}


def binding(name, to, *subjects, namespace="", kind="ClusterRole"):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    subject_list = [dict(zip(("kind", "name", "namespace"), each, strict=False)) for each in subjects]
    reference = {"kind": kind, "name": to}
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": reference,
        "subjects": subject_list,
    }


def rule(verbs, groups, resources, names=()):
    made = {"verbs": verbs.split(), "apiGroups": groups, "resources": resources.split()}
    return {**made, "resourceNames": list(names)} if names else made


def authorizer(*objects):
    made = RbacAuthorizer()
    for obj in objects:
        made.set(obj["kind"], obj)
    return made


def ask(verb="get", resource="pods", group="", namespace="", name="", subresource="", user=ALICE):
    return Attributes(user, verb, group, "v1", resource, subresource, namespace, name)


# v1.36.4 pkg/apis/rbac/v1/evaluation_helpers.go:60
RULES = [
    (rule("get", [""], "pods"), ask(), True),
    (rule("get", [""], "pods"), ask("list"), False),
    (rule("*", [""], "pods"), ask("deletecollection"), True),
    (rule("get", [""], "pods"), ask(group="apps"), False),
    (rule("get", ["*"], "pods"), ask(group="apps"), True),
    (rule("get", [""], "*"), ask(subresource="log"), True),
    (rule("get", [""], "pods"), ask(subresource="log"), False),
    (rule("get", [""], "pods/log"), ask(subresource="log"), True),
    (rule("get", [""], "pods/log"), ask(), False),
    (rule("get", ["*"], "*/scale"), ask(group="apps", resource="deployments", subresource="scale"), True),
    (rule("get", ["*"], "*/scale"), ask(group="apps", resource="deployments", subresource="status"), False),
    # Unlike other notations, `pods/*` means nothing to RBAC.
    (rule("get", [""], "pods/*"), ask(subresource="log"), False),
    (rule("get", [""], "pods", ["a", "b"]), ask(name="b"), True),
    (rule("get", [""], "pods", ["a", "b"]), ask(name="c"), False),
    (rule("list", [""], "pods", ["a"]), ask("list"), False),
]


@pytest.mark.parametrize(("granted", "asked", "allowed"), RULES)
def test_what_a_rule_covers(granted, asked, allowed):
    rbac = authorizer(role("r", granted), binding("b", "r", ("User", "alice")))
    assert rbac.authorize(asked).allowed is allowed


@pytest.mark.parametrize(
    ("subject", "namespace", "user", "allowed"),
    [
        (("User", "alice"), "", ALICE, True),
        (("User", "devs"), "", ALICE, False),
        (("Group", "devs"), "", ALICE, True),
        (("Group", "ops"), "", ALICE, False),
        (("ServiceAccount", "builder", "ci"), "", User("system:serviceaccount:ci:builder"), True),
        (("ServiceAccount", "builder"), "", User("system:serviceaccount:ci:builder"), False),
        (("ServiceAccount", "builder"), "ci", User("system:serviceaccount:ci:builder"), True),
        (("ServiceAccount", "builder"), "other", User("system:serviceaccount:ci:builder"), False),
    ],
)
def test_to_whom_a_subject_grants(subject, namespace, user, allowed):
    rbac = authorizer(role("r", rule("get", [""], "pods")), binding("b", "r", subject, namespace=namespace))
    asked = ask(namespace=namespace or "any", user=user)
    assert rbac.authorize(asked).allowed is allowed


def test_a_role_binding_grants_in_its_namespace_only():
    rbac = authorizer(
        role("reader", rule("get", [""], "pods"), namespace="one"),
        binding("b", "reader", ("User", "alice"), namespace="one", kind="Role"),
    )
    assert rbac.authorize(ask(namespace="one")).allowed
    assert not rbac.authorize(ask(namespace="two")).allowed
    assert not rbac.authorize(ask()).allowed


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/etcd", False),
        ("/healthz/*", "/healthz/etcd", True),
        ("/apis*", "/apis/apps", True),
        ("*", "/anything", True),
        ("/foo/*", "/foo", False),
    ],
)
def test_paths(url, path, allowed):
    rbac = authorizer(role("r", {"verbs": ["get"], "nonResourceURLs": [url]}), binding("b", "r", ("User", "alice")))
    assert rbac.authorize(Attributes(ALICE, "get", path=path)).allowed is allowed
    assert not rbac.authorize(Attributes(ALICE, "post", path=path)).allowed


# v1.36.4 pkg/registry/rbac/validation/rule.go:140, plugin/pkg/auth/authorizer/rbac/rbac.go:57
def test_the_reason_names_binding_role_and_subject():
    rbac = authorizer(
        role("r", rule("get", [""], "pods")),
        binding("b", "r", ("Group", "devs")),
        binding("c", "r", ("ServiceAccount", "x"), namespace="ci"),
    )
    told = rbac.authorize(ask()).reason
    assert told == 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "devs"'
    told = rbac.authorize(ask(namespace="ci", user=User("system:serviceaccount:ci:x"))).reason
    assert told == 'RBAC: allowed by RoleBinding "c/ci" of ClusterRole "r" to ServiceAccount "x/ci"'


def test_a_missing_role_is_told_in_the_refusal():
    rbac = authorizer(binding("b", "gone", ("User", "alice")))
    decision = rbac.authorize(ask("list", namespace="default"))
    assert decision.verdict is Verdict.NO_OPINION
    assert str(denial(ask("list", namespace="default"), decision.reason)) == (
        'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default": '
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )


def test_every_change_is_seen_at_once():
    rbac = authorizer(role("r", rule("get", [""], "pods")))
    assert not rbac.authorize(ask()).allowed
    rbac.set("ClusterRoleBinding", binding("b", "r", ("User", "alice")))
    assert rbac.authorize(ask()).allowed
    rbac.set("ClusterRole", role("r", rule("list", [""], "pods")))
    assert not rbac.authorize(ask()).allowed
    assert rbac.authorize(ask("list")).allowed
    rbac.set("ClusterRoleBinding", binding("b", "r", ("User", "bob")))
    assert not rbac.authorize(ask("list")).allowed
    rbac.set("ClusterRoleBinding", binding("b", "r", ("User", "alice")))
    rbac.remove("ClusterRoleBinding", "b")
    assert not rbac.authorize(ask("list")).allowed
    rbac.set("Role", role("n", rule("get", [""], "pods"), namespace="ns"))
    rbac.set("RoleBinding", binding("b", "n", ("User", "alice"), namespace="ns", kind="Role"))
    assert rbac.authorize(ask(namespace="ns")).allowed
    rbac.remove("Role", "ns/n")
    assert not rbac.authorize(ask(namespace="ns")).allowed
    rbac.set("Role", role("n", rule("get", [""], "pods"), namespace="ns"))
    rbac.remove("RoleBinding", "ns/b")
    assert not rbac.authorize(ask(namespace="ns")).allowed


# v1.36.4 plugin/pkg/auth/authorizer/rbac/rbac.go:127
def test_rules_for_tells_what_a_user_may_do():
    rbac = authorizer(
        role("r", rule("get list", [""], "pods", ["a"]), {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}),
        binding("b", "r", ("User", "alice")),
        binding("c", "gone", ("User", "alice")),
    )
    rules = rbac.rules_for(ALICE, "default")
    assert rules.resource == [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}]
    assert rules.non_resource == [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]
    assert rules.to_status()["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "gone" not found'


NAMES = st.sampled_from(["a", "b"])
OBJECTS = st.lists(
    st.one_of(
        st.builds(lambda name, verb: role(name, rule(verb, [""], "pods")), NAMES, st.sampled_from(["get", "list"])),
        st.builds(lambda name, to, who: binding(name, to, ("User", who)), NAMES, NAMES, st.sampled_from(["alice", "bob"])),
        st.builds(
            lambda name, to, who: binding(name, to, ("User", who), namespace="ns"),
            NAMES,
            NAMES,
            st.sampled_from(["alice", "bob"]),
        ),
    ),
    max_size=12,
)


@given(OBJECTS)
def test_an_authorizer_kept_up_to_date_answers_as_a_new_one(objects):
    kept, last = RbacAuthorizer(), {}
    questions = [ask(verb, namespace=namespace) for verb in ("get", "list") for namespace in ("", "ns")]
    for obj in objects:
        kept.set(obj["kind"], obj)
        last[obj["kind"], obj["metadata"]["name"]] = obj
        new = authorizer(*last.values())
        assert [kept.authorize(each) for each in questions] == [new.authorize(each) for each in questions]
