"""Service account tokens: what they say, and everything that must not pass for one."""

import base64
import hashlib
import hmac
import json

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tiphys.apiserver.authn import service_account, signing_keys
from tiphys.apiserver.authn.outcome import Refused
from tiphys.apiserver.authn.service_account import Bound, Issuer, ServiceAccountTokens
from tiphys.apiserver.authn.signing_keys import public_key
from tiphys.machinery import times

ISSUER = "https://kubernetes.default.svc.cluster.local"
API = "https://kubernetes.default.svc"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
NOW = 1_700_000_000.0
ID = "7d386b47-1856-4103-990d-b089a224e7cf"


def named(name, uid, **more):
    return {"metadata": {"name": name, "namespace": "ci", "uid": uid, **more}}


ACCOUNT = named("builder", "uid-sa")
POD = Bound("web", "uid-pod")
NODE = Bound("n1", "uid-node")
SECRET = Bound("held", "uid-secret")


class Objects:
    def __init__(self, **objects):
        self.objects = {
            "service_account": {"builder": ACCOUNT},
            "pod": {"web": named("web", "uid-pod")},
            "secret": {"held": named("held", "uid-secret")},
            "node": {"n1": named("n1", "uid-node")},
        } | objects

    def service_account(self, namespace, name):
        return self.objects["service_account"].get(name) if namespace == "ci" else None

    def pod(self, namespace, name):
        return self.objects["pod"].get(name) if namespace == "ci" else None

    def secret(self, namespace, name):
        return self.objects["secret"].get(name) if namespace == "ci" else None

    def node(self, name):
        return self.objects["node"].get(name)


def issue(key=KEY, *, issuer=ISSUER, audiences=(API,), seconds=3600, now=NOW, **bound):
    return Issuer(issuer, key).issue(ACCOUNT, audiences=audiences, seconds=seconds, now=now, token_id=ID, **bound)


def verifier(*keys, lookup=None, issuers=(ISSUER,)):
    public = [public_key((key or KEY).public_key()) for key in keys or (KEY,)]
    return ServiceAccountTokens(issuers, public, (API,), lookup or Objects())


def verify(token, *, now=NOW, audiences=(), **objects):
    return verifier(lookup=Objects(**objects)).authenticate_token(token, audiences, now)


# v1.36.4 pkg/serviceaccount/claims.go:66, as TokenRequest answered it
def test_the_claims_are_upstreams():
    token = issue(pod=POD, node=NODE, warn_after=3607, seconds=31536000)
    assert jwt.get_unverified_header(token) == {"alg": "RS256", "kid": public_key(KEY.public_key()).key_id}
    assert jwt.decode(token, options={"verify_signature": False}) == {
        "aud": [API],
        "exp": 1731536000,
        "iat": 1700000000,
        "iss": ISSUER,
        "jti": ID,
        "kubernetes.io": {
            "namespace": "ci",
            "node": {"name": "n1", "uid": "uid-node"},
            "pod": {"name": "web", "uid": "uid-pod"},
            "serviceaccount": {"name": "builder", "uid": "uid-sa"},
            "warnafter": 1700003607,
        },
        "nbf": 1700000000,
        "sub": "system:serviceaccount:ci:builder",
    }


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authentication/serviceaccount/util.go:132
@pytest.mark.parametrize(
    ("bound", "extra"),
    [
        ({}, {}),
        ({"pod": POD}, {"pod-name": ["web"], "pod-uid": ["uid-pod"]}),
        (
            {"pod": POD, "node": NODE},
            {"pod-name": ["web"], "pod-uid": ["uid-pod"], "node-name": ["n1"], "node-uid": ["uid-node"]},
        ),
        ({"pod": POD, "node": Bound("gone")}, {"pod-name": ["web"], "pod-uid": ["uid-pod"], "node-name": ["gone"]}),
        ({"node": NODE}, {"node-name": ["n1"], "node-uid": ["uid-node"]}),
        ({"secret": SECRET}, {}),
    ],
)
def test_the_user_of_a_token(bound, extra):
    found = verify(issue(**bound))
    assert found is not None
    assert found.audiences == (API,)
    user = found.user
    assert (user.name, user.uid) == ("system:serviceaccount:ci:builder", "uid-sa")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ci")
    prefixed = {f"authentication.kubernetes.io/{key}": value for key, value in extra.items()}
    assert user.extras() == {"authentication.kubernetes.io/credential-id": [f"JTI={ID}"], **prefixed}


