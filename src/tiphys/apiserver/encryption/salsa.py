"""XSalsa20 and Poly1305 put together as NaCl's secretbox does: the `cryptography` package has the second half only.

The cipher is counters, keys and nonces in 4x4 words of 32 bits; numpy stirs all blocks of a message at once.
"""

import struct
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.poly1305 import Poly1305

KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 24, 16
_BLOCK = 64
_SIGMA = struct.unpack("<4I", b"expand 32-byte k")
_ROUNDS = 20
# The places of the four words that are stirred together, each for all four columns at once; a round over rows is one over
# columns whose words have been turned by one, two and three places.
_A, _B, _C, _D = (np.array(places) for places in ((0, 5, 10, 15), (4, 9, 14, 3), (8, 13, 2, 7), (12, 1, 6, 11)))
_ONE_ON, _TWO_ON, _ONE_BACK = np.array((1, 2, 3, 0)), np.array((2, 3, 0, 1)), np.array((3, 0, 1, 2))
_Words = np.ndarray[Any, np.dtype[np.uint32]]


def _turned(total: _Words, bits: int) -> _Words:
    turned: _Words = (total << np.uint32(bits)) | (total >> np.uint32(32 - bits))
    return turned


def _stirred(words: _Words) -> _Words:
    a, b, c, d = words[_A], words[_B], words[_C], words[_D]
    for _ in range(_ROUNDS):
        b ^= _turned(a + d, 7)
        c ^= _turned(b + a, 9)
        d ^= _turned(c + b, 13)
        a ^= _turned(d + c, 18)
        b, c, d = d[_ONE_ON], c[_TWO_ON], b[_ONE_BACK]
    mixed = np.empty_like(words)
    mixed[_A], mixed[_B], mixed[_C], mixed[_D] = a, b, c, d
    return mixed


def _matrix(key: bytes, middle: tuple[Any, ...], blocks: int) -> _Words:
    k = struct.unpack("<8I", key)
    layout = (_SIGMA[0], *k[:4], _SIGMA[1], *middle, _SIGMA[2], *k[4:], _SIGMA[3])
    words = np.empty((16, blocks), dtype=np.uint32)
    for row, value in enumerate(layout):
        words[row] = value
    return words


def _derived(key: bytes, nonce: bytes) -> bytes:
    """HSalsa20: the key that stands for `key` and the first 16 bytes of the nonce."""
    mixed = _stirred(_matrix(key, struct.unpack("<4I", nonce), 1))[:, 0]
    return struct.pack("<8I", *(int(mixed[place]) for place in (0, 5, 10, 15, 6, 7, 8, 9)))


def _stream(key: bytes, nonce: bytes, size: int) -> bytes:
    blocks = -(-size // _BLOCK)
    counters = np.arange(blocks, dtype=np.uint32)
    words = _matrix(_derived(key, nonce[:16]), (*struct.unpack("<2I", nonce[16:]), counters, 0), blocks)
    return (_stirred(words) + words).T.astype("<u4").tobytes()


def _xor(data: bytes, stream: bytes) -> bytes:
    return (np.frombuffer(data, np.uint8) ^ np.frombuffer(stream, np.uint8, len(data))).tobytes()


def seal(key: bytes, nonce: bytes, message: bytes) -> bytes:
    """Tag and ciphertext."""
    stream = _stream(key, nonce, 32 + len(message))
    hidden = _xor(message, stream[32:])
    return Poly1305.generate_tag(stream[:32], hidden) + hidden


def open_box(key: bytes, nonce: bytes, sealed: bytes) -> bytes:
    """Raises ValueError for what was not sealed with this key and nonce."""
    tag, hidden = sealed[:TAG_BYTES], sealed[TAG_BYTES:]
    stream = _stream(key, nonce, 32 + len(hidden))
    try:
        Poly1305.verify_tag(stream[:32], hidden, tag)
    except InvalidSignature:
        raise ValueError("output array was not large enough for encryption") from None
    return _xor(hidden, stream[32:])
