"""Who a cluster is, for somebody who knows a token. v1.36.4 cmd/kubeadm/app/discovery/token/token_test.go."""

import pytest

from tiphys.base import tls
from tiphys.cmd import joining
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.discovery import Doubtful, believed, key_hash
from tiphys.controllers.bootstrap_signer import signature

TOKEN = "abcdef.0123456789abcdef"
SERVER = "https://10.0.0.1:6443"
NOW = 1_700_000_000.0


@pytest.fixture(scope="module")
def authority():
    return tls.make_authority("test", now=NOW).certificate


def published(authority, **changes):
    info = joining.cluster_info(SERVER, authority)
    content = info["data"]["kubeconfig"]
    signed = {"jws-kubeconfig-abcdef": signature(content, *TOKEN.split("."))}
    return {**info, "data": {**info["data"], **signed, **changes}}


def test_a_cluster_that_is_who_it_says(authority):
    found = believed(published(authority), TOKEN, [key_hash(authority)])
    assert (found.server, found.authority) == (SERVER, authority)
    assert believed(published(authority), TOKEN, []).server == SERVER
    assert believed(published(authority), TOKEN, ["sha256:" + "0" * 64, key_hash(authority).upper()])


def test_another_authority_is_not_believed(authority):
    other = tls.make_authority("test", now=NOW).certificate
    with pytest.raises(Doubtful, match=r"none of the public keys sha256:.* are pinned"):
        believed(published(other), TOKEN, [key_hash(authority)])


def test_nobody_who_does_not_know_the_token_is_believed(authority):
    forged = joining.cluster_info("https://10.6.6.6", authority)["data"]["kubeconfig"]
    for changes in ({"kubeconfig": forged}, {"jws-kubeconfig-abcdef": signature(forged, "abcdef", "another")}):
        with pytest.raises(Doubtful, match="failed to verify JWS signature"):
            believed(published(authority, **changes), TOKEN, [])


def test_a_token_that_has_not_signed_yet_may_later(authority):
    with pytest.raises(Unusable, match="no JWS signed token") as caught:
        believed(published(authority), "zzzzzz.0123456789abcdef", [])
    assert not isinstance(caught.value, Doubtful)


def test_what_is_no_token(authority):
    with pytest.raises(Doubtful, match="was not of the form"):
        believed(published(authority), "abc", [])
