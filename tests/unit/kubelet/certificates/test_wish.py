"""https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/"""

from base64 import b64encode

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from tiphys.base import tls, tls_requests
from tiphys.base.tls import Subject
from tiphys.base.tls_requests import Said
from tiphys.kubelet.certificates import wish
from tiphys.kubelet.certificates.files import Store

AUTHORITY = tls.make_authority("ca", now=0)
NODE = Subject("system:node:n1", ("system:nodes",))


def test_a_request_is_what_the_signers_ask_for():
    # https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
    wanted = wish.serving("n1", ["n1", "10.0.0.1"])
    request = x509.load_pem_x509_csr(tls_requests.request(tls_requests.new_key(), wanted.subject, wanted.names))
    assert request.subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n1"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]
    spec = wish.request_object(wanted, b"r")["spec"]
    assert spec["signerName"] == "kubernetes.io/kubelet-serving"
    assert spec["usages"] == ["digital signature", "server auth"]


def test_the_same_wish_has_the_same_name():
    # pkg/kubelet/certificate/bootstrap/bootstrap.go: digestedName
    key, other = tls_requests.new_key(), tls_requests.new_key()
    name = tls_requests.digested(key, NODE, ["a"])
    assert name == tls_requests.digested(key, NODE, ["a"])
    assert len({name, tls_requests.digested(other, NODE, ["a"]), tls_requests.digested(key, NODE, ["b"])}) == 3


@given(st.floats(0, 1), st.integers(60, 10**9))
def test_the_next_is_asked_for_in_time(chance, seconds):
    # client-go util/certificate/certificate_manager.go: nextRotationDeadline, 80 % +/- 10 %
    said = Said(NODE, frozenset(), 1000.0, 1000.0 + seconds)
    assert 0.699 * seconds <= wish.due(said, chance) - 1000.0 <= 0.901 * seconds


def test_a_certificate_that_names_less_than_wanted_is_replaced():
    pair = tls.issue(AUTHORITY, NODE, ["server"], now=0, names=["n1", "10.0.0.1"])
    said = tls_requests.said_by(pair.certificate)
    assert wish.serves(said, wish.serving("n1", ["10.0.0.1"]))
    assert not wish.serves(said, wish.serving("n1", ["10.0.0.1", "10.0.0.2"]))
    assert not wish.serves(said, wish.serving("n2", []))


def answered(*kinds, certificate=b""):
    conditions = [{"type": each, "reason": "R", "message": "M"} for each in kinds]
    return {"metadata": {"name": "c"}, "status": {"conditions": conditions, "certificate": b64encode(certificate).decode()}}


def test_what_became_of_a_request():
    assert wish.outcome({"metadata": {"name": "c"}}) is None
    assert wish.outcome(answered("Approved")) is None
    assert wish.outcome(answered("Approved", certificate=b"x")) == b"x"
    for kind in ("Denied", "Failed"):
        with pytest.raises(wish.Rejected, match="reason: R, message: M"):
            wish.outcome(answered(kind, certificate=b"x"))


def test_the_newest_is_found_again(tmp_path):
    store = Store(tmp_path / "pki", "kubelet-client")
    assert store.load() is None
    key = store.begun(tls_requests.new_key())
    assert store.begun(tls_requests.new_key()) == key
    for now in (0, 100):
        pair = tls.issue(AUTHORITY, NODE, ["client"], now=now)
        store.save(pair, now)
        assert tls_requests.said_by(store.load().certificate).begins == tls_requests.said_by(pair.certificate).begins
    assert store.begun(b"new") == b"new"
    assert store.current.stat().st_mode & 0o77 == 0
    assert tls.belongs(store.load())
