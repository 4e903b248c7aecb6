"""Certificates, tokens of files and Secrets, front proxies, and the chain of them all."""

import base64
import hmac
from asyncio import run
from datetime import UTC, datetime, timedelta
from inspect import isawaitable

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tiphys.apiserver.authn import token_file
from tiphys.apiserver.authn.anonymous import Anonymous
from tiphys.apiserver.authn.basic import PasswordFile
from tiphys.apiserver.authn.bearer import PROTOCOL_PREFIX, Bearer
from tiphys.apiserver.authn.bootstrap_token import BootstrapTokens
from tiphys.apiserver.authn.chain import Chain
from tiphys.apiserver.authn.outcome import Authenticated, Refused
from tiphys.apiserver.authn.request_header import Headers, RequestHeader
from tiphys.apiserver.authn.token_file import TokenFile
from tiphys.apiserver.authn.trust import Trust
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authn.x509 import UID, CertificateAuthenticator
from tiphys.base.http.messages import Peer, Request

NOW = 1_700_000_000.0
START = datetime.fromtimestamp(NOW - 3600, UTC)


def authority(name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    return certificate(subject, key, subject, key, ca=True), key


def certificate(subject, key, issuer, issuer_key, *, ca=False, use=ExtendedKeyUsageOID.CLIENT_AUTH):
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(START)
        .not_valid_after(START + timedelta(hours=2))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if not ca:
        builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


CLIENTS, PROXIES = authority("clients"), authority("proxies")


def shown(*attributes, by=CLIENTS, use=ExtendedKeyUsageOID.CLIENT_AUTH):
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes])
    made = certificate(subject, ec.generate_private_key(ec.SECP256R1()), by[0].subject, by[1], use=use)
    return made.public_bytes(serialization.Encoding.DER)


def request(der=None, path="/api", **headers):
    return Request(
        "GET", path, "", {key.replace("_", "-"): value for key, value in headers.items()}, peer=Peer(certificate=der)
    )


def trust(of):
    return Trust.from_pem(of[0].public_bytes(serialization.Encoding.PEM))


CN, O = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME  # noqa: E741
CERTIFICATES = CertificateAuthenticator(trust(CLIENTS))


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go:250
@pytest.mark.parametrize(
    ("attributes", "user"),
    [
        (((CN, "alice"),), ("alice", (), "")),
        (((CN, "alice"), (O, "devs"), (O, "ops")), ("alice", ("devs", "ops"), "")),
        (((CN, "alice"), (UID, "1234")), ("alice", (), "1234")),
        (((O, "devs"),), None),
    ],
)
def test_the_user_of_a_certificate(attributes, user):
    der = shown(*attributes)
    found = CERTIFICATES.authenticate(request(der), NOW)
    if user is None:
        assert found is None
        return
    assert found is not None
    assert (found.user.name, found.user.groups, found.user.uid) == user
    fingerprint = x509.load_der_x509_certificate(der).fingerprint(hashes.SHA256()).hex()
    assert found.user.extras() == {"authentication.kubernetes.io/credential-id": [f"X509SHA256={fingerprint}"]}


@pytest.mark.parametrize(
    ("der", "now", "problem"),
    [
        (shown((CN, "root"), (O, "system:masters"), by=PROXIES), NOW, "signed by unknown authority"),
        (shown((CN, "alice"), use=ExtendedKeyUsageOID.SERVER_AUTH), NOW, "incompatible key usage"),
        (shown((CN, "alice")), NOW + 7200, "has expired or is not yet valid"),
        (shown((CN, "alice")), NOW - 7200, "has expired or is not yet valid"),
        (shown((CN, "alice"), (UID, "1"), (UID, "2")), NOW, "expected 1 UID, but found multiple"),
        (b"not a certificate", NOW, "error parsing asn1 value"),
    ],
)
def test_certificates_that_are_refused(der, now, problem):
    with pytest.raises(Refused, match=problem):
        CERTIFICATES.authenticate(request(der), now)


