"""The local ciphers, each with one key. `data` is authenticated with the value where the cipher can do so."""

import os
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher as Machine
from cryptography.hazmat.primitives.ciphers import algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7

_BLOCK = 16
_NONCE = 12


class Broken(ValueError):
    """The value was not sealed with this key, or has been changed since."""


class Cipher(Protocol):
    def seal(self, value: bytes, data: bytes) -> bytes: ...

    def open(self, sealed: bytes, data: bytes) -> bytes:
        """Raises Broken."""
        ...


class KeyService(Cipher, Protocol):
    """A cipher whose key somebody else holds, who may change it."""

    def refresh(self) -> None:
        """Blocks. Raises Unavailable."""
        ...

    def is_current(self, sealed: bytes) -> bool:
        """Whether the key that it was sealed with is today's."""
        ...


class AesCbc:
    """Without authentication, as the format has it."""

    def __init__(self, key: bytes) -> None:
        self._algorithm = algorithms.AES(key)

    def seal(self, value: bytes, data: bytes) -> bytes:  # noqa: ARG002
        vector = os.urandom(_BLOCK)
        padder, machine = PKCS7(8 * _BLOCK).padder(), Machine(self._algorithm, modes.CBC(vector)).encryptor()
        return vector + machine.update(padder.update(value) + padder.finalize()) + machine.finalize()

    def open(self, sealed: bytes, data: bytes) -> bytes:  # noqa: ARG002
        if len(sealed) < 2 * _BLOCK or len(sealed) % _BLOCK:
            raise Broken("the stored data was shorter than the required size")
        machine = Machine(self._algorithm, modes.CBC(sealed[:_BLOCK])).decryptor()
        padded = machine.update(sealed[_BLOCK:]) + machine.finalize()
        unpadder = PKCS7(8 * _BLOCK).unpadder()
        try:
            return unpadder.update(padded) + unpadder.finalize()
        except ValueError:
            raise Broken("invalid padding on input") from None


class AesGcm:
    def __init__(self, key: bytes) -> None:
        self._machine = AESGCM(key)

    def seal(self, value: bytes, data: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._machine.encrypt(nonce, value, data)

    def open(self, sealed: bytes, data: bytes) -> bytes:
        if len(sealed) < _NONCE:
            raise Broken("the stored data was shorter than the required size")
        try:
            return self._machine.decrypt(sealed[:_NONCE], sealed[_NONCE:], data)
        except InvalidTag:
            raise Broken("cipher: message authentication failed") from None


class SecretBox:
    def __init__(self, key: bytes) -> None:
        # Loaded for those who use it: it stands on numpy, which costs a server more than all the rest of it.
        from tiphys.apiserver.encryption import salsa

        self._salsa = salsa
        self._key = key

    def seal(self, value: bytes, data: bytes) -> bytes:  # noqa: ARG002 - the format authenticates the value alone
        nonce = os.urandom(self._salsa.NONCE_BYTES)
        return nonce + self._salsa.seal(self._key, nonce, value)

    def open(self, sealed: bytes, data: bytes) -> bytes:  # noqa: ARG002
        salsa = self._salsa
        if len(sealed) < salsa.NONCE_BYTES + salsa.TAG_BYTES:
            raise Broken("the stored data was shorter than the required size")
        try:
            value: bytes = salsa.open_box(self._key, sealed[: salsa.NONCE_BYTES], sealed[salsa.NONCE_BYTES :])
        except ValueError as problem:
            raise Broken(str(problem)) from None
        return value
