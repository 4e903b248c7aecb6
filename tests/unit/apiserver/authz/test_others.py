"""The authorizers beside RBAC, their chain, and the words of a refusal."""

from asyncio import run

import pytest

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz import abac
from tiphys.apiserver.authz.always import AlwaysAllow, AlwaysAllowPaths, AlwaysDeny, PrivilegedGroups
from tiphys.apiserver.authz.attributes import ALLOWED, Attributes, Decision, Rules, Verdict
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.authz.denial import denial

ALICE = User("alice", ("devs", "system:authenticated"))


class Fixed:
    def __init__(self, decision):
        self.decision = decision

    def authorize(self, asked):
        return self.decision

    def rules_for(self, user, namespace):
        return Rules(resource=[{"verbs": ["get"]}], problem=self.decision.reason)


def nothing(reason):
    return Decision(Verdict.NO_OPINION, reason)


DENIED = Decision(Verdict.DENY, "no")


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authorization/union/union.go:45
@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ([nothing("a"), nothing("b")], nothing("a\nb")),
        ([nothing(""), nothing("b")], nothing("b")),
        ([nothing("a"), ALLOWED, DENIED], ALLOWED),
        ([nothing("a"), DENIED, ALLOWED], DENIED),
        ([], nothing("")),
    ],
)
def test_the_first_that_decides_decides(decisions, expected):
    chain = Chain([Fixed(each) for each in decisions])
    assert run(chain.authorize(Attributes(ALICE, "get", resource="pods"))) == expected


def test_rules_of_all_are_told():
    rules = Chain([Fixed(nothing("a")), Fixed(nothing("b"))]).rules_for(ALICE, "default")
    assert len(rules.resource) == 2
    assert rules.problem == "[a, b]"


# v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go:70
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            Attributes(User("x"), "list", resource="pods", namespace="default"),
            'pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"',
        ),
        (
            Attributes(User("x"), "get", "apps", "v1", "deployments", "scale", "ns", "web"),
            'deployments.apps "web" is forbidden: User "x" cannot get resource "deployments/scale" in API group "apps" '
            'in the namespace "ns"',
        ),
        (
            Attributes(User("x"), "create", resource="nodes"),
            'nodes is forbidden: User "x" cannot create resource "nodes" in API group "" at the cluster scope',
        ),
        (Attributes(User("x"), "get", path="/metrics"), 'forbidden: User "x" cannot get path "/metrics"'),
        (
            Attributes(User("<b>&"), "get", path="/"),
            'forbidden: User "&lt;b&gt;&amp;" cannot get path "/"',
        ),
    ],
)
def test_the_words_of_a_refusal(asked, told):
    error = denial(asked)
    assert str(error) == told
    assert error.to_status()["details"] == {
        key: value for key, value in (("name", asked.name), ("group", asked.group), ("kind", asked.resource)) if value
    }


def test_authorizers_that_do_not_look():
    asked = Attributes(ALICE, "get", resource="pods")
    assert AlwaysAllow().authorize(asked).allowed
    assert AlwaysDeny().authorize(asked) == nothing("Everything is forbidden.")
    assert AlwaysAllow().rules_for(ALICE, "").resource == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert PrivilegedGroups("devs").authorize(asked).allowed
    assert not PrivilegedGroups("ops").authorize(asked).allowed
    assert PrivilegedGroups().authorize(Attributes(User("root", ("system:masters",)), "get", resource="pods")).allowed


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authorization/path/path.go:30
@pytest.mark.parametrize(
    ("paths", "path", "allowed"),
    [
        (("/healthz",), "/healthz", True),
        (("healthz",), "/healthz", True),
        (("/healthz",), "/healthz/a", False),
        (("/healthz/*",), "/healthz/a", True),
        (("/",), "/", True),
        ((), "/", False),
    ],
)
def test_paths_for_everybody(paths, path, allowed):
    assert AlwaysAllowPaths(*paths).authorize(Attributes(ALICE, "get", path=path)).allowed is allowed


POLICIES = """
# comment
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"alice","namespace":"one","resource":"pods","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"ops","namespace":"*","resource":"*","apiGroup":"*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"*","nonResourcePath":"/version"}}
{"user":"old"}
"""


# v1.36.4 pkg/auth/authorizer/abac/abac.go:115
@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (Attributes(ALICE, "get", resource="pods", namespace="one"), True),
        (Attributes(ALICE, "delete", resource="pods", namespace="one"), False),
        (Attributes(ALICE, "get", resource="pods", namespace="two"), False),
        (Attributes(ALICE, "get", "apps", resource="pods", namespace="one"), False),
        (Attributes(User("bob", ("ops",)), "delete", "apps", resource="deployments", namespace="x"), True),
        (Attributes(User("bob"), "get", path="/version"), False),
        (Attributes(ALICE, "get", path="/version"), True),
        (Attributes(User("old"), "delete", resource="nodes"), True),
        (Attributes(User("old"), "get", path="/metrics"), True),
    ],
)
def test_policies_of_a_file(asked, allowed):
    authorizer = abac.AbacAuthorizer(abac.parse(POLICIES, "policies.jsonl"))
    assert authorizer.authorize(asked).allowed is allowed


def test_a_wrong_line_is_named():
    with pytest.raises(ValueError, match=r"error reading policy file p, line 2: \{: "):
        abac.parse("# fine\n{\n", "p")