def test_keys_of_both_kinds_and_keys_that_no_longer_sign():
    both = verifier(KEY, EC_KEY)
    for key in (KEY, EC_KEY):
        assert both.authenticate_token(issue(key), (), NOW) is not None


def test_a_key_that_was_taken_away_is_no_longer_believed():
    tokens = verifier(KEY)
    old = issue()
    assert tokens.authenticate_token(old, (), NOW) is not None
    tokens.rotate([public_key(OTHER_KEY.public_key())])
    with pytest.raises(Refused, match="no keys found"):
        tokens.authenticate_token(old, (), NOW)
    assert tokens.authenticate_token(issue(OTHER_KEY), (), NOW) is not None


# v1.36.4 pkg/serviceaccount/claims.go:139; go-jose forgives a minute
@pytest.mark.parametrize(
    ("now", "problem"),
    [
        (NOW, ""),
        (NOW + 3600 + 59, ""),
        (NOW + 3600 + 61, "service account token has expired"),
        (NOW - 59, ""),
        (NOW - 61, "service account token is not valid yet"),
    ],
)
def test_times(now, problem):
    tokens = verifier()
    token = issue()
    # The second answer comes from memory: it must heed the time as well.
    assert tokens.authenticate_token(token, (), NOW) is not None
    if not problem:
        assert tokens.authenticate_token(token, (), now) is not None
        return
    for each in (tokens, verifier()):
        with pytest.raises(Refused, match=problem):
            each.authenticate_token(token, (), now)


# v1.36.4 pkg/serviceaccount/jwt.go:340
@pytest.mark.parametrize(
    ("has", "asked", "meant"),
    [
        ((API,), (), (API,)),
        ((API, "vault"), ("vault",), ("vault",)),
        ((API, "vault"), ("vault", API), (API, "vault")),
        (("vault",), ("vault",), ("vault",)),
    ],
)
def test_audiences(has, asked, meant):
    found = verify(issue(audiences=has), audiences=asked)
    assert found is not None
    assert found.audiences == meant


@pytest.mark.parametrize(("has", "asked"), [(("vault",), ()), ((API,), ("vault",))])
def test_a_token_for_somebody_else(has, asked):
    wanted = asked or (API,)
    with pytest.raises(Refused) as caught:
        verify(issue(audiences=has), audiences=asked)
    told = f'token audiences ["{has[0]}"] is invalid for the target audiences ["{wanted[0]}"]'
    assert str(caught.value) == told


GONE = times.rfc3339(NOW - 120)
GOING = times.rfc3339(NOW - 30)


# v1.36.4 pkg/serviceaccount/claims.go:165
@pytest.mark.parametrize(
    ("bound", "objects", "problem"),
    [
        ({}, {"service_account": {}}, 'serviceaccounts "builder" not found'),
        (
            {},
            {"service_account": {"builder": named("builder", "new")}},
            "service account UID (new) does not match claim (uid-sa)",
        ),
        (
            {},
            {"service_account": {"builder": named("builder", "uid-sa", deletionTimestamp=GONE)}},
            "service account ci/builder has been deleted",
        ),
        ({"pod": POD}, {"pod": {}}, "service account token has been invalidated"),
        (
            {"pod": POD},
            {"pod": {"web": named("web", "new")}},
            "pod UID (new) does not match service account pod ref claim (uid-pod)",
        ),
        (
            {"pod": POD},
            {"pod": {"web": named("web", "uid-pod", deletionTimestamp=GONE)}},
            "service account token has been invalidated",
        ),
        ({"secret": SECRET}, {"secret": {}}, "service account token has been invalidated"),
        (
            {"secret": SECRET},
            {"secret": {"held": named("held", "new")}},
            "secret UID (new) does not match service account secret ref claim (uid-secret)",
        ),
        ({"node": NODE}, {"node": {}}, "service account token has been invalidated"),
        (
            {"node": NODE},
            {"node": {"n1": named("n1", "new")}},
            "node UID (new) does not match service account node ref claim (uid-node)",
        ),
    ],
)
def test_a_token_ends_with_what_it_is_bound_to(bound, objects, problem):
    with pytest.raises(Refused) as caught:
        verify(issue(**bound), **objects)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("bound", "objects"),
    [
        ({"pod": POD}, {"pod": {"web": named("web", "uid-pod", deletionTimestamp=GOING)}}),
        ({"pod": POD, "node": NODE}, {"node": {}}),
    ],
    ids=["within the leeway", "the node of a pod is told, not bound to"],
)
def test_what_does_not_end_a_token(bound, objects):
    assert verify(issue(**bound), **objects) is not None