def test_a_certificate_is_read_once_a_connection_and_its_end_heeded_all_along():
    asked = request(shown((CN, "alice")))
    first = CERTIFICATES.authenticate(asked, NOW)
    assert CERTIFICATES.authenticate(asked, NOW + 60) is first
    with pytest.raises(Refused):
        CERTIFICATES.authenticate(asked, NOW + 7200)


def test_no_certificate_is_no_opinion():
    assert CERTIFICATES.authenticate(request(), NOW) is None


PROXY = shown((CN, "front-proxy"), by=PROXIES)
HEADERS = {
    "x_remote_user": "alice",
    "x_remote_group": "devs, ops",
    "x_remote_extra_scopes": "a,b",
    "x_remote_extra_example.com%2fteam": "blue",
    "x_remote_uid": "42",
}


def proxies(*allowed):
    return RequestHeader(trust(PROXIES), Headers(), allowed)


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authentication/request/headerrequest/requestheader.go:130
def test_what_a_front_proxy_says_is_believed():
    found = proxies("front-proxy").authenticate(request(PROXY, **HEADERS), NOW)
    assert found is not None
    assert found.user.name == "alice"
    assert found.user.groups == ("devs", "ops")
    assert found.user.uid == "42"
    assert found.user.extras() == {"scopes": ["a", "b"], "example.com/team": ["blue"]}
    assert proxies().authenticate(request(PROXY), NOW) is None


@pytest.mark.parametrize(
    ("allowed", "der", "now", "problem"),
    [
        (("other",), PROXY, NOW, "subject with cn=front-proxy is not in the allowed list"),
        ((), shown((CN, "alice")), NOW, "signed by unknown authority"),
        ((), PROXY, NOW + 7200, "expired"),
    ],
)
def test_what_others_say_in_headers_is_not(allowed, der, now, problem):
    with pytest.raises(Refused, match=problem):
        proxies(*allowed).authenticate(request(der, **HEADERS), now)
    assert proxies(*allowed).authenticate(request(**HEADERS), now) is None


FILE = 'good,alice,1,"devs,ops"\nplain,bob,2\n,empty,3\ngood2,carol,4\n'
TOKENS = TokenFile(token_file.parse(FILE, "tokens.csv"))


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go:44
@pytest.mark.parametrize(
    ("token", "user"),
    [
        ("good", User("alice", ("devs", "ops"), "1")),
        ("plain", User("bob", (), "2")),
        ("", None),
        ("goo", None),
        ("good ", None),
        ("g\u00f6\u00f6d", None),
    ],
)
def test_tokens_of_a_file(token, user):
    found = TOKENS.authenticate_token(token, (), NOW)
    assert (found and found.user) == user


def test_a_line_that_is_too_short():
    with pytest.raises(ValueError, match=r"token file 't' must have at least 3 columns .*, found 2"):
        token_file.parse("a,b\n", "t")


def joined(**changes):
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "expiration": "2023-11-14T22:14:20Z",
        **changes,
    }
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token", "data": encoded}


class Secrets:
    def __init__(self, secret):
        self.found = secret

    def secret(self, namespace, name):
        return self.found if (namespace, name) == ("kube-system", "bootstrap-token-abcdef") else None


GOOD = "abcdef.0123456789abcdef"


