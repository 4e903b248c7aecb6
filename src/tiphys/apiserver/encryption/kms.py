"""KMS v2: a plugin behind a socket holds the key; it seals a seed for us, and every value gets a key derived from that seed.

So a write needs no call, and a read needs one only for a seed that was not seen before. The plugin's key is asked for again
from time to time (`refresh`): when it has changed, a new seed is made.
"""

import os
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import grpc
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from google.protobuf.message import DecodeError

from tiphys.apiserver.encryption.ciphers import AesGcm, Broken
from tiphys.base.protos import Protos, load
from tiphys.store.interface import Unavailable

SEED = 1
"""The type of a sealed seed; 0 is a plain key for AES-GCM."""
_INFO_BYTES = 32
_SEEDS_KEPT = 1000
_VERSIONS = ("v2", "v2beta1")


@cache
def protos() -> Protos:
    return load(resources.files(__package__).joinpath("kms.proto").read_text(), "kms.proto")


class _Derived:
    """AES-GCM with a key of its own for each value: 32 random bytes and the seed make it."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed

    def seal(self, value: bytes, data: bytes) -> bytes:
        info = os.urandom(_INFO_BYTES)
        return info + AesGcm(self._key(info)).seal(value, data)

    def open(self, sealed: bytes, data: bytes) -> bytes:
        return AesGcm(self._key(sealed[:_INFO_BYTES])).open(sealed[_INFO_BYTES:], data)

    def _key(self, info: bytes) -> bytes:
        return HKDFExpand(SHA256(), 32, info).derive(self._seed)


class Kms:
    """Implements Cipher. `refresh` must have succeeded once before the first `seal`; it blocks, as `open` may."""

    def __init__(self, endpoint: str, timeout: float, new_uid: Callable[[], str]) -> None:
        self._channel = grpc.insecure_channel(endpoint)
        self._timeout = timeout
        self._new_uid = new_uid
        self._ciphers: OrderedDict[bytes, _Derived | AesGcm] = OrderedDict()
        self._envelope: Any = None
        self._cipher: _Derived | None = None

    def refresh(self) -> None:
        """Make a new seed if the plugin's key has changed. Raises Unavailable if the plugin is not well."""
        status = self._ask("Status", protos()["StatusRequest"]())
        if status.healthz != "ok" or status.version not in _VERSIONS:
            told = status.healthz if status.version in _VERSIONS else f"version {status.version}"
            raise Unavailable(f"the key management service is not usable: {told}")
        if self._envelope is not None and self._envelope.keyID == status.key_id:
            return
        seed = AESGCM.generate_key(256)
        answer = self._ask("Encrypt", protos()["EncryptRequest"](plaintext=seed, uid=self._new_uid()))
        self._envelope = protos()["EncryptedObject"](
            keyID=answer.key_id,
            encryptedDEKSource=answer.ciphertext,
            annotations=dict(answer.annotations),
            encryptedDEKSourceType=SEED,
        )
        self._cipher = _Derived(seed)
        self._remember(self._source(self._envelope), self._cipher)

    def seal(self, value: bytes, data: bytes) -> bytes:
        if self._cipher is None:
            raise Unavailable("the key management service has not answered yet")
        made = protos()["EncryptedObject"]()
        made.CopyFrom(self._envelope)
        made.encryptedData = self._cipher.seal(value, data)
        sealed: bytes = made.SerializeToString()
        return sealed

    def open(self, sealed: bytes, data: bytes) -> bytes:
        envelope = self._parsed(sealed)
        source = self._source(envelope)
        cipher = self._ciphers.get(source)
        if cipher is None:
            request = protos()["DecryptRequest"](
                ciphertext=envelope.encryptedDEKSource,
                uid=self._new_uid(),
                key_id=envelope.keyID,
                annotations=dict(envelope.annotations),
            )
            key = self._ask("Decrypt", request).plaintext
            cipher = _Derived(key) if envelope.encryptedDEKSourceType == SEED else AesGcm(key)
            self._remember(source, cipher)
        return cipher.open(envelope.encryptedData, data)

    def is_current(self, sealed: bytes) -> bool:
        envelope = self._parsed(sealed)
        return bool(envelope.keyID == self._envelope.keyID and envelope.encryptedDEKSourceType == SEED)

    def close(self) -> None:
        self._channel.close()

    def _remember(self, source: bytes, cipher: _Derived | AesGcm) -> None:
        self._ciphers[source] = cipher
        if len(self._ciphers) > _SEEDS_KEPT:
            self._ciphers.popitem(last=False)

    def _parsed(self, sealed: bytes) -> Any:
        envelope = protos()["EncryptedObject"]()
        try:
            envelope.ParseFromString(sealed)
        except DecodeError as problem:
            raise Broken(str(problem)) from None
        return envelope

    def _source(self, envelope: Any) -> bytes:
        """What tells one sealed seed from another."""
        named = protos()["EncryptedObject"]()
        named.CopyFrom(envelope)
        named.encryptedData = b""
        source: bytes = named.SerializeToString(deterministic=True)
        return source

    def _ask(self, name: str, request: Any) -> Any:
        method = protos().services["KeyManagementService"][name]
        call = self._channel.unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        try:
            return call(request, timeout=self._timeout)
        except grpc.RpcError as problem:
            raise Unavailable(f"the key management service does not answer: {problem.details()}") from None