def encode(part):
    return base64.urlsafe_b64encode(orjson.dumps(part)).rstrip(b"=").decode()


def forged(header, claims=None, sign=lambda _: b""):
    claims = claims or jwt.decode(issue(), options={"verify_signature": False})
    signed = f"{encode(header)}.{encode(claims)}"
    return f"{signed}.{base64.urlsafe_b64encode(sign(signed.encode())).rstrip(b'=').decode()}"


def with_public_key_as_secret(signed):
    pem = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hmac.new(pem, signed, hashlib.sha256).digest()


KEY_ID = public_key(KEY.public_key()).key_id
EVIL_CLAIMS = {
    "iss": ISSUER,
    "sub": "system:serviceaccount:kube-system:root",
    "aud": [API],
    "kubernetes.io": {"namespace": "kube-system", "serviceaccount": {"name": "root", "uid": "x"}},
}


# RFC 8725, section 2: what is done to verifiers of such tokens
@pytest.mark.parametrize(
    "token",
    [
        forged({"alg": "none"}),
        forged({"alg": "none", "kid": KEY_ID}),
        forged({"alg": "None", "kid": KEY_ID}),
        forged({"alg": "HS256", "kid": KEY_ID}, sign=with_public_key_as_secret),
        forged({"alg": "RS256", "kid": KEY_ID}, sign=lambda _: b"\0" * 256),
        forged({"alg": "RS256"}, EVIL_CLAIMS, sign=lambda _: b"x"),
        forged({"alg": "ES256", "kid": KEY_ID}, sign=lambda _: b"\0" * 64),
        forged({"alg": "RS256", "kid": "unknown"}),
        forged({"kid": KEY_ID}),
        issue(OTHER_KEY),
        jwt.encode(EVIL_CLAIMS, OTHER_KEY, algorithm="RS256", headers={"kid": KEY_ID}),
        jwt.encode(EVIL_CLAIMS, OTHER_KEY, algorithm="RS256", headers={"jwk": json.loads(signing_keys.jwks(
            [public_key(OTHER_KEY.public_key())]))["keys"][0]}),
    ],
)  # fmt: skip
def test_forged_tokens_are_refused(token):
    with pytest.raises(Refused, match="signature"):
        verify(token)


def test_a_changed_payload_is_refused():
    head, _, signature = issue().split(".")
    with pytest.raises(Refused, match="signature"):
        verify(f"{head}.{encode(EVIL_CLAIMS)}.{signature}")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b",
        "a.b.c",
        "....",
        issue(issuer="https://elsewhere.example.com"),
        f"{encode({'alg': 'RS256'})}.{encode(['iss'])}.",
        f"{encode({'alg': 'RS256'})}.{encode({'iss': {'a': 1}})}.",
        f"x.{encode({'iss': ISSUER})}.x",
        "\u00e9.\u00e9.\u00e9",
        forged({"alg": "RS256", "kid": KEY_ID, "crit": ["exp"]}),
    ],
)
def test_what_is_no_token_of_ours_is_left_to_others(token):
    assert verify(token) is None


def test_a_token_without_the_private_claims_is_refused():
    claims = {**EVIL_CLAIMS, "kubernetes.io": "no"}
    with pytest.raises(Refused):
        verify(jwt.encode(claims, KEY, algorithm="RS256", headers={"kid": KEY_ID}))


def test_a_former_issuer_is_still_believed():
    token = issue(issuer="https://old.example.com")
    tokens = verifier(issuers=(ISSUER, "https://old.example.com"))
    assert tokens.authenticate_token(token, (), NOW) is not None


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(service_account, "MOST_REMEMBERED", 2)
    tokens = verifier()
    for seconds in range(600, 605):
        assert tokens.authenticate_token(issue(seconds=seconds), (), NOW) is not None
    assert len(tokens._known) == 2