# v1.36.4 plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go:93
@pytest.mark.parametrize(
    ("token", "secret", "groups"),
    [
        (GOOD, joined(), ("system:bootstrappers",)),
        (
            GOOD,
            joined(**{"auth-extra-groups": "system:bootstrappers:kubeadm:nodes,system:bootstrappers:a"}),
            ("system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:kubeadm:nodes"),
        ),
        (GOOD, joined(expiration=""), ("system:bootstrappers",)),
        ("abcdef.0123456789abcdee", joined(), None),
        ("abcdeg.0123456789abcdef", joined(), None),
        ("ABCDEF.0123456789abcdef", joined(), None),
        ("abcdef", joined(), None),
        (GOOD, joined(expiration="2023-11-14T22:13:20Z"), None),
        (GOOD, joined(expiration="tomorrow"), None),
        (GOOD, joined(**{"usage-bootstrap-authentication": "yes"}), None),
        (GOOD, joined(**{"token-id": "xxxxxx"}), None),
        (GOOD, joined(**{"auth-extra-groups": "system:masters"}), None),
        (GOOD, {**joined(), "type": "Opaque"}, None),
        (GOOD, {**joined(), "metadata": {"deletionTimestamp": "2023-11-14T22:13:20Z"}}, None),
        (GOOD, {"metadata": {}, "type": "bootstrap.kubernetes.io/token"}, None),
        (GOOD, None, None),
    ],
)
def test_tokens_to_join_with(token, secret, groups):
    found = BootstrapTokens(Secrets(secret)).authenticate_token(token, (), NOW)
    assert (found and found.user) == (None if groups is None else User("system:bootstrap:abcdef", groups))


def basic(text):
    return request(authorization="Basic " + base64.b64encode(text.encode()).decode())


def test_passwords_of_a_file():
    passwords = PasswordFile(token_file.parse("secret,alice,1\n", "p"))
    assert passwords.authenticate(basic("alice:secret"), NOW) == Authenticated(User("alice", (), "1"))
    assert passwords.authenticate(request(authorization="Bearer x"), NOW) is None
    assert passwords.authenticate(request(authorization="Basic %%%"), NOW) is None
    for wrong in ("alice:other", "bob:secret", "bob:", "alice:"):
        with pytest.raises(Refused):
            passwords.authenticate(basic(wrong), NOW)


