"""Tokens of OpenID Connect issuers: whom they name, and all the ways in which they can be bad."""

import base64
import json
from asyncio import run
from inspect import isawaitable

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tiphys.apiserver.authn.open_id import ALGORITHMS, Claim, JwtIssuer, OpenIdTokens, user_of
from tiphys.apiserver.authn.outcome import Refused
from tiphys.apiserver.authn.user import CREDENTIAL_ID, User

NOW = 1_700_000_000.0
URL = "https://issuer.example"
RSA, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
CURVE = ec.generate_private_key(ec.SECP256R1())
ISSUER = JwtIssuer(URL, ("me", "us"), Claim("sub", "oidc:"), Claim("groups", "g:"), algorithms=("RS256", "ES256"))
CLAIMS = {"iss": URL, "aud": "me", "sub": "alice", "exp": NOW + 600, "groups": ["a", "b"], "jti": "7"}


class Key:
    def __init__(self, key_id, key):
        self.key_id = key_id
        self.key = key.public_key()


class Source:
    """Keys that change when they are fetched again."""

    def __init__(self, *generations):
        self._generations = list(generations)
        self.keys = ()
        self.fetched = 0

    async def refresh(self):
        self.fetched += 1
        if self._generations:
            self.keys = self._generations.pop(0)


KEYS = (Key("one", RSA), Key("curve", CURVE))


def token(key=RSA, algorithm="RS256", key_id="one", **changed):
    claims = {name: value for name, value in {**CLAIMS, **changed}.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": key_id} if key_id else None)


def ask(tokens, text, now=NOW):
    outcome = tokens.authenticate_token(text, (), now)

    async def waited():
        return await outcome

    return run(waited()) if isawaitable(outcome) else outcome


def unsigned(**header):
    parts = ({"typ": "JWT", **header}, CLAIMS)
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


def confused():
    """Signed with the issuer's public key as if it were a shared secret."""
    public = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').rstrip(b"=").decode()
    body = base64.urlsafe_b64encode(json.dumps(CLAIMS).encode()).rstrip(b"=").decode()
    signature = jwt.get_algorithm_by_name("HS256").sign(f"{head}.{body}".encode(), public)
    return f"{head}.{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_a_good_token_names_its_user():
    tokens = OpenIdTokens(ISSUER, Source(KEYS))
    found = ask(tokens, token())
    assert found.user == User("oidc:alice", ("g:a", "g:b"), "", ((CREDENTIAL_ID, ("JTI=7",)),))
    assert tokens.authenticate_token(token(), (), NOW) is found or ask(tokens, token()).user == found.user


def test_what_is_known_is_answered_at_once_and_without_asking_anybody():
    source = Source(KEYS)
    tokens, text = OpenIdTokens(ISSUER, source), token()
    first = ask(tokens, text)
    assert tokens.authenticate_token(text, (), NOW + 1) is first
    assert source.fetched == 1
    with pytest.raises(Refused, match="token is expired"):
        tokens.authenticate_token(text, (), NOW + 601)


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c", "a.b.c.d", token(iss="https://else.example"), "...", "é.é.é"])
def test_tokens_of_others_are_none_of_our_business(text):
    assert OpenIdTokens(ISSUER, Source(KEYS)).authenticate_token(text, (), NOW) is None


# v1.36.4 staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc_test.go, vendor go-oidc/verify.go:203
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (token(exp=NOW - 1), "oidc: verify token: oidc: token is expired"),
        (token(exp=None), "oidc: verify token: oidc: token is expired"),
        (token(nbf=NOW + 61), "before the nbf"),
        (token(aud="you"), 'oidc: verify token: oidc: expected audience in \\["me" "us"\\] got \\["you"\\]'),
        (token(aud=[]), "expected audience"),
        (token(aud=None), "expected audience"),
        (token(OTHER), "failed to verify id token signature"),
        (token(OTHER, key_id=None), "failed to verify id token signature"),
        (token(key_id="gone"), "failed to verify id token signature"),
        (token(CURVE, "ES256", "one"), "failed to verify id token signature"),
        (token(RSA, "RS512"), 'unsupported algorithm, expected \\["RS256" "ES256"\\] got "RS512"'),
        (unsigned(alg="none"), 'unsupported algorithm.* got "none"'),
        (unsigned(alg="None"), "malformed jwt|unsupported algorithm"),
        (unsigned(alg="HS256"), "unsupported algorithm"),
        (confused(), 'unsupported algorithm.* got "HS256"'),
        (token()[:-6] + "AAAAAA", "failed to verify id token signature"),
        (token(sub=None), 'oidc: parse username claims "sub": claim not present'),
        (token(groups=3), 'oidc: parse groups claim "groups": json: cannot unmarshal number'),
        (token(groups=["a", 3]), "oidc: parse groups claim"),
    ],
)
def test_bad_tokens_are_refused(text, problem):
    with pytest.raises(Refused, match=problem):
        ask(OpenIdTokens(ISSUER, Source(KEYS)), text)