LEGACY_SECRET = named("held", "uid-secret")


def legacy(**changes):
    token = Issuer(ISSUER, KEY).issue_legacy(ACCOUNT, LEGACY_SECRET)
    secret = {**LEGACY_SECRET, "data": {"token": base64.b64encode(token.encode()).decode()}}
    secret["metadata"] = {**secret["metadata"], **changes.pop("metadata", {})}
    return token, {"secret": {"held": {**secret, **changes}}}


# v1.36.4 pkg/serviceaccount/legacy.go:107
def test_the_token_of_a_secret():
    token, objects = legacy()
    found = verify(token, **objects)
    assert found is not None
    assert found.user.name == "system:serviceaccount:ci:builder"
    assert found.user.extras() == {}
    assert (found.warning, found.used_secret) == ("", "ci/held")


def test_the_token_of_a_generated_secret_comes_with_a_warning():
    token, objects = legacy()
    found = verify(token, service_account={"builder": {**ACCOUNT, "secrets": [{"name": "held"}]}}, **objects)
    assert found is not None
    assert found.warning.startswith("Use tokens from the TokenRequest API")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"data": {"token": base64.b64encode(b"other").decode()}}, "Token does not match server's copy"),
        ({"data": {}}, "Token does not match server's copy"),
        ({"metadata": {"deletionTimestamp": GOING}}, "Token has been invalidated"),
        (
            {"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}}},
            "the token in secret ci/held for service account ci/builder has been marked invalid",
        ),
    ],
)
def test_a_secret_that_no_longer_holds(changes, problem):
    token, objects = legacy(**changes)
    with pytest.raises(Refused, match=problem):
        verify(token, **objects)


@pytest.mark.parametrize(
    ("dropped", "problem"),
    [
        ("sub", "sub claim is missing"),
        ("kubernetes.io/serviceaccount/namespace", "namespace claim is missing"),
        ("kubernetes.io/serviceaccount/secret.name", "secretName claim is missing"),
        ("kubernetes.io/serviceaccount/service-account.name", "serviceAccountName claim is missing"),
        ("kubernetes.io/serviceaccount/service-account.uid", "serviceAccountUID claim is missing"),
    ],
)
def test_legacy_claims_that_are_missing(dropped, problem):
    claims = jwt.decode(legacy()[0], options={"verify_signature": False})
    del claims[dropped]
    with pytest.raises(Refused, match=problem):
        verify(jwt.encode(claims, KEY, algorithm="RS256", headers={"kid": KEY_ID}))


def test_a_legacy_subject_must_be_the_account():
    claims = jwt.decode(legacy()[0], options={"verify_signature": False})
    claims["sub"] = "system:serviceaccount:kube-system:root"
    with pytest.raises(Refused, match="sub claim is invalid"):
        verify(jwt.encode(claims, KEY, algorithm="RS256", headers={"kid": KEY_ID}))


# v1.36.4 pkg/serviceaccount/openidmetadata.go:230
def test_discovery_documents_let_others_verify():
    keys = [public_key(key.public_key()) for key in (KEY, EC_KEY)]
    document = orjson.loads(signing_keys.discovery(ISSUER, ISSUER + signing_keys.JWKS_PATH, keys))
    assert document == {
        "issuer": ISSUER,
        "jwks_uri": ISSUER + "/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "RS256"],
    }
    found = {each.key_id: each for each in jwt.PyJWKSet.from_json(signing_keys.jwks(keys).decode()).keys}
    for key, algorithm in ((KEY, "RS256"), (EC_KEY, "ES256")):
        token = issue(key)
        published = found[jwt.get_unverified_header(token)["kid"]]
        options = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
        assert jwt.decode(token, published.key, algorithms=[algorithm], audience=API, options=options)["jti"] == ID


def test_public_keys_come_from_private_and_public_files():
    private = KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = EC_KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    found = signing_keys.load_public_keys(b"# comment\n" + private + public)
    assert [key.key_id for key in found] == [public_key(key.public_key()).key_id for key in (KEY, EC_KEY)]
    assert signing_keys.load_signing_key(private).private_numbers() == KEY.private_numbers()
    with pytest.raises(ValueError, match="does not contain any valid"):
        signing_keys.load_public_keys(b"nothing")
