"""Tokens by which nodes join: the Secret, and that the server takes what the command makes."""

import base64
import hashlib
import re
import subprocess

import pytest

from tiphys.apiserver.authn.bootstrap_token import user_of
from tiphys.base import tls
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.token_command import DEFAULT_GROUPS, USAGES, join_command, new_token, secret_of, table

NOW = 1_700_000_000.0
TOKEN = "abcdef.0123456789abcdef"


def stored(secret):
    data = {key: base64.b64encode(value.encode()).decode() for key, value in secret["stringData"].items()}
    return {**{key: value for key, value in secret.items() if key != "stringData"}, "data": data}


def test_every_new_token_is_another_one():
    made = {new_token() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", each) for each in made)


def test_the_server_lets_in_whom_the_command_means():
    secret = stored(secret_of(TOKEN, 3600, USAGES, ("system:bootstrappers:x",), "for a test", NOW))
    assert secret["metadata"] == {"name": "bootstrap-token-abcdef", "namespace": "kube-system"}
    user = user_of(secret, *TOKEN.split("."), NOW)
    assert (user.name, user.groups) == ("system:bootstrap:abcdef", ("system:bootstrappers", "system:bootstrappers:x"))
    assert user_of(secret, *TOKEN.split("."), NOW + 3601) is None


def test_one_for_ever_and_one_for_signing_only():
    assert user_of(stored(secret_of(TOKEN, 0, USAGES, (), "", NOW)), *TOKEN.split("."), NOW * 2)
    assert user_of(stored(secret_of(TOKEN, 0, ("signing",), (), "", NOW)), *TOKEN.split("."), NOW) is None


# v1.36.4 cmd/kubeadm/app/cmd/token.go, staging/src/k8s.io/cluster-bootstrap/token/util/helpers.go
@pytest.mark.parametrize(
    ("token", "usages", "groups", "problem"),
    [
        ("ABCDEF.0123456789abcdef", USAGES, (), "was not of the form"),
        ("abcdef.short", USAGES, (), "was not of the form"),
        (TOKEN, ("dancing",), (), "invalid bootstrap token usage dancing"),
        (TOKEN, USAGES, ("system:masters",), 'bootstrap group "system:masters" is invalid'),
        (TOKEN, ("signing",), DEFAULT_GROUPS, "token groups cannot be specified unless"),
    ],
)
def test_what_no_cluster_would_take(token, usages, groups, problem):
    with pytest.raises(Unusable, match=problem):
        secret_of(token, 60, usages, groups, "", NOW)


def test_the_join_command_names_the_key_of_the_authority():
    authority = tls.make_authority("test", now=NOW)
    words = join_command("https://10.0.0.1:6443", authority.certificate, TOKEN).split()
    assert words[:5] == ["tiphys", "join", "10.0.0.1:6443", "--token", TOKEN]
    # https://kubernetes.io/docs/reference/setup-tools/kubeadm/kubeadm-join/#token-based-discovery-with-ca-pinning
    found = authority.certificate
    for command in (["openssl", "x509", "-pubkey", "-noout"], ["openssl", "pkey", "-pubin", "-outform", "DER"]):
        found = subprocess.run(command, input=found, capture_output=True, check=True).stdout
    assert words[5:] == ["--discovery-token-ca-cert-hash", f"sha256:{hashlib.sha256(found).hexdigest()}"]


def test_the_list():
    lines = table([stored(secret_of(TOKEN, 0, USAGES, DEFAULT_GROUPS, "", NOW))]).splitlines()
    assert lines[1].split() == [TOKEN, "<forever>", "authentication,signing", "<none>", DEFAULT_GROUPS[0]]
