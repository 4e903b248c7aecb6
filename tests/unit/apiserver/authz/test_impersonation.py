"""Being somebody else: which rights each way takes. What a live server answers is in tests/contract/access."""

from asyncio import run

import pytest

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import ALLOWED, NO_OPINION, Attributes
from tiphys.apiserver.authz.impersonation import NODE_NAME, Impersonation, Wanted, wanted_by
from tiphys.machinery.errors import ApiError

POD = User("system:serviceaccount:ns:agent", (), "", ((NODE_NAME, ("n1",)),))
ALICE = User("alice")


class Granting:
    """Allows questions of these verbs and resources, and remembers all that it was asked."""

    def __init__(self, *granted):
        self._granted = granted
        self.asked = []

    async def authorize(self, asked):
        self.asked.append(asked)
        what = f"{asked.verb} {asked.full_resource or asked.path} {asked.name}".strip()
        return ALLOWED if any(what.startswith(each) for each in self._granted) else NO_OPINION

    def rules_for(self, user, namespace):
        raise NotImplementedError


def become(authorizer, wanted, user=ALICE):
    return run(Impersonation(authorizer).become(wanted, Attributes(user, "list", resource="pods")))


# v1.36.4 staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation/mode.go:68
def test_a_pod_may_be_its_own_node_with_a_right_that_names_no_node():
    granting = Granting("impersonate-on:associated-node:list pods", "impersonate:associated-node nodes *")
    found = become(granting, Wanted("system:node:n1"), POD)
    assert found == User("system:node:n1", ("system:nodes", "system:authenticated"))
    # Which node or pod it is does not reach the authorizer: only which claims the token has.
    assert all(
        dict(asked.user.extra).keys() == {"authentication.kubernetes.io/associated-node-keys"} for asked in granting.asked
    )
    with pytest.raises(ApiError, match="impersonate-on:arbitrary-node:list"):
        become(granting, Wanted("system:node:n2"), POD)
    with pytest.raises(ApiError, match="impersonate-on:arbitrary-node:list"):
        become(granting, Wanted("system:node:n1"), User("alice", (), "", POD.extra))


@pytest.mark.parametrize(
    ("granted", "wanted", "groups"),
    [
        (("impersonate users bob",), Wanted("bob"), ("system:authenticated",)),
        (("impersonate-on:user-info:list pods", "impersonate:user-info users bob"), Wanted("bob"), ("system:authenticated",)),
        (
            ("impersonate-on:user-info:list pods", "impersonate:user-info users", "impersonate:user-info groups *"),
            Wanted("bob", tuple("abcd")),
            ("a", "b", "c", "d", "system:authenticated"),
        ),
        (("impersonate",), Wanted("bob", ("system:masters",)), ("system:masters", "system:authenticated")),
        (("impersonate",), Wanted("bob", ("system:unauthenticated",)), ("system:unauthenticated",)),
        (("impersonate",), Wanted("system:anonymous"), ("system:unauthenticated",)),
        (
            ("impersonate-on:serviceaccount:list pods", "impersonate:serviceaccount serviceaccounts a"),
            Wanted("system:serviceaccount:ns:a"),
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        ),
    ],
)
def test_what_lets_one_be_somebody_else(granted, wanted, groups):
    assert become(Granting(*granted), wanted).groups == groups


@pytest.mark.parametrize(
    ("granted", "wanted", "problem"),
    [
        ((), Wanted("bob"), "cannot impersonate-on:user-info:list resource"),
        (("impersonate-on:",), Wanted("bob"), 'users.authentication.k8s.io "bob" is forbidden'),
        (("impersonate users",), Wanted("bob", ("g",)), "impersonate-on"),
        (("impersonate-on:", "impersonate:"), Wanted("bob", ("system:masters",)), "system:masters group is not allowed"),
        (("impersonate-on:", "impersonate:"), Wanted("bob", ("",)), "the empty string group is not allowed"),
        (("impersonate-on:", "impersonate:"), Wanted("bob", extra={"Plain": ("x",)}), "invalid key in extra"),
        (("impersonate-on:", "impersonate:"), Wanted("bob", extra={"a.io/B": ("x",)}), "non-lowercase key"),
        (("impersonate-on:", "impersonate:"), Wanted("bob", extra={"a.io/b": ("",)}), "empty string value"),
        (("impersonate-on:user-info",), Wanted("system:node:n1"), "impersonate-on:arbitrary-node:list"),
        (("impersonate:", "impersonate users"), Wanted("bob", uid="7"), "impersonate-on"),
    ],
)
def test_what_does_not(granted, wanted, problem):
    with pytest.raises(ApiError) as caught:
        become(Granting(*granted), wanted)
    assert caught.value.code == 403
    assert problem in str(caught.value)


def test_the_way_that_worked_last_is_tried_first():
    granting = Granting("impersonate users bob")
    impersonation = Impersonation(granting)
    asked = Attributes(ALICE, "list", resource="pods")
    run(impersonation.become(Wanted("bob"), asked))
    granting.asked.clear()
    run(impersonation.become(Wanted("bob"), asked))
    assert [each.verb for each in granting.asked] == ["impersonate"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"accept": "x"}, None),
        ({"impersonate-user": ""}, None),
        ({"impersonate-user": "bob"}, Wanted("bob", (), "", {})),
        # As the server reads the bytes of UTF-8; and what is none.
        (
            {"impersonate-user": "jos\u00c3\u00a9", "impersonate-group": "\u00c3\u00bc"},
            Wanted("jos\u00e9", ("\u00fc",), "", {}),
        ),
        ({"impersonate-user": "jos\u00e9"}, Wanted("jos\ufffd", (), "", {})),
        (
            {
                "impersonate-user": "bob",
                "impersonate-group": "a, b",
                "impersonate-uid": "7",
                "impersonate-extra-a.io%2fb": "x,y",
            },
            Wanted("bob", ("a", "b"), "7", {"a.io/b": ("x", "y")}),
        ),
    ],
)
def test_what_headers_ask_for(headers, expected):
    assert wanted_by(headers) == expected


@pytest.mark.parametrize("header", ["impersonate-group", "impersonate-uid", "impersonate-extra-x"])
def test_a_name_has_to_be_said(header):
    with pytest.raises(ApiError, match="without impersonating a user name") as caught:
        wanted_by({header: "x"})
    assert caught.value.code == 400
