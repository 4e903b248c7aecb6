"""Which requests a webhook is asked about (v1.36 staging/src/k8s.io/apiserver/pkg/authorization/cel/matcher.go).

The same conditions and requests were tried on a live v1.36.4 kube-apiserver, which asked its webhook about the same ones.
"""

import asyncio

import pytest

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import NO_OPINION, Attributes, Decision, Verdict
from tiphys.apiserver.authz.conditions import Conditions, Undecided
from tiphys.apiserver.authz.webhook import Settings, WebhookAuthorizer

ALICE = User("alice", ("devs", "system:authenticated"), "2")
SYSTEM = Attributes(ALICE, "list", version="v1", resource="pods", namespace="kube-system")
NARROW = Attributes(ALICE, "list", "", "v1", "pods", "", "default", field_selector="metadata.name=x", label_selector="a=b")
PAGE = Attributes(ALICE, "get", path="/version")


@pytest.mark.parametrize(
    ("expression", "asked", "holds"),
    [
        ("has(request.resourceAttributes)", SYSTEM, True),
        ("has(request.resourceAttributes)", PAGE, False),
        ("request.resourceAttributes.namespace == 'kube-system'", SYSTEM, True),
        ("request.resourceAttributes.namespace == 'kube-system'", NARROW, False),
        ("!('system:serviceaccounts:kube-system' in request.groups)", SYSTEM, True),
        ("has(request.nonResourceAttributes) && request.nonResourceAttributes.path == '/version'", PAGE, True),
        ("has(request.nonResourceAttributes) && request.nonResourceAttributes.path == '/version'", SYSTEM, False),
        # What is empty is there, too.
        ("request.resourceAttributes.name == '' && request.resourceAttributes.subresource == ''", SYSTEM, True),
        ("has(request.user) && has(request.uid) && has(request.groups) && has(request.extra)", PAGE, True),
        ("request.?resourceAttributes.namespace.orValue('none') == 'none'", PAGE, True),
        ("request.?resourceAttributes.namespace.orValue('none') == 'none'", SYSTEM, False),
        ("has(request.resourceAttributes.labelSelector)", NARROW, True),
        ("has(request.resourceAttributes.labelSelector)", SYSTEM, False),
        (
            "request.resourceAttributes.?fieldSelector.requirements.orValue([])"
            ".exists(r, r.key == 'metadata.name' && r.operator == 'In' && 'x' in r.values)",
            NARROW,
            True,
        ),
        ("request.groups.map(g, g + 'x').filter(g, g.endsWith('x')).size() == 2", PAGE, True),
    ],
)
def test_conditions(expression, asked, holds):
    assert Conditions([expression]).hold(asked) is holds


def test_one_that_says_no_decides():
    trouble, no = "request.resourceAttributes.verb == 'list'", "request.user == 'bob'"
    assert Conditions([trouble, no]).hold(PAGE) is False
    assert Conditions([no, trouble]).hold(PAGE) is False
    with pytest.raises(Undecided) as told:
        Conditions([trouble, "request.user == 'alice'"]).hold(PAGE)
    assert str(told.value) == f"cel evaluation error: expression '{trouble}' resulted in error: no such key: resourceAttributes"


@pytest.mark.parametrize("on_error", [Verdict.DENY, Verdict.NO_OPINION])
def test_what_conditions_make_of_a_webhook(on_error):
    asked_about = []

    async def ask(review):
        asked_about.append(review["spec"])
        return {"allowed": True}

    conditions = Conditions(["request.resourceAttributes.namespace == 'kube-system'"])
    webhook = WebhookAuthorizer(ask, Settings(on_error=on_error), lambda: 0.0, conditions)

    async def authorize(asked):
        decision = webhook.authorize(asked)
        return decision if isinstance(decision, Decision) else await decision

    assert asyncio.run(authorize(NARROW)) == NO_OPINION
    decision = asyncio.run(authorize(PAGE))
    assert (decision.verdict, "no such key" in decision.problem) == (on_error, True)
    assert not asked_about
    assert asyncio.run(authorize(SYSTEM)).allowed
    assert len(asked_about) == 1
