"""What can be wrong with a field, in upstream's words, as a value that validators yield.

Paths are plain strings built with `child`, `index` and `key`; `machinery/validators.py` has the shared checks.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Problem(Enum):
    """(what upstream prints, the cause reason in a Status)."""

    NOT_FOUND = ("Not found", "FieldValueNotFound")
    REQUIRED = ("Required value", "FieldValueRequired")
    DUPLICATE = ("Duplicate value", "FieldValueDuplicate")
    INVALID = ("Invalid value", "FieldValueInvalid")
    NOT_SUPPORTED = ("Unsupported value", "FieldValueNotSupported")
    FORBIDDEN = ("Forbidden", "FieldValueForbidden")
    TOO_LONG = ("Too long", "FieldValueTooLong")
    TOO_SHORT = ("Too short", "FieldValueTooShort")
    TOO_MANY = ("Too many", "FieldValueTooMany")
    TOO_FEW = ("Too few", "FieldValueTooFew")
    INTERNAL = ("Internal error", "InternalError")
    TYPE_INVALID = ("Invalid value", "FieldValueTypeInvalid")

    @property
    def words(self) -> str:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]


_WITHOUT_VALUE = frozenset((Problem.REQUIRED, Problem.FORBIDDEN, Problem.TOO_LONG, Problem.TOO_SHORT, Problem.INTERNAL))


class _Omitted:
    """Marks a bad value that must not be shown."""


OMIT = _Omitted()


class Verbatim(str):
    """A bad value that is spelled already: a Go struct, whose fields have an order."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FieldError:
    kind: Problem
    field: str
    value: Any = ""
    detail: str = ""

    def body(self) -> str:
        told = self.kind.words
        if self.kind not in _WITHOUT_VALUE and self.value is not OMIT:
            told += ": " + show(self.value)
        return f"{told}: {self.detail}" if self.detail else told

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def show(value: Any) -> str:
    """A bad value as upstream prints it: Go's %q for strings, %v for numbers, Go's JSON for the rest."""
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return _float(value)
    told = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return told.translate(_JSON_ESCAPES)


def _float(value: float) -> str:
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


# Go's JSON is safe to put into a web page.
_JSON_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
_QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """Go's %q."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quote_one, text)) + '"'


def _quote_one(character: str) -> str:
    if character in _QUOTED:
        return _QUOTED[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def not_found(field: str, value: Any) -> FieldError:
    return FieldError(Problem.NOT_FOUND, field, value)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(Problem.REQUIRED, field, "", detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError(Problem.DUPLICATE, field, value)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(Problem.INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(Problem.TYPE_INVALID, field, value, detail)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Callers pass `supported` in upstream's order (a sorted list where upstream has a set)."""
    listed = ", ".join(quote(each) for each in supported)
    return FieldError(Problem.NOT_SUPPORTED, field, value, f"supported values: {listed}" if listed else "")


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(Problem.FORBIDDEN, field, "", detail)


def too_long(field: str, limit: int) -> FieldError:
    """A negative limit is not told."""
    detail = f"may not be more than {limit} {_plural('byte', limit)}" if limit >= 0 else "value is too long"
    return FieldError(Problem.TOO_LONG, field, "", detail)


def too_long_characters(field: str, limit: int) -> FieldError:
    detail = f"may not be more than {limit} {_plural('character', limit)}" if limit >= 0 else "value is too long"
    return FieldError(Problem.TOO_LONG, field, "", detail)


def too_many(field: str, actual: int, limit: int) -> FieldError:
    shown: Any = actual if actual >= 0 else OMIT
    detail = f"must have at most {limit} {_plural('item', limit)}" if limit >= 0 else "has too many items"
    return FieldError(Problem.TOO_MANY, field, shown, detail)


def _plural(unit: str, count: int) -> str:
    return unit if count == 1 else unit + "s"


def internal(field: str, detail: str) -> FieldError:
    return FieldError(Problem.INTERNAL, field, "", detail)


def child(at: str, *names: str) -> str:
    return ".".join((at, *names)) if at else ".".join(names)


def index(at: str, position: int) -> str:
    return f"{at}[{position}]"


def key(at: str, name: str) -> str:
    return f"{at}[{name}]"
