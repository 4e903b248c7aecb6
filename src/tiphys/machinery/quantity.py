"""Quantities of resources (`100m`, `1.5Gi`, `12e6`): exact arithmetic, and the one spelling under which each is stored.

A quantity is `amount * 10**scale`, never finer than a billionth. Its format decides how it is spelled: with decimal suffixes,
with binary ones, or with an exponent.
"""

import re
from functools import lru_cache
from typing import Literal

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

DECIMAL_SI: Format = "DecimalSI"
BINARY_SI: Format = "BinarySI"
DECIMAL_EXPONENT: Format = "DecimalExponent"

WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"

INT64_MAX = 2**63 - 1

_NANO = -9
# Beyond it a number is an attack on our memory, not a resource.
_EXPONENT_LIMIT = 1000
# More digits than an int64 holds for certain; upstream keeps the spelling of shorter numbers where it may.
_SHORT = 18

_TEXT = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Quantity:
    """Immutable. Equal quantities may be spelled differently (`1` and `1000m`)."""

    __slots__ = ("_text", "amount", "format", "scale")

    def __init__(self, amount: int, scale: int = 0, format: Format = DECIMAL_SI, text: str = "") -> None:  # noqa: A002
        self.amount = amount
        self.scale = scale
        self.format = format
        self._text = text

    def value(self) -> int:
        """The whole number, rounded away from zero; at the most what an int64 holds."""
        return self.scaled(0)

    def milli(self) -> int:
        """In thousandths, rounded away from zero; at the most what an int64 holds."""
        return self.scaled(-3)

    def scaled(self, scale: int) -> int:
        """In units of 10**scale, rounded away from zero; at the most what an int64 holds."""
        exact = _rescale(self.amount, self.scale - scale)
        return max(-INT64_MAX - 1, min(exact, INT64_MAX))

    def sign(self) -> int:
        return (self.amount > 0) - (self.amount < 0)

    def compare(self, other: "Quantity") -> int:
        """-1, 0 or 1."""
        mine, theirs = _aligned(self, other)
        return (mine > theirs) - (mine < theirs)

    def add(self, other: "Quantity") -> "Quantity":
        """Nothing takes the format of what is added to it."""
        mine, theirs = _aligned(self, other)
        return Quantity(mine + theirs, min(self.scale, other.scale), self.format if self.amount else other.format)

    def sub(self, other: "Quantity") -> "Quantity":
        mine, theirs = _aligned(self, other)
        return Quantity(mine - theirs, min(self.scale, other.scale), self.format if self.amount else other.format)

    def times(self, factor: int) -> "Quantity":
        return Quantity(self.amount * factor, self.scale, self.format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self.compare(other) < 0

    def __le__(self, other: "Quantity") -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: "Quantity") -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: "Quantity") -> bool:
        return self.compare(other) >= 0

    def __hash__(self) -> int:
        return hash(_without_zeros(self.amount, self.scale))

    def __float__(self) -> float:
        try:
            return self.amount * 10.0**self.scale if self.scale >= 0 else self.amount / 10**-self.scale
        except OverflowError:
            return float("inf") * self.sign()

    def __str__(self) -> str:
        if not self._text:
            self._text = _spell(self)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({self})"


ZERO = Quantity(0, text="0")


def from_int(value: int, format: Format = DECIMAL_SI) -> Quantity:  # noqa: A002
    return Quantity(value, 0, format)


def from_milli(value: int, format: Format = DECIMAL_SI) -> Quantity:  # noqa: A002
    return Quantity(value, -3, format)


def parse(value: str | int | float) -> Quantity:
    """ValueError with upstream's words where it is not a quantity."""
    return _parse(value if isinstance(value, str) else repr(value))


@lru_cache(16384)
def canonical(text: str) -> str:
    """How upstream spells a quantity once it has read it. Some spellings stand as they are: `1.500`, `+1`, `1e3`."""
    return str(_parse(text))


