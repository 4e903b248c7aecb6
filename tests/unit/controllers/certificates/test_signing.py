"""What is signed, for how long, and what the certificate says. v1.36.4 pkg/controller/certificates/signer/signer.go and
authority/policies.go."""

import base64
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtensionOID
from tests.unit.controllers.certificates.conftest import CLIENT, NOW, csr, key, pem

from tiphys.base import tls
from tiphys.controllers.certificates import Authority, RequestSigning
from tiphys.controllers.certificates.requests import API_CLIENT, KUBELET_SERVING, LEGACY
from tiphys.controllers.certificates.signing import World, lifetime
from tiphys.controllers.plan import Update

HOUR, DAY = 3600, 86400


def decide(request, authority, now=NOW, longest=365 * DAY):
    return RequestSigning({}, lambda: 7, longest).reconcile(World(request, authority, 7, now))


def issued(request, authority, **given) -> x509.Certificate:
    (update,) = decide(request, authority, **given).writes
    assert isinstance(update, Update)
    assert update.subresource == "status"
    return x509.load_pem_x509_certificate(base64.b64decode(update.obj["status"]["certificate"]))


def at(seconds):
    return datetime.fromtimestamp(NOW + seconds, UTC)


def test_a_client_certificate_of_a_kubelet(authority):
    found = issued(csr(conditions=("Approved",)), authority)
    assert found.subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"
    assert found.issuer.rfc4514_string() == "CN=test"
    assert found.serial_number == 7
    assert found.public_key() == key().public_key()
    found.verify_directly_issued_by(authority.certificate)
    usage = found.extensions.get_extension_for_oid(ExtensionOID.KEY_USAGE)
    assert usage.critical
    assert usage.value.digital_signature
    assert not usage.value.key_encipherment
    extended = found.extensions.get_extension_for_oid(ExtensionOID.EXTENDED_KEY_USAGE).value
    assert [each.dotted_string for each in extended] == ["1.3.6.1.5.5.7.3.2"]
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize(
    ("expiration", "begin", "end"),
    [
        (None, -300, 365 * DAY - 300),
        (DAY, -300, DAY - 300),
        (HOUR, -300, HOUR),
        (8 * HOUR, -300, 8 * HOUR - 300),
        (60, -300, 600),
        (3 * 365 * DAY, -300, 365 * DAY - 300),
    ],
)
def test_from_when_until_when(authority, expiration, begin, end):
    found = issued(csr(conditions=("Approved",), expirationSeconds=expiration), authority)
    assert (found.not_valid_before_utc, found.not_valid_after_utc) == (at(begin), at(end))


def test_not_longer_than_the_authority_itself():
    short = Authority.of(tls.make_authority("test", now=NOW, days=2))
    found = issued(csr(conditions=("Approved",)), short)
    assert found.not_valid_after_utc == short.certificate.not_valid_after_utc
    late = decide(csr(conditions=("Approved",)), short, now=NOW + 2 * DAY + 1)
    assert not late.writes
    assert "refusing to sign a certificate that expired in the past" in late.retry
    assert "the signer has expired" in decide(csr(conditions=("Approved",)), short, now=NOW + 3 * DAY).retry


def test_names_are_taken_over_and_nothing_else(authority):
    asked = pem(dns=("n1", "n1.example.com"), ips=("10.0.0.1", "fd00::1"))
    request = csr(asked, signer=KUBELET_SERVING, usages=("digital signature", "server auth"), conditions=("Approved",))
    names = issued(request, authority).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n1", "n1.example.com"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1", "fd00::1"]


def test_every_usage_has_its_place(authority):
    usages = ("any", "timestamping", "server auth", "email protection", "s/mime", "cert sign", "key agreement", "encipher only")
    found = issued(csr(signer=LEGACY, usages=usages, conditions=("Approved",)), authority)
    extended = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    ends = [each.dotted_string for each in extended]
    assert ends == ["2.5.29.37.0", "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.4", "1.3.6.1.5.5.7.3.8"]
    usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.key_agreement, usage.encipher_only, usage.decipher_only) == (True, True, True, False)


@pytest.mark.parametrize(
    ("signer", "usages", "problem"),
    [
        (API_CLIENT, ("server auth",), "invalid usage for client certificate: server auth"),
        (API_CLIENT, ("digital signature",), "missing required usage for client certificate: client auth"),
        (KUBELET_SERVING, CLIENT, "DNS or IP subjectAltName is required"),
    ],
)
def test_what_a_signer_refuses_fails_for_good(authority, signer, usages, problem):
    (update,) = decide(csr(signer=signer, usages=usages, conditions=("Approved",)), authority).writes
    failed = update.obj["status"]["conditions"][-1]
    assert (failed["type"], failed["reason"], failed["message"]) == ("Failed", "SignerValidationFailure", problem)
    again = decide(update.obj, authority)
    assert not again.writes
    assert not again.retry


@pytest.mark.parametrize("conditions", [(), ("Denied",), ("Approved", "Denied"), ("Approved", "Failed")])
def test_only_what_is_approved_is_signed(authority, conditions):
    assert not decide(csr(conditions=conditions), authority).writes


def test_other_signers_are_left_alone():
    assert not decide(csr(signer="example.com/mine", conditions=("Approved",)), None).writes


def test_lifetimes():
    assert [lifetime(each, 1000.0) for each in (None, 700, 10, 5000)] == [1000, 700, 600, 1000]


def test_an_authority_is_one_certificate():
    pair = tls.make_authority("test", now=NOW)
    with pytest.raises(ValueError, match="expected 1 certificate, found 2"):
        Authority.of(tls.Pair(pair.certificate * 2, pair.key))
