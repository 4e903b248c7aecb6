"""What the server looks at inside a request and an issued certificate. The library is loaded on the first request only."""

import base64
import binascii
import re
from collections.abc import Iterator

_BLOCK = re.compile(
    rb"-----BEGIN ([^\r\n]*?)-----[ \t]*\r?\n(.*?)-----END \1-----[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)


def blocks(data: bytes) -> Iterator[tuple[str, bool, bytes]]:
    """Type, whether it has headers, and content of each PEM block."""
    for found in _BLOCK.finditer(data):
        body = found[2]
        has_headers = b":" in body
        content = body.partition(b"\n\n")[2] if has_headers else body
        try:
            yield found[1].decode(), has_headers, base64.b64decode(b"".join(content.split()), validate=True)
        except (binascii.Error, ValueError):
            continue


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return b""


def request_problem(request: str) -> str:
    """Why the base64 of a PEM block is not a certificate request with a good signature; empty if it is one."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    first = next(blocks(_decoded(request)), None)
    if first is None or first[0] != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        if not x509.load_der_x509_csr(first[2]).is_signature_valid:
            return "x509: signature verification failed"
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        return f"x509: malformed certificate request: {error}"
    return ""


def certificate_problem(certificate: str) -> str:
    """Why the base64 of PEM blocks is not a chain of certificates; empty if it is one, or if there is nothing."""
    from cryptography import x509

    if not certificate:
        return ""
    count = 0
    for kind, has_headers, content in blocks(_decoded(certificate)):
        if kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{kind}"'
        if has_headers:
            return "no PEM block headers are permitted"
        try:
            x509.load_der_x509_certificate(content)
        except ValueError as error:
            return f"x509: malformed certificate: {error}"
        count += 1
    return "" if count else "must contain at least one CERTIFICATE PEM block"
