"""Somebody who approves and signs every CertificateSigningRequest: with certificates as short-lived as a test wants them."""

from base64 import b64decode, b64encode
from collections.abc import Container
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from tiphys.api.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from tiphys.base import tls
from tiphys.base.tls import Pair
from tiphys.client.interface import Client
from tiphys.machinery.tree import Obj


def signed(authority: Pair, request: bytes, begins: float, ends: float) -> bytes:
    asked = x509.load_pem_x509_csr(request)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    builder = (
        x509.CertificateBuilder()
        .subject_name(asked.subject)
        .issuer_name(issuer.subject)
        .public_key(asked.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(int(begins), UTC))
        .not_valid_after(datetime.fromtimestamp(int(ends), UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), critical=False)
    )
    for extension in asked.extensions:
        builder = builder.add_extension(extension.value, critical=extension.critical)
    made = builder.sign(tls.load_private_key(authority.key), hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


async def sign_all(
    client: Client, authority: Pair, now: float, seconds: float, *, due: Container[str] = (), deny: Container[str] = ()
) -> list[Obj]:
    """Each request that nobody has answered yet. The ones that were answered.

    Of a signer in `deny` they are denied; of one in `due`, the certificate has a minute left, of twenty: to be renewed."""
    done = []
    for found in (await client.list(CERTIFICATE_SIGNING_REQUESTS)).items:
        if (found.get("status") or {}).get("conditions"):
            continue
        name, verdict = found["metadata"]["name"], "Denied" if found["spec"]["signerName"] in deny else "Approved"
        condition = {"type": verdict, "status": "True", "reason": "Test", "message": "by a test"}
        answered = {**found, "status": {"conditions": [condition]}}
        answered = await client.update(CERTIFICATE_SIGNING_REQUESTS, answered, subresource="approval")
        if verdict == "Approved":
            begins, ends = (now - 1140, now + 60) if found["spec"]["signerName"] in due else (now, now + seconds)
            certificate = signed(authority, b64decode(found["spec"]["request"]), begins, ends)
            status = {**answered["status"], "certificate": b64encode(certificate).decode()}
            answered = await client.update(CERTIFICATE_SIGNING_REQUESTS, {**answered, "status": status}, subresource="status")
        assert answered["metadata"]["name"] == name
        done.append(answered)
    return done
