"""Messages read by the field table. Each is compiled, when it is first met, into one function for each of its fields."""

import struct
from collections.abc import Callable
from functools import cache
from typing import Final

from tiphys.machinery import field_table
from tiphys.machinery.field_table import Field
from tiphys.machinery.protobuf import special
from tiphys.machinery.protobuf.special import Reader, base64_of
from tiphys.machinery.protobuf.wire import (
    BYTES,
    FIXED64,
    VARINT,
    Broken,
    int32,
    int64,
    pieces,
    skip,
    text,
    unexpected_end,
    varint,
    wrong_type,
)
from tiphys.machinery.tree import Obj

_DEPTH_LIMIT: Final = 100

# What puts the value of one field into an object: of a field with a length, (object, data, from, to, depth); of a number,
# (object, value).
_TakeBytes = Callable[[Obj, bytes, int, int, int], None]
_TakeNumber = Callable[[Obj, int], None]

_NUMBERS: Final[dict[str, Callable[[int], int | bool]]] = {"int32": int32, "int64": int64, "bool": bool}


class _Table:
    """How each field of a message is read, by its key on the wire (number and wire type)."""

    __slots__ = ("known", "numbers", "texts")

    def __init__(self, name: str) -> None:
        self.texts: dict[int, _TakeBytes] = {}
        self.numbers: dict[int, _TakeNumber] = {}
        self.known: dict[int, Field] = {}
        for each in field_table.fields(name):
            self.known[each.number] = each
            if each.type in _NUMBERS and not each.map:
                self.numbers[each.number << 3 | VARINT] = _number(each)
                if each.repeated:
                    self.texts[each.number << 3 | BYTES] = _packed(each)
            elif each.type != "double":
                self.texts[each.number << 3 | BYTES] = _bytes(each)

    def other(self, found: Obj, data: bytes, at: int, end: int, key: int) -> int:
        """A field that is neither a number nor has a length: a double, or one that is not known. Where it ends."""
        stop = skip(data, at, end, key)
        field = self.known.get(key >> 3)
        if field is not None:
            if field.type != "double" or key & 7 != FIXED64:
                raise wrong_type(key & 7, f"field {field.name}")
            _double(found, field, data[at:stop])
        return stop

    def check_unknown(self, key: int) -> None:
        """Fields of a later version are skipped; known ones must have their own type."""
        if key < 8:
            raise Broken(f"proto: illegal tag 0 (wire type {key & 7})")
        if key >> 3 in self.known:
            raise wrong_type(key & 7, f"field {self.known[key >> 3].name}")


@cache
def message(name: str) -> Reader:
    """The reader of a message, named like its definition without `io.k8s.`."""
    if name.endswith(".ExtraValue"):
        return special.strings
    found = _SPECIAL.get(name)
    return found if found is not None else _reader(name)


def _reader(name: str) -> Reader:
    table: _Table | None = None

    def read(data: bytes, at: int, end: int, depth: int) -> Obj:
        nonlocal table
        if table is None:
            # Compiled on first use: messages hold themselves.
            table = _Table(name)
        if depth > _DEPTH_LIMIT:
            raise Broken("exceeded max depth")
        texts, numbers = table.texts, table.numbers
        found: Obj = {}
        while at < end:
            key = data[at]
            at += 1
            if key >= 0x80:
                key, at = varint(data, at - 1, end)
            if key & 7 == BYTES:
                size, at = varint(data, at, end) if at >= end or data[at] >= 0x80 else (data[at], at + 1)
                stop = at + size
                if stop > end:
                    raise unexpected_end()
                take = texts.get(key)
                if take is not None:
                    take(found, data, at, stop, depth)
                else:
                    table.check_unknown(key)
                at = stop
            elif key & 7 == VARINT:
                value, at = varint(data, at, end)
                put = numbers.get(key)
                if put is not None:
                    put(found, value)
                else:
                    table.check_unknown(key)
            else:
                at = table.other(found, data, at, end, key)
        return found

    return read


