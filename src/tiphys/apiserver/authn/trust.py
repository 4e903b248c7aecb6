"""Which authority vouches for a certificate.

The TLS layer accepts a certificate of any authority that it was given. Clients and front proxies have authorities of their
own, and what one vouches for must not pass for the other: so each authenticator asks again, of its own bundle.
"""

from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID

from tiphys.apiserver.authn.outcome import Refused

_USES = frozenset((ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE))


@dataclass(frozen=True, slots=True)
class Trust:
    authorities: tuple[x509.Certificate, ...]

    @classmethod
    def from_pem(cls, bundle: bytes) -> "Trust":
        return cls(tuple(x509.load_pem_x509_certificates(bundle)))

    def issued(self, certificate: x509.Certificate) -> bool:
        return any(_is_issued_by(certificate, authority) for authority in self.authorities)


def _is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    if certificate.issuer != authority.subject:
        return False
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def check_client_use(certificate: x509.Certificate) -> None:
    """Raises Refused for a certificate that may not stand for a client."""
    try:
        uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    if _USES.isdisjoint(uses):
        raise Refused("x509: certificate specifies an incompatible key usage")


def check_validity(certificate: x509.Certificate, now: float) -> None:
    start, end = validity(certificate)
    if not start <= now <= end:
        raise Refused("x509: certificate has expired or is not yet valid")


def validity(certificate: x509.Certificate) -> tuple[float, float]:
    return certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()
