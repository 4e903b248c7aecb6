"""Single values: what JSON may hold where a schema wants a string, a number, a quantity, a time."""

import binascii
from collections.abc import Callable
from typing import Any, Final

from tiphys.machinery import duration, quantity, times
from tiphys.machinery.schema import Node


class _Dropped:
    """Marks a value that Go would not write."""


DROP: Final = _Dropped()


class WrongType(Exception):
    """JSON has another type here; the Go type that it was read into, where that is not the type of the field."""

    def __init__(self, go_type: str = "") -> None:
        super().__init__(go_type)
        self.go_type = go_type


_INT32: Final = 2**31
_INT64: Final = 2**63

Check = Callable[[Any], Any]


def scalar(node: Node, go_type: str, keeps_zero: bool) -> Check:
    """A check that returns the value in its canonical form, or DROP; WrongType where JSON has another type, ValueError in
    upstream's words where the text is wrong."""
    if node.type == "string" and node.format == "byte":
        return lambda value: _bytes(value, keeps_zero)
    if node.type == "string" and node.format in _FORMATS:
        return _FORMATS[node.format]
    match node.type:
        case "string":
            return lambda value: _exactly(str, value, keeps_zero)
        case "boolean":
            return lambda value: _exactly(bool, value, keeps_zero)
        case "number":
            return lambda value: _number(value, keeps_zero)
    limit = _INT32 if go_type.endswith("int32") or node.format == "int32" else _INT64
    return lambda value: _integer(value, limit, keeps_zero)


def _exactly(wanted: type, value: Any, keeps_zero: bool) -> Any:
    if type(value) is wanted:
        return value if value or keeps_zero else DROP
    if value is None:
        return DROP
    raise WrongType


def _integer(value: Any, limit: int, keeps_zero: bool) -> Any:
    if type(value) is int and -limit <= value < limit:
        return value if value or keeps_zero else DROP
    if value is None:
        return DROP
    raise WrongType


def _number(value: Any, keeps_zero: bool) -> Any:
    if type(value) is float and value.is_integer() and abs(value) < _INT64:
        value = int(value)  # Go writes 1.0 as 1.
    if type(value) is float or type(value) is int:
        return value if value or keeps_zero else DROP
    if value is None:
        return DROP
    raise WrongType


def _quantity(value: Any) -> Any:
    if type(value) is str:
        return quantity.canonical(value)
    if value is None:
        return DROP
    if type(value) is int or type(value) is float:
        return quantity.canonical(repr(value))
    raise ValueError(quantity.WRONG_FORMAT)


def _int_or_string(value: Any) -> Any:
    if type(value) is str:
        return value
    if value is None:
        return DROP
    if type(value) is int and -_INT32 <= value < _INT32:
        return value
    raise WrongType("int32")


def _text(value: Any) -> str | None:
    """Of types that read a JSON string themselves."""
    if value is None or type(value) is str:
        return value
    raise WrongType("string")


def _time(value: Any) -> Any:
    text = _text(value)
    return (times.canonical(text) or DROP) if text is not None else DROP


def _micro_time(value: Any) -> Any:
    text = _text(value)
    return (times.canonical_micro(text) or DROP) if text is not None else DROP


def _duration(value: Any) -> Any:
    text = _text(value)
    # Go's Duration reads null as the empty string, which is no duration; every client leaves the field out instead.
    return duration.spell(duration.parse(text)) if text is not None else DROP


def _bytes(value: Any, keeps_zero: bool) -> Any:
    if value is None:
        return DROP
    if type(value) is not str:
        raise WrongType
    if not value:
        return value if keeps_zero else DROP
    text = value.replace("\n", "").replace("\r", "") if "\n" in value or "\r" in value else value
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError(f"illegal base64 data at input byte {_first_wrong(value)}") from None
    canonical = binascii.b2a_base64(data, newline=False).decode("ascii")
    return value if canonical == value else canonical


_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n")


def _first_wrong(text: str) -> int:
    """Where Go's decoder stops."""
    stripped = text.rstrip("=")
    for position, each in enumerate(stripped):
        if each not in _BASE64:
            return len(text[:position].encode())
    used = sum(each not in "\r\n" for each in stripped)
    padding = len(text) - len(stripped)
    if used % 4 in (0, 1) and padding:
        return len(stripped)
    if used % 4 >= 2 and padding > 4 - used % 4:
        return len(stripped) + 4 - used % 4
    return len(text) if padding else len(text) - used % 4


_FORMATS: Final[dict[str, Check]] = {
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "date-time": _time,
    "micro-time": _micro_time,
    "duration": _duration,
}
