"""Certificates and keys: made, read, kept in files.

Authorities and leaf certificates are ECDSA P-256; service account tokens may be signed with RSA or ECDSA keys. Keys lie in
files that only their owner may read. `base/tls_context.py` makes TLS contexts of them.
"""

import ipaddress
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
Usage = Literal["client", "server"]

_YEAR = 365
_CLOCK_SKEW = timedelta(minutes=5)
"""Certificates begin a little in the past: clocks differ."""
_USAGES = {"client": ExtendedKeyUsageOID.CLIENT_AUTH, "server": ExtendedKeyUsageOID.SERVER_AUTH}


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate (or chain) and its private key, both PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a certificate names: for a client the user and its groups."""

    common_name: str
    organizations: tuple[str, ...] = ()


def make_authority(common_name: str, *, now: float, days: int = 10 * _YEAR) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = name_of(Subject(common_name))
    builder = (
        _builder(name, name, key.public_key(), now, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
    )
    return Pair(_pem(builder.sign(key, hashes.SHA256())), private_pem(key))


def issue(
    authority: Pair,
    subject: Subject,
    usages: Sequence[Usage],
    *,
    now: float,
    names: Iterable[str] = (),
    days: int = _YEAR,
) -> Pair:
    """A certificate with a new key. `names`: host names and addresses that a server answers to."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signing_key = load_private_key(authority.key)
    builder = (
        _builder(name_of(subject), issuer.subject, key.public_key(), now, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([_USAGES[usage] for usage in usages]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
    )
    listed = [alternative(name) for name in dict.fromkeys(names)]
    if listed:
        builder = builder.add_extension(x509.SubjectAlternativeName(listed), critical=False)
    return Pair(_pem(builder.sign(signing_key, hashes.SHA256())), private_pem(key))


def _builder(subject: x509.Name, issuer: x509.Name, key: PublicKey, now: float, days: int) -> x509.CertificateBuilder:
    begin = datetime.fromtimestamp(int(now), UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - _CLOCK_SKEW)
        .not_valid_after(begin + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def name_of(subject: Subject) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in subject.organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, subject.common_name)])


def alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=authority,
        key_cert_sign=authority,
        crl_sign=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


# Reading certificates.


def subject_of(der: bytes) -> Subject:
    """The subject of a client certificate as the server's `Peer` holds it."""
    name = x509.load_der_x509_certificate(der).subject
    common = [str(each.value) for each in name.get_attributes_for_oid(NameOID.COMMON_NAME)]
    organizations = tuple(str(each.value) for each in name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    return Subject(common[-1] if common else "", organizations)


def expires_at(pem: bytes) -> float:
    """When the (first) certificate ends, in seconds since the epoch."""
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc.timestamp()


def issued_by(der: bytes, authorities: bytes) -> bool:
    """Whether one of the certificates of a PEM bundle directly signed this certificate."""
    certificate = x509.load_der_x509_certificate(der)
    for authority in x509.load_pem_x509_certificates(authorities):
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False


def der_of(pem: bytes) -> bytes:
    """The first certificate of a chain."""
    return x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)


def belongs(pair: Pair) -> bool:
    """Whether the key is the certificate's."""
    return x509.load_pem_x509_certificate(pair.certificate).public_key() == load_private_key(pair.key).public_key()


# Signing keys.


def make_signing_key(algorithm: Literal["RS256", "ES256"] = "RS256") -> bytes:
    """A private key (PEM) for service account tokens."""
    if algorithm == "RS256":
        return private_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    return private_pem(ec.generate_private_key(ec.SECP256R1()))


def load_private_key(pem: bytes) -> PrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise ValueError("the private key is neither RSA nor ECDSA")
    return key


def private_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


# Files.


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read; whoever reads it sees the old bytes or the new ones, never half."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    beside.replace(path)


def save(pair: Pair, certificate: Path, key: Path) -> None:
    write_private(key, pair.key)
    write_private(certificate, pair.certificate)
    certificate.chmod(0o644)


def load(certificate: Path, key: Path) -> Pair:
    return Pair(certificate.read_bytes(), key.read_bytes())
