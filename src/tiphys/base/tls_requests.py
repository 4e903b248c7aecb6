"""Certificates that somebody else signs: the request, and what a certificate that came back says."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tiphys.base.tls import Subject, alternative, load_private_key, name_of, private_pem


@dataclass(frozen=True, slots=True)
class Said:
    """By a certificate."""

    subject: Subject
    names: frozenset[str]
    """Hosts and addresses that it is good for."""
    begins: float
    ends: float


def new_key() -> bytes:
    """PEM."""
    return private_pem(ec.generate_private_key(ec.SECP256R1()))


def request(key: bytes, subject: Subject, names: Sequence[str] = ()) -> bytes:
    """A certificate signing request, PEM."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(name_of(subject))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([alternative(each) for each in names]), critical=False)
    return builder.sign(load_private_key(key), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def digested(key: bytes, subject: Subject, usages: Sequence[str]) -> str:
    """The same for the same wish with the same key: a request that is repeated after a restart finds the first one."""
    public = load_private_key(key).public_key()
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    parts = (der, *(each.encode() for each in (subject.common_name, *subject.organizations, *usages)))
    text = b"".join(_encoded(each) + b"|" for each in parts)
    return _encoded(hashlib.new("sha512_256", text).digest()).decode()


def _encoded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def said_by(pem: bytes) -> Said:
    """The first certificate of a chain. ValueError where there is none."""
    found = x509.load_pem_x509_certificate(pem)
    common = [str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = tuple(str(each.value) for each in found.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    names: set[str] = set()
    try:
        listed = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names.update(listed.get_values_for_type(x509.DNSName))
        names.update(str(each) for each in listed.get_values_for_type(x509.IPAddress))
    except x509.ExtensionNotFound:
        pass
    return Said(
        Subject(common[-1] if common else "", groups),
        frozenset(names),
        found.not_valid_before_utc.timestamp(),
        found.not_valid_after_utc.timestamp(),
    )