@lru_cache(16384)
def _parse(text: str) -> Quantity:
    text = text.strip()
    if text == "0":
        return ZERO
    found = _TEXT.fullmatch(text)
    if not text or not found:
        raise ValueError(WRONG_FORMAT)
    sign, whole, fraction, suffix = found.groups("")
    exponent, form = _exponent(suffix)
    whole = whole or "0"
    digits = whole + fraction
    try:
        amount = int(digits)
    except ValueError:  # Python refuses thousands of digits; so do we.
        raise ValueError(WRONG_NUMBER) from None
    if form == BINARY_SI:
        return _binary(text, sign, amount, whole, len(fraction), exponent)
    scale = exponent - len(fraction)
    signed = -amount if sign == "-" else amount
    if len(digits) <= _SHORT and scale >= _NANO:
        kept = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        return Quantity(signed, scale, form, text if kept else "")
    if scale < _NANO:
        signed, scale = _rescale(signed, scale - _NANO), _NANO
    return Quantity(signed, scale, form)


def _exponent(suffix: str) -> tuple[int, Format]:
    """Of ten, or of two where the format is binary."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], DECIMAL_SI
    if suffix in _BINARY:
        return _BINARY[suffix], BINARY_SI
    if len(suffix) < 2 or suffix[0] not in "eE":
        raise ValueError(WRONG_SUFFIX)
    try:
        exponent = int(suffix[1:])
    except ValueError:
        raise ValueError(WRONG_SUFFIX) from None
    if exponent > _EXPONENT_LIMIT:
        raise ValueError(WRONG_NUMBER)
    return exponent, DECIMAL_EXPONENT


def _binary(text: str, sign: str, amount: int, whole: str, places: int, exponent: int) -> Quantity:
    total = _rescale(amount << exponent, -places - _NANO)
    direction = -1 if sign == "-" else 1
    if total > INT64_MAX * 10**9:
        return Quantity(INT64_MAX * direction, 0, BINARY_SI)
    if 0 < total < 10**9:
        return Quantity(total * direction, _NANO, DECIMAL_SI)
    # Upstream keeps the spelling only on a fast path that estimates how many decimal digits the suffix takes.
    kept = not places and len(whole) + exponent * 3 // 10 <= 14 and amount & 7
    if total % 10**9 == 0:
        return Quantity(total // 10**9 * direction, 0, BINARY_SI, text if kept else "")
    return Quantity(total * direction, _NANO, BINARY_SI)


def _rescale(amount: int, scale: int) -> int:
    """`amount * 10**scale`, rounded away from zero."""
    if scale >= 0:
        return amount * int(10**scale)
    if -scale > amount.bit_length():  # so it is less than one
        return (amount > 0) - (amount < 0)
    divisor: int = 10**-scale
    return -(-amount // divisor) if amount > 0 else amount // divisor


def _aligned(one: Quantity, other: Quantity) -> tuple[int, int]:
    if one.scale == other.scale:
        return one.amount, other.amount
    if one.scale > other.scale:
        return one.amount * 10 ** (one.scale - other.scale), other.amount
    return one.amount, other.amount * 10 ** (other.scale - one.scale)


def _without_zeros(amount: int, scale: int) -> tuple[int, int]:
    if not amount:
        return 0, 0
    while amount % 10 == 0:
        amount //= 10
        scale += 1
    return amount, scale


def _spell(quantity: Quantity) -> str:
    amount, scale = _without_zeros(quantity.amount, quantity.scale)
    if not amount:
        return "0"
    form = quantity.format
    if form == BINARY_SI:
        if scale >= 0 and abs(amount * 10**scale) >= 1024:
            return _spell_binary(amount * 10**scale)
        # Small or broken numbers would lose digits.
        form = DECIMAL_SI
    padding = scale % 3
    scale -= padding
    if form == DECIMAL_SI and scale > 18:
        padding, scale = padding + scale - 18, 18
    amount *= 10**padding
    if form == DECIMAL_SI:
        return f"{amount}{_DECIMAL_SUFFIX[scale]}"
    return f"{amount}e{scale}" if scale else str(amount)


def _spell_binary(amount: int) -> str:
    steps = 0
    while amount % 1024 == 0 and steps < 6:
        amount //= 1024
        steps += 1
    return f"{amount}{_BINARY_SUFFIX[steps]}"
