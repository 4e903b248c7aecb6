"""The wire format itself: varints and fields. Everything is read in place, from a position to an end."""

from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5


class Broken(Exception):
    """The bytes are no message of the type they claim to be, which is told where it is known."""

    def __init__(self, problem: str, api_version: str = "", kind: str = "") -> None:
        super().__init__(problem)
        self.api_version = api_version
        self.kind = kind


def unexpected_end() -> Broken:
    return Broken("unexpected EOF")


def wrong_type(wire: int, what: str) -> Broken:
    return Broken(f"proto: wrong wireType = {wire} for {what}")


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at`, as 64 bits, and where it ends."""
    result = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift >= 64:
            raise Broken("proto: integer overflow")
    raise unexpected_end()


def skip(data: bytes, at: int, end: int, key: int) -> int:
    """Where a field that is not a varint and has no length ends."""
    wire = key & 7
    if wire not in (FIXED64, FIXED32):
        raise Broken(f"proto: illegal wireType {wire}")
    at += 8 if wire == FIXED64 else 4
    if at > end or at > len(data):
        raise unexpected_end()
    return at


def pieces(data: bytes, at: int, end: int) -> list[tuple[int, int, int, int]]:
    """(number, wire type, the number or where the value starts, where it ends) of each field."""
    found = []
    while at < end:
        key, at = varint(data, at, end)
        wire = key & 7
        if key < 8:
            raise Broken(f"proto: illegal tag 0 (wire type {wire})")
        if wire == BYTES:
            size, at = varint(data, at, end)
            if size > end - at:
                raise unexpected_end()
            found.append((key >> 3, wire, at, at + size))
            at += size
        elif wire == VARINT:
            value, at = varint(data, at, end)
            found.append((key >> 3, wire, value, at))
        else:
            stop = skip(data, at, end, key)
            found.append((key >> 3, wire, at, stop))
            at = stop
    return found


def int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def int64(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def text(data: bytes, at: int, end: int) -> str:
    """Go keeps broken UTF-8 in memory and writes U+FFFD."""
    return str(data[at:end], "utf-8", "replace")
