"""serviceaccounts/token."""

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tiphys.api.authentication import tokenrequests
from tiphys.apiserver.authn import token_request
from tiphys.apiserver.authn.service_account import Issuer
from tiphys.apiserver.authn.token_request import Objects, Settings
from tiphys.machinery.errors import ApiError

API = "https://kubernetes.default.svc"
ISSUER = Issuer(API, ec.generate_private_key(ec.SECP256R1()))
ACCOUNT = {"metadata": {"name": "builder", "namespace": "ci", "uid": "uid-sa"}}
POD = {"metadata": {"name": "web", "uid": "uid-pod"}, "spec": {"serviceAccountName": "builder", "nodeName": "n1"}}
NODE = {"metadata": {"name": "n1", "uid": "uid-node"}}
NOW = 1_700_000_000.0


def request(metadata=None, **spec):
    made = {"metadata": metadata or {}, "spec": spec}
    tokenrequests.default(made)
    return made


def reference(kind="Pod", name="web", api_version="v1", uid=""):
    made = {"kind": kind, "name": name, "apiVersion": api_version}
    return {**made, "uid": uid} if uid else made


def grant(asked, objects=None, settings=None):
    return token_request.grant(asked, ACCOUNT, objects or Objects(), ISSUER, settings or Settings((API,)), NOW, "some-id")


def claims_of(granted):
    return jwt.decode(granted.answer["status"]["token"], options={"verify_signature": False})


# v1.36.4 pkg/registry/core/serviceaccount/storage/token.go:75
def test_the_answer_repeats_what_was_asked_and_tells_the_end():
    granted = grant(request())
    token = granted.answer["status"].pop("token")
    assert token.count(".") == 2
    assert granted.answer == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": "builder", "namespace": "ci", "uid": "uid-sa", "creationTimestamp": "2023-11-14T22:13:20Z"},
        "spec": {"audiences": [API], "expirationSeconds": 3600},
        "status": {"expirationTimestamp": "2023-11-14T23:13:20Z"},
    }


def test_a_pods_token_lives_longer_than_it_says():
    asked = request(expirationSeconds=3607, boundObjectRef=reference())
    granted = grant(asked, Objects(pod=POD, node=NODE))
    claims = claims_of(granted)
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert claims["kubernetes.io"]["node"] == {"name": "n1", "uid": "uid-node"}
    assert granted.answer["spec"]["expirationSeconds"] == 3607


@pytest.mark.parametrize(
    ("spec", "objects", "settings"),
    [
        ({"expirationSeconds": 3600, "boundObjectRef": reference()}, Objects(pod=POD), Settings((API,))),
        ({"expirationSeconds": 3607}, Objects(), Settings((API,))),
        ({"expirationSeconds": 3607, "boundObjectRef": reference()}, Objects(pod=POD), Settings((API,), extend=False)),
        (
            {"expirationSeconds": 3607, "boundObjectRef": reference(), "audiences": ["vault"]},
            Objects(pod=POD),
            Settings((API,)),
        ),
    ],
    ids=["another length", "no pod", "switched off", "for somebody else"],
)
def test_other_tokens_live_as_long_as_they_say(spec, objects, settings):
    claims = claims_of(grant(request(**spec), objects, settings))
    assert claims["exp"] - claims["iat"] == spec["expirationSeconds"]
    assert "warnafter" not in claims["kubernetes.io"]


def test_the_longest_that_is_allowed():
    granted = grant(request(expirationSeconds=7200), settings=Settings((API,), max_seconds=3600))
    assert granted.warnings == ["requested expiration of 7200 seconds shortened to 3600 seconds"]
    assert claims_of(granted)["exp"] == NOW + 3600
    assert granted.answer["spec"]["expirationSeconds"] == 3600


def test_a_node_that_is_gone_is_told_by_name():
    claims = claims_of(grant(request(boundObjectRef=reference()), Objects(pod=POD)))
    assert claims["kubernetes.io"]["node"] == {"name": "n1"}


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        (request({"name": "x"}), 422, 'metadata.name: Invalid value: "x": must match the service account name if specified'),
        (
            request({"namespace": "x"}),
            422,
            'metadata.namespace: Invalid value: "x": must match the service account namespace if specified',
        ),
        (request({"uid": "x"}), 409, "the UID in the token request (x) does not match the UID of the service account (uid-sa)"),
        (
            request(expirationSeconds=599),
            422,
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
        ),
        (
            request(expirationSeconds=2**32 + 1),
            422,
            "spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
        ),
    ],
)
def test_requests_that_are_wrong(asked, code, told):
    with pytest.raises(ApiError) as caught:
        token_request.check(asked, ACCOUNT)
    assert caught.value.code == code
    assert told in str(caught.value)


def test_what_a_token_may_be_bound_to():
    assert token_request.bound_to(request()) is None
    assert token_request.bound_to(request(boundObjectRef=reference())) == ("pods", "web")
    assert token_request.bound_to(request(boundObjectRef=reference("Node", "n1"))) == ("nodes", "n1")
    with pytest.raises(ApiError, match="cannot bind token to object of type apps/v1, Kind=Deployment"):
        token_request.bound_to(request(boundObjectRef=reference("Deployment", "web", "apps/v1")))


@pytest.mark.parametrize(
    ("spec", "pod", "code", "told"),
    [
        (
            {"boundObjectRef": reference()},
            {**POD, "spec": {"serviceAccountName": "other"}},
            400,
            'cannot bind token for serviceaccount "builder" to pod running with different serviceaccount name.',
        ),
        (
            {"boundObjectRef": reference(uid="old")},
            POD,
            409,
            "the UID in the bound object reference (old) does not match the UID in record. The object might have been "
            "deleted and then recreated",
        ),
    ],
)
def test_objects_that_do_not_fit(spec, pod, code, told):
    with pytest.raises(ApiError) as caught:
        grant(request(**spec), Objects(pod=pod))
    assert caught.value.code == code
    assert told in str(caught.value)
