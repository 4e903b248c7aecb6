"""Flags of kube-apiserver about outsiders, and the settings that they become."""

import pytest

from tiphys.apiserver.authn import signing_keys
from tiphys.apiserver.authn.open_id import Claim
from tiphys.apiserver.authn.user import User
from tiphys.base import tls
from tiphys.cmd import apiserver_flags, authentication_flags
from tiphys.cmd.authentication import ServiceAccounts, Trusted
from tiphys.cmd.data_directory import Unusable

KEY = signing_keys.load_signing_key(tls.make_signing_key("ES256"))
TRUSTED = Trusted(ServiceAccounts(KEY, (), ("https://ours.example",), ("api",)))
OIDC = ["--oidc-issuer-url", "https://issuer.example", "--oidc-client-id", "me"]
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://asked.example/path"}}]
users: [{name: u, user: {token: secret}}]
"""


def given(*arguments):
    return apiserver_flags.parser("apiserver").parse_args([str(each) for each in arguments])


def completed(*arguments):
    return authentication_flags.completed(TRUSTED, given(*arguments))


# v1.36.4 pkg/kubeapiserver/options/authentication.go:524
@pytest.mark.parametrize(
    ("more", "username"),
    [
        ((), Claim("sub", "https://issuer.example#")),
        (("--oidc-username-claim", "email"), Claim("email", "")),
        (("--oidc-username-prefix=-",), Claim("sub", "")),
        (("--oidc-username-prefix", "oidc:"), Claim("sub", "oidc:")),
    ],
)
def test_names_are_prefixed(more, username):
    assert completed(*OIDC, *more).issuers[0].username == username


def test_everything_about_an_issuer(tmp_path):
    (tmp_path / "ca").write_bytes(b"ca")
    more = ["--oidc-groups-claim", "g", "--oidc-groups-prefix", "p:", "--oidc-signing-algs", "ES256,RS256"]
    claims = ["--oidc-required-claim", "hd=x", "--oidc-required-claim", "a=b=c", "--oidc-ca-file", tmp_path / "ca"]
    issuer = completed(*OIDC, *more, *claims).issuers[0]
    assert (issuer.url, issuer.audiences, issuer.authority) == ("https://issuer.example", ("me",), b"ca")
    assert (issuer.groups, issuer.algorithms) == (Claim("g", "p:"), ("ES256", "RS256"))
    assert issuer.required == (("hd", "x"), ("a", "b=c"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (OIDC[:2], "must be specified together"),
        (["--oidc-issuer-url", "http://x", "--oidc-client-id", "me"], "URL scheme must be https"),
        (["--oidc-issuer-url", "https://ours.example", "--oidc-client-id", "me"], "issues service account tokens already"),
        ([*OIDC, "--oidc-signing-algs", "HS256"], 'unsupported signing alg: "HS256"'),
        ([*OIDC, "--oidc-signing-algs", "none"], 'unsupported signing alg: "none"'),
        (["--authentication-token-webhook-config-file", "/nowhere"], "there is no file /nowhere"),
        (["--basic-auth-file", "/nowhere"], "cannot read /nowhere"),
        (["--authentication-config", "/nowhere"], "cannot read /nowhere"),
    ],
)
def test_what_makes_no_sense(arguments, problem):
    with pytest.raises(Unusable, match=problem):
        completed(*arguments)


def test_passwords_are_warned_of_and_watched(tmp_path, capsys):
    file = tmp_path / "passwords"
    file.write_text("secret,peter,1,devs\n")
    trusted = completed("--basic-auth-file", file)
    assert trusted.passwords == {"secret": User("peter", ("devs",), "1")}
    assert trusted.files.passwords == file
    assert "warning" in capsys.readouterr().err


def test_the_configuration_file_decides_on_the_anonymous(tmp_path):
    file = tmp_path / "config"
    head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
    file.write_text(head + "anonymous: {enabled: true, conditions: [{path: /livez}]}\n")
    trusted = completed("--authentication-config", file)
    assert (trusted.anonymous, trusted.anonymous_paths) == (True, ("/livez",))
    with pytest.raises(Unusable, match="mutually exclusive"):
        completed("--authentication-config", file, *OIDC)
    file.write_text(head + "jwt: [{}]\n")
    with pytest.raises(Unusable, match="failed to load authentication configuration from file"):
        completed("--authentication-config", file)


def test_webhooks(tmp_path):
    file = tmp_path / "webhook"
    file.write_text(KUBECONFIG)
    tokens = completed("--authentication-token-webhook-config-file", file).token_webhook
    assert (tokens.access.server, tokens.version, tokens.seconds) == ("https://asked.example/path", "v1beta1", 120)