_SPECIAL: Final = special.readers(message)


def _number(field: Field) -> _TakeNumber:
    name, convert, keeps_zero = field.name, _NUMBERS[field.type], field.keeps_zero

    def one(found: Obj, value: int) -> None:
        if value or keeps_zero:
            found[name] = convert(value)
        else:
            found.pop(name, None)

    def several(found: Obj, value: int) -> None:
        found.setdefault(name, []).append(convert(value))

    return several if field.repeated else one


def _packed(field: Field) -> _TakeBytes:
    name, convert = field.name, _NUMBERS[field.type]

    def take(found: Obj, data: bytes, at: int, stop: int, _depth: int) -> None:
        into = found.setdefault(name, [])
        while at < stop:
            value, at = varint(data, at, stop)
            into.append(convert(value))

    return take


def _double(found: Obj, field: Field, raw: bytes) -> None:
    number: float = struct.unpack("<d", raw)[0]
    if number != number or abs(number) == float("inf"):
        raise Broken(f"json: unsupported value: {number}")
    value = int(number) if number.is_integer() and abs(number) < 2**63 else number
    if field.repeated:
        found.setdefault(field.name, []).append(value)
    elif value or field.keeps_zero:
        found[field.name] = value
    else:
        found.pop(field.name, None)


def _bytes(field: Field) -> _TakeBytes:
    """Of a field with a length."""
    if field.map:
        return _string_map(field) if field.type == "string" else _map(field)
    name, keeps_zero = field.name, field.keeps_zero
    if field.type in ("string", "bytes"):
        read_text = text if field.type == "string" else base64_of

        def one_text(found: Obj, data: bytes, at: int, stop: int, _depth: int) -> None:
            if stop > at or keeps_zero:
                found[name] = read_text(data, at, stop)
            else:
                found.pop(name, None)

        def several_texts(found: Obj, data: bytes, at: int, stop: int, _depth: int) -> None:
            found.setdefault(name, []).append(read_text(data, at, stop))

        return several_texts if field.repeated else one_text
    read = message(field.type)

    def one(found: Obj, data: bytes, at: int, stop: int, depth: int) -> None:
        value = read(data, at, stop, depth + 1)
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value

    def several(found: Obj, data: bytes, at: int, stop: int, depth: int) -> None:
        found.setdefault(name, []).append(read(data, at, stop, depth + 1))

    def inline(found: Obj, data: bytes, at: int, stop: int, depth: int) -> None:
        found.update(read(data, at, stop, depth + 1))

    if field.inline:
        return inline
    return several if field.repeated else one


def _string_map(field: Field) -> _TakeBytes:
    """Labels and the like: the commonest of maps, and two fields an entry."""
    name = field.name

    def take(found: Obj, data: bytes, at: int, stop: int, _depth: int) -> None:
        key = value = ""
        for number, wire, start, upto in pieces(data, at, stop):
            if wire != BYTES:
                raise wrong_type(wire, f"field {name}")
            if number == 1:
                key = text(data, start, upto)
            elif number == 2:
                value = text(data, start, upto)
        found.setdefault(name, {})[key] = value

    return take


def _map(field: Field) -> _TakeBytes:
    name, kind = field.name, field.type
    convert = _NUMBERS.get(kind)
    read: Reader = (lambda data, at, stop, _: base64_of(data, at, stop)) if kind == "bytes" else message(kind)

    def take(found: Obj, data: bytes, at: int, stop: int, depth: int) -> None:
        key, value = "", False if kind == "bool" else 0 if convert else read(b"", 0, 0, depth + 1)
        for number, wire, start, upto in pieces(data, at, stop):
            if number == 1 and wire == BYTES:
                key = text(data, start, upto)
            elif number == 2:
                if wire != (VARINT if convert else BYTES):
                    raise wrong_type(wire, f"field {name}")
                value = convert(start) if convert else read(data, start, upto, depth + 1)
        found.setdefault(name, {})[key] = value

    return take