def test_the_beginning_is_forgiven_a_minute():
    assert ask(OpenIdTokens(ISSUER, Source(KEYS)), token(nbf=NOW + 59))


@pytest.mark.parametrize(
    ("key", "algorithm", "key_id"), [(CURVE, "ES256", "curve"), (RSA, "RS256", None), (CURVE, "ES256", None)]
)
def test_every_key_of_the_issuer_is_believed(key, algorithm, key_id):
    assert ask(OpenIdTokens(ISSUER, Source(KEYS)), token(key, algorithm, key_id)).user.name == "oidc:alice"


def test_new_keys_are_fetched_and_what_the_old_ones_said_is_forgotten():
    source = Source((Key("one", RSA),), (Key("two", OTHER),))
    tokens = OpenIdTokens(ISSUER, source)
    old, new = token(), token(OTHER, key_id="two")
    assert ask(tokens, old)
    assert ask(tokens, new)
    with pytest.raises(Refused, match="signature"):
        ask(tokens, old)
    assert source.fetched == 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_algorithm_is_one_of_shared_secrets(algorithm):
    assert algorithm[:2] in ("RS", "ES", "PS")


def issuer(username="sub", groups="groups", uid="", *required):
    return JwtIssuer(URL, ("me",), Claim(username, ""), Claim(groups, "") if groups else None, uid, tuple(required))


# v1.36.4 staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go:981
@pytest.mark.parametrize(
    ("settings", "claims", "expected"),
    [
        (issuer("email"), {"email": "a@b.c"}, User("a@b.c")),
        (issuer("email"), {"email": "a@b.c", "email_verified": True}, User("a@b.c")),
        (issuer("email"), {"email": "a@b.c", "email_verified": False}, "oidc: email not verified"),
        (issuer("email"), {"email": "a@b.c", "email_verified": "true"}, "oidc: parse 'email_verified' claim"),
        (issuer(), {"sub": "x", "email_verified": False}, User("x")),
        (issuer(), {"sub": "x", "groups": "one"}, User("x", ("one",))),
        (issuer(groups=""), {"sub": "x", "groups": ["one"]}, User("x")),
        (issuer(uid="id"), {"sub": "x", "id": "9"}, User("x", (), "9")),
        (issuer(uid="id"), {"sub": "x"}, 'oidc: parse uid claim "id": claim not present'),
        (issuer("sub", "", "", ("hd", "x.org")), {"sub": "x", "hd": "x.org"}, User("x")),
        (issuer("sub", "", "", ("hd", "x.org")), {"sub": "x"}, "oidc: required claim hd not present in ID token"),
        (issuer("sub", "", "", ("hd", "x")), {"sub": "x", "hd": "y"}, "value does not match. Got = y, want = x"),
        (issuer("sub", "", "", ("hd", "x")), {"sub": "x", "hd": ["x"]}, "oidc: parse claim hd: json: cannot unmarshal array"),
    ],
)
def test_who_claims_name(settings, claims, expected):
    if isinstance(expected, User):
        assert user_of(settings, claims) == expected
    else:
        with pytest.raises(Refused) as caught:
            user_of(settings, claims)
        assert expected in str(caught.value)
