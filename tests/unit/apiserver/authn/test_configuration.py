"""AuthenticationConfiguration: what it says, and what is wrong with it."""

import pytest

from tiphys.apiserver.authn.configuration import AnonymousSettings, parse
from tiphys.apiserver.authn.open_id import ALGORITHMS, Claim, JwtIssuer
from tiphys.base import tls

AUTHORITY = tls.make_authority("issuer", now=1_700_000_000).certificate.decode()


def indented(text, by):
    return "\n".join(" " * by + line for line in text.splitlines())


def file(jwt="", rest="", version="v1"):
    return f"apiVersion: apiserver.config.k8s.io/{version}\nkind: AuthenticationConfiguration\n{jwt}{rest}".encode()


WHOLE = f"""jwt:
- issuer:
    url: https://issuer.example
    discoveryURL: https://inside.example/.well-known/openid-configuration
    audiences: [one, two]
    audienceMatchPolicy: MatchAny
    certificateAuthority: |
{indented(AUTHORITY, 6)}
  claimValidationRules:
  - claim: hd
    requiredValue: example.org
  claimMappings:
    username: {{claim: sub, prefix: "oidc:"}}
    groups: {{claim: groups, prefix: ""}}
    uid: {{claim: id}}
anonymous:
  enabled: true
  conditions:
  - path: /livez
  - path: /readyz
"""


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_everything_that_claims_can_say(version):
    found = parse(file(WHOLE, version=version))
    assert found.anonymous == AnonymousSettings(True, ("/livez", "/readyz"))
    assert found.issuers == (
        JwtIssuer(
            "https://issuer.example",
            ("one", "two"),
            Claim("sub", "oidc:"),
            Claim("groups", ""),
            "id",
            (("hd", "example.org"),),
            ALGORITHMS,
            "https://inside.example/.well-known/openid-configuration",
            AUTHORITY.encode(),
        ),
    )


def test_nothing_said():
    assert parse(file()).issuers == ()
    assert parse(file()).anonymous is None
    assert parse(file(rest="anonymous: {enabled: false}\n")).anonymous == AnonymousSettings(False)


def issuer(url="https://a.example", audiences="[a]", more="", mapping='{claim: sub, prefix: ""}', rules=""):
    return (
        f"jwt:\n- issuer:\n    url: {url}\n    audiences: {audiences}\n{more}  claimMappings:\n    username: {mapping}\n{rules}"
    )


EXPRESSIONS = "expressions (CEL) are not supported here"


# v1.36.4 staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go:50
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"kind: Pod", "it has no AuthenticationConfiguration"),
        (b"{", "not YAML"),
        (file(version="v2"), 'no kind "AuthenticationConfiguration" is registered for version "apiserver.config.k8s.io/v2"'),
        (file(rest="jwts: []\n"), "jwts: Forbidden: unknown field"),
        (file(issuer(url='""')), "jwt[0].issuer.url: Required value"),
        (
            file(issuer(url="http://a.example")),
            'jwt[0].issuer.url: Invalid value: "http://a.example": URL scheme must be https',
        ),
        (file(issuer(url="https://u:p@a.example")), "URL must not contain a username or password"),
        (file(issuer(url="https://a.example/?q=1")), "URL must not contain a query"),
        (file(issuer(url="https://a.example/#f")), "URL must not contain a fragment"),
        (file(issuer(url="https://ours.example")), "URL must not overlap with disallowed issuers: [https://ours.example]"),
        (file(issuer(audiences="[]")), "at least one jwt[0].issuer.audiences is required"),
        (file(issuer(audiences='[""]')), "jwt[0].issuer.audiences[0]: Required value"),
        (file(issuer(audiences="[a, b]")), "audienceMatchPolicy must be MatchAny for multiple audiences"),
        (
            file(issuer(more="    audienceMatchPolicy: X\n")),
            "must be empty or MatchAny for single audience",
        ),
        (file(issuer(more="    discoveryURL: https://a.example/\n")), "discoveryURL must be different from URL"),
        (file(issuer(more="    certificateAuthority: junk\n")), "does not contain any valid"),
        (file(issuer(more="    egressSelectorType: cluster\n")), "there are no egress selectors here"),
        (file(issuer(mapping="{}")), "jwt[0].claimMappings.username: Required value: claim or expression is required"),
        (file(issuer(mapping="{claim: sub}")), "prefix is required when claim is set"),
        (file(issuer(mapping="{expression: claims.sub}")), EXPRESSIONS),
        (file(issuer(rules="    extra: [{key: a/b, valueExpression: x}]\n")), EXPRESSIONS),
        (file(issuer(rules="  userValidationRules: [{expression: x}]\n")), EXPRESSIONS),
        (file(issuer(rules="  claimValidationRules: [{expression: x}]\n")), EXPRESSIONS),
        (file(issuer(rules="  claimValidationRules: [{}]\n")), "claim or expression is required"),
        (file(issuer(rules="  claimValidationRules: [{claim: a}, {claim: a}]\n")), "Duplicate value"),
        (file(issuer(rules="anonymous: {enabled: false, conditions: [{path: /x}]}\n")), "enabled should be set to true when"),
    ],
)
def test_what_is_wrong(data, problem):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are compared below
        parse(data, ("https://ours.example",))
    assert problem in str(caught.value)


def test_two_authenticators_have_two_issuers():
    one = issuer()
    with pytest.raises(ValueError, match=r'jwt\[1\].issuer.url: Duplicate value: "https://a.example"'):
        parse(file(one + one.removeprefix("jwt:\n")))
