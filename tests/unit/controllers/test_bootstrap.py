"""Bootstrap tokens: who vouches for the cluster, and until when. v1.36.4 pkg/controller/bootstrap, and
staging/src/k8s.io/cluster-bootstrap/token/jws/jws_test.go."""

import base64

from tiphys.controllers.bootstrap_signer import BootstrapSigner, World, signature
from tiphys.controllers.plan import Delete
from tiphys.controllers.token_cleaner import TokenCleaner
from tiphys.controllers.token_cleaner import World as TokenWorld
from tiphys.machinery import times

NOW = 1_800_000_000.0
CONTENT = "Hello from the other side. I must have called a thousand times."


def token(token_id="joshua", secret="my voice is my passcode", ends=None, **data):
    content = {"token-id": token_id, "token-secret": secret, "usage-bootstrap-signing": "true", **data}
    if ends is not None:
        content["expiration"] = ends if isinstance(ends, str) else times.rfc3339(NOW + ends)
    return {
        "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": "kube-system", "uid": "1"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in content.items()},
    }


def sign(*tokens, **data):
    cluster_info = {"metadata": {"name": "cluster-info", "namespace": "kube-public"}, "data": {"kubeconfig": CONTENT, **data}}
    return BootstrapSigner.reconcile(World(cluster_info, tokens, NOW))


def test_the_signature_is_upstreams():
    wanted = "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8"
    assert signature(CONTENT, "joshua", "my voice is my passcode") == wanted
    (update,) = sign(token()).writes
    assert update.obj["data"] == {"kubeconfig": CONTENT, "jws-kubeconfig-joshua": wanted}


def test_signing_twice_changes_nothing():
    (update,) = sign(token(ends=60)).writes
    again = BootstrapSigner.reconcile(World(update.obj, (token(ends=60),), NOW))
    assert not again.writes
    assert again.again_in == 60


def test_signatures_of_tokens_that_are_no_more_go():
    (update,) = sign(**{"jws-kubeconfig-abcdef": "old", "other": "kept"}).writes
    assert update.obj["data"] == {"kubeconfig": CONTENT, "other": "kept"}


def test_who_may_not_sign():
    wrong = {**token(), "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"}}
    for each in (token(ends=-1), token(ends="tomorrow"), token(secret=""), token(**{"usage-bootstrap-signing": "no"}), wrong):
        assert not sign(each).writes


def test_nothing_to_sign():
    cluster_info = {"metadata": {"name": "cluster-info", "namespace": "kube-public"}}
    assert not BootstrapSigner.reconcile(World(cluster_info, (token(),), NOW)).writes


def test_expired_tokens_are_deleted_and_others_waited_for():
    for ends in (-1, 0, "tomorrow"):
        (delete,) = TokenCleaner.reconcile(TokenWorld(token(ends=ends), NOW)).writes
        assert isinstance(delete, Delete)
    plan = TokenCleaner.reconcile(TokenWorld(token(ends=60), NOW))
    assert (plan.writes, plan.again_in) == ((), 60)
    plan = TokenCleaner.reconcile(TokenWorld(token(), NOW))
    assert (plan.writes, plan.again_in) == ((), None)
