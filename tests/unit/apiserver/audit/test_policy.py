"""Which rule applies, and what is wrong with a policy. Authority: v1.36.4 staging/src/k8s.io/apiserver/pkg/audit/policy."""

import json

import pytest

from tiphys.apiserver.audit.policy import BadPolicy, Level, read
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.request import parse_query, resolve

ALICE = User("alice", ("devs",))


def policy(*rules, **more):
    return read(json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **more}))


def asked(method, path, query=""):
    return resolve(method, path, parse_query(query))


POD = ("GET", "/api/v1/namespaces/t/pods/p")
LOG = ("GET", "/api/v1/namespaces/t/pods/p/log")


# checker_test.go has the same cases with Go's structures
@pytest.mark.parametrize(
    ("rule", "request_line", "matches"),
    [
        ({}, POD, True),
        ({"users": ["alice"]}, POD, True),
        ({"users": ["bob"]}, POD, False),
        ({"userGroups": ["devs"]}, POD, True),
        ({"userGroups": ["ops"]}, POD, False),
        ({"verbs": ["get"]}, POD, True),
        ({"verbs": ["list"]}, POD, False),
        ({"verbs": ["list"]}, ("GET", "/api/v1/pods"), True),
        ({"namespaces": ["t"]}, POD, True),
        ({"namespaces": [""]}, POD, False),
        ({"namespaces": [""]}, ("GET", "/api/v1/nodes/n"), True),
        ({"namespaces": ["t"]}, ("GET", "/healthz"), False),
        ({"resources": [{"group": ""}]}, POD, True),
        ({"resources": [{"group": "apps"}]}, POD, False),
        ({"resources": [{"group": "*"}]}, POD, True),
        ({"resources": [{"resources": ["pods"]}]}, POD, True),
        ({"resources": [{"resources": ["pods"]}]}, LOG, False),
        ({"resources": [{"resources": ["pods/log"]}]}, LOG, True),
        ({"resources": [{"resources": ["pods/*"]}]}, LOG, True),
        ({"resources": [{"resources": ["pods/*"]}]}, POD, True),
        ({"resources": [{"resources": ["*/log"]}]}, LOG, True),
        ({"resources": [{"resources": ["*"]}]}, LOG, True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["p"]}]}, POD, True),
        ({"resources": [{"resources": ["pods"], "resourceNames": ["q"]}]}, POD, False),
        ({"nonResourceURLs": ["/healthz"]}, ("GET", "/healthz"), True),
        ({"nonResourceURLs": ["/logs*"]}, ("GET", "/logs/x"), True),
        ({"nonResourceURLs": ["*"]}, ("GET", "/metrics"), True),
        ({"nonResourceURLs": ["*"]}, POD, False),
        ({"nonResourceURLs": ["/healthz"]}, ("GET", "/healthz/etcd"), False),
    ],
)
def test_what_a_rule_matches(rule, request_line, matches):
    found = policy({"level": "Request", **rule}).decide(ALICE, asked(*request_line))
    assert found.level == (Level.REQUEST if matches else Level.NONE)


def test_the_first_rule_decides():
    found = policy({"level": "None", "users": ["alice"]}, {"level": "Metadata"})
    assert found.decide(ALICE, asked(*POD)).level == Level.NONE
    assert found.decide(None, asked(*POD)).level == Level.METADATA


def test_stages_are_left_out_by_rule_and_by_policy():
    found = policy({"level": "Metadata", "omitStages": ["Panic"]}, omitStages=["RequestReceived"], omitManagedFields=True)
    decision = found.decide(ALICE, asked(*POD))
    assert decision.omitted == {"Panic", "RequestReceived"}
    assert decision.omit_managed_fields


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({}, r"rules\[0\].level: Required value"),
        ({"level": "All"}, 'supported values: "None", "Metadata", "Request", "RequestResponse"'),
        ({"level": "None", "nonResourceURLs": ["x"]}, "non-resource URL rules must begin with a '/' character"),
        ({"level": "None", "nonResourceURLs": ["/a*b"]}, r"wildcards '\*' must be the final character of the rule"),
        ({"level": "None", "resources": [{"resourceNames": ["a"]}]}, "using resourceNames requires at least one resource"),
        ({"level": "None", "omitStages": ["X"]}, "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic"),
        (
            {"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["t"]},
            "rules cannot apply to both regular resources and non-resource URLs",
        ),
    ],
)
def test_a_wrong_policy_says_what_is_wrong(rule, told):
    with pytest.raises(BadPolicy, match=told):
        policy(rule)


@pytest.mark.parametrize(
    ("text", "told"),
    [("[", "failed decoding"), ("kind: Policy", "unknown group version"), ("[]", "unknown group version")],
)
def test_a_file_that_is_no_policy(text, told):
    with pytest.raises(BadPolicy, match=told):
        read(text)


def test_a_policy_without_rules_records_nothing_and_is_refused():
    with pytest.raises(BadPolicy, match="loaded illegal policy with 0 rules"):
        policy()