class Guess(str):
    """Counts how often it is compared with something that is nearly the same."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Guess.compared += 1
        return str.__eq__(self, other)


def test_the_time_a_guess_takes_does_not_tell_how_near_it_is(monkeypatch):
    tokens = TokenFile(token_file.parse("right-token,alice,1\n", "t"))
    for guess in ("right-tokem", "wight-token", "r"):
        assert tokens.authenticate_token(Guess(guess), (), NOW) is None
    assert Guess.compared == 0, "a hash with a secret seed is what differs"

    compared = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda *pair: compared.append(pair) or compare(*pair))
    for secret in (b"0123456789abcdee", b"x123456789abcdef"):
        assert BootstrapTokens(Secrets(joined())).authenticate_token(f"abcdef.{secret.decode()}", (), NOW) is None
        assert compared.pop() == (b"0123456789abcdef", secret)
    with pytest.raises(Refused):
        PasswordFile(token_file.parse("secret,alice,1\n", "p")).authenticate(basic("alice:secres"), NOW)
    assert [len(each) for each in compared.pop()] == [32, 32], "what is compared are digests"


def protocol(token):
    return PROTOCOL_PREFIX + base64.urlsafe_b64encode(token.encode()).rstrip(b"=").decode()


def outcome_of(outcome):
    """Waited for where there is something to wait for."""

    async def waited():
        return await outcome

    return run(waited()) if isawaitable(outcome) else outcome


BEARER = Bearer([TOKENS])


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go:41, websocket/protocol.go:47
@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"authorization": "Bearer good"}, "alice"),
        ({"authorization": "bearer good"}, "alice"),
        ({"authorization": " Bearer good trailing"}, "alice"),
        ({"authorization": "Bearer"}, ""),
        ({"authorization": "Bearer "}, ""),
        ({"authorization": "Basic good"}, ""),
        ({}, ""),
        ({"upgrade": "websocket", "sec_websocket_protocol": f"v5.channel.k8s.io, {protocol('good')}"}, "alice"),
        ({"sec_websocket_protocol": f"v5.channel.k8s.io, {protocol('good')}"}, ""),
    ],
)
def test_where_tokens_are_shown(headers, name):
    found = outcome_of(BEARER.authenticate(request(**headers), NOW))
    assert (found.user.name if found else "") == name


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"authorization": "Bearer bad"}, "invalid bearer token"),
        ({"upgrade": "websocket", "sec_websocket_protocol": protocol("good")}, "missing additional subprotocol"),
        ({"upgrade": "websocket", "sec_websocket_protocol": f"{protocol('a')},{protocol('b')},x"}, "multiple"),
        ({"upgrade": "websocket", "sec_websocket_protocol": f"x,{PROTOCOL_PREFIX}a"}, "encoding"),
        ({"upgrade": "websocket", "sec_websocket_protocol": f"x,{PROTOCOL_PREFIX}_w"}, "authorization token"),
    ],
)
def test_tokens_that_are_refused(headers, problem):
    with pytest.raises(Refused, match=problem):
        outcome_of(BEARER.authenticate(request(**headers), NOW))


# v1.36.4 staging/src/k8s.io/apiserver/pkg/authentication/authenticator/audagnostic.go:27
@pytest.mark.parametrize(("asked", "meant"), [((), ("api",)), (("api", "x"), ("api",)), (("x",), None)])
def test_a_token_that_names_nobody_is_meant_for_this_server(asked, meant):
    bearer = Bearer([TOKENS], ("api",))
    if meant is None:
        with pytest.raises(Refused, match="invalid bearer token"):
            run(bearer.review("good", asked, NOW))
    else:
        assert run(bearer.review("good", asked, NOW)).audiences == meant


CHAIN = Chain([proxies("front-proxy"), CERTIFICATES, BEARER], Anonymous())


# v1.36.4 pkg/kubeapiserver/authenticator/config.go:104, request/union/union.go:52
def test_every_user_who_has_shown_something_is_authenticated():
    found = run(CHAIN.authenticate(request(authorization="Bearer plain"), NOW))
    assert found.user.groups == ("system:authenticated",)
    assert run(CHAIN.authenticate(request(authorization="Bearer plain"), NOW)).user is found.user


def test_a_client_certificate_is_no_proxys_and_still_good():
    assert run(CHAIN.authenticate(request(shown((CN, "alice")), **HEADERS), NOW)).user.name == "alice"
    name = run(CHAIN.authenticate(request(PROXY, **{**HEADERS, "x_remote_user": "eve"}), NOW)).user.name
    assert name == "eve"


def test_who_shows_nothing_is_anonymous():
    assert run(CHAIN.authenticate(request(), NOW)).user == User("system:anonymous", ("system:unauthenticated",))


def test_who_shows_something_bad_is_not_anonymous():
    with pytest.raises(Refused, match="invalid bearer token"):
        run(CHAIN.authenticate(request(authorization="Bearer bad"), NOW))


def test_a_good_token_helps_a_bad_certificate():
    asked = request(shown((CN, "alice"), use=ExtendedKeyUsageOID.SERVER_AUTH), authorization="Bearer plain")
    assert run(CHAIN.authenticate(asked, NOW)).user.name == "bob"


def test_without_anonymous_nobody_gets_in():
    with pytest.raises(Refused):
        run(Chain([BEARER]).authenticate(request(), NOW))


def test_anonymous_may_be_let_in_at_some_paths_only():
    chain = Chain([BEARER], Anonymous(("/livez",)))
    assert run(chain.authenticate(request(path="/livez"), NOW)).user.name == "system:anonymous"
    with pytest.raises(Refused):
        run(chain.authenticate(request(path="/api"), NOW))


def test_a_user_is_a_good_key():
    one, other = User("a", ("g",), "1", (("k", ("v",)),)), User("a", ("g",), "1", (("k", ("v",)),))
    assert one == other
    assert hash(one) == hash(other)
    assert one != User("a", ("g",), "1")
    assert one.with_groups("g") is one
    assert one.with_groups("h").groups == ("g", "h")
