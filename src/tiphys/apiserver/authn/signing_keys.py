"""Keys of the service account issuer: one that signs, any number that are still believed."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from tiphys.machinery.tree import Obj

SigningKey = RSAPrivateKey | EllipticCurvePrivateKey
VerifyingKey = RSAPublicKey | EllipticCurvePublicKey

JWKS_PATH = "/openid/v1/jwks"
DISCOVERY_PATH = "/.well-known/openid-configuration"
JWKS_TYPE = "application/jwk-set+json"
MAX_AGE = 3600

_CURVES = {"secp256r1": ("ES256", "P-256"), "secp384r1": ("ES384", "P-384"), "secp521r1": ("ES512", "P-521")}


@dataclass(frozen=True, slots=True)
class PublicKey:
    key: VerifyingKey
    key_id: str
    algorithm: str


def public_key(key: VerifyingKey) -> PublicKey:
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return PublicKey(key, _encode(hashlib.sha256(der).digest()), algorithm_of(key))


def algorithm_of(key: SigningKey | VerifyingKey) -> str:
    if isinstance(key, RSAPrivateKey | RSAPublicKey):
        return "RS256"
    return _CURVES[key.curve.name][0]


def load_signing_key(pem: bytes) -> SigningKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if isinstance(key, RSAPrivateKey) or (isinstance(key, EllipticCurvePrivateKey) and key.curve.name in _CURVES):
        return key
    raise ValueError(f"unknown private key type {type(key).__name__}, must be RSA or ECDSA with curve 256, 384, or 521")


def load_public_keys(pem: bytes) -> list[PublicKey]:
    """Every key of a file; private keys and certificates stand for their public keys."""
    found: list[PublicKey] = []
    for block in _blocks(pem):
        key: object
        if b"PRIVATE KEY" in block.splitlines()[0]:
            key = load_signing_key(block).public_key()
        elif b"CERTIFICATE" in block.splitlines()[0]:
            key = x509.load_pem_x509_certificate(block).public_key()
        else:
            key = serialization.load_pem_public_key(block)
        if not isinstance(key, RSAPublicKey | EllipticCurvePublicKey):
            raise ValueError(f"unknown public key type {type(key).__name__}")
        found.append(public_key(key))
    if not found:
        raise ValueError("data does not contain any valid RSA or ECDSA public keys")
    return found


def _blocks(pem: bytes) -> list[bytes]:
    blocks, lines = [], []
    for line in pem.splitlines():
        if line.startswith(b"-----BEGIN"):
            lines = [line]
        elif line.startswith(b"-----END"):
            blocks.append(b"\n".join((*lines, line, b"")))
        elif lines:
            lines.append(line)
    return [block for block in blocks if b"EC PARAMETERS" not in block.splitlines()[0]]


def discovery(issuer: str, jwks_uri: str, keys: Iterable[PublicKey]) -> bytes:
    """The OpenID discovery document."""
    return orjson.dumps(
        {
            "issuer": issuer,
            "jwks_uri": jwks_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in keys}),
        }
    )


def jwks(keys: Sequence[PublicKey]) -> bytes:
    """The key set that the discovery document points at."""
    return orjson.dumps({"keys": [_jwk(key) for key in keys]})


def _jwk(key: PublicKey) -> Obj:
    if isinstance(key.key, RSAPublicKey):
        numbers = key.key.public_numbers()
        head = {"use": "sig", "kty": "RSA", "kid": key.key_id, "alg": key.algorithm}
        return {**head, "n": _number(numbers.n), "e": _number(numbers.e)}
    point = key.key.public_numbers()
    size = (key.key.curve.key_size + 7) // 8
    curve = _CURVES[key.key.curve.name][1]
    head = {"use": "sig", "kty": "EC", "kid": key.key_id, "crv": curve, "alg": key.algorithm}
    return {**head, "x": _number(point.x, size), "y": _number(point.y, size)}


def _number(value: int, size: int = 0) -> str:
    return _encode(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
