"""A certificate authority and what it signs: names and key of the request, the usages that were asked for, no more."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from tiphys.base.tls import Pair, PrivateKey, load_private_key
from tiphys.controllers.certificates.requests import alternatives

BACKDATED = 300.0
"""Seconds by which certificates begin in the past: clocks differ."""
SHORT = 8 * 3600.0
"""Those that live shorter do not end earlier for having begun earlier."""

_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
# In the order in which Go numbers them: certificates list them so.
_EXTENDED = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}
_KEPT_NAMES = x509.DNSName | x509.RFC822Name | x509.IPAddress | x509.UniformResourceIdentifier


class CannotSign(ValueError):
    """A sentence."""


@dataclass(frozen=True, slots=True)
class Authority:
    certificate: x509.Certificate
    key: PrivateKey

    @classmethod
    def of(cls, pair: Pair) -> "Authority":
        """ValueError for what is not one certificate and its key."""
        found = x509.load_pem_x509_certificates(pair.certificate)
        if len(found) != 1:
            raise ValueError(f"expected 1 certificate, found {len(found)}")
        return cls(found[0], load_private_key(pair.key))

    def sign(self, asked: x509.CertificateSigningRequest, usages: Iterable[str], ttl: float, serial: int, now: float) -> bytes:
        """PEM. CannotSign where the authority has come to its end, or the request does not hold together."""
        if not asked.is_signature_valid:
            raise CannotSign("unable to verify certificate request signature")
        begin, end = self._times(ttl, now)
        builder = (
            x509.CertificateBuilder()
            .subject_name(asked.subject)
            .issuer_name(self.certificate.subject)
            .public_key(asked.public_key())
            .serial_number(serial)
            .not_valid_before(begin)
            .not_valid_after(end)
        )
        given = list(usages)
        keys = {_KEY_USAGES[each] for each in given if each in _KEY_USAGES}
        if keys:
            builder = builder.add_extension(_key_usage(keys), critical=True)
        extended = [oid for usage, oid in _EXTENDED.items() if usage in given]
        if extended:
            builder = builder.add_extension(x509.ExtendedKeyUsage(dict.fromkeys(extended)), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        own = self._own_identifier()
        if own is not None:
            builder = builder.add_extension(own, critical=False)
        names = [each for each in alternatives(asked) if isinstance(each, _KEPT_NAMES)]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not list(asked.subject))
        return builder.sign(self.key, self._hash()).public_bytes(serialization.Encoding.PEM)

    def _times(self, ttl: float, now: float) -> tuple[datetime, datetime]:
        moment, last = datetime.fromtimestamp(int(now), UTC), self.certificate.not_valid_after_utc
        begin = moment - timedelta(seconds=BACKDATED)
        end = min(moment + timedelta(seconds=ttl if ttl < SHORT else ttl - BACKDATED), last)
        if begin >= last:
            raise CannotSign(f"the signer has expired: NotAfter={last}")
        if moment >= last:
            raise CannotSign(f"refusing to sign a certificate that expired in the past: NotAfter={last}")
        return begin, end

    def _own_identifier(self) -> x509.AuthorityKeyIdentifier | None:
        try:
            own = self.certificate.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_KEY_IDENTIFIER)
        except x509.ExtensionNotFound:
            return None
        assert isinstance(own.value, x509.SubjectKeyIdentifier)
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own.value)

    def _hash(self) -> hashes.SHA256 | hashes.SHA384 | hashes.SHA512:
        """As strong as the curve."""
        size = self.key.curve.key_size if isinstance(self.key, ec.EllipticCurvePrivateKey) else 256
        return hashes.SHA512() if size > 384 else hashes.SHA384() if size > 256 else hashes.SHA256()


def _key_usage(wanted: set[str]) -> x509.KeyUsage:
    # The two "only"s mean something beside a key agreement only, and the library refuses them without.
    lone = set() if "key_agreement" in wanted else {"encipher_only", "decipher_only"}
    return x509.KeyUsage(**{each: each in wanted - lone for each in set(_KEY_USAGES.values())})
