"""Counts that may be shares, and rounding as upstream rounds."""

from tiphys.api.apps.int_or_percent import IntOrPercent, amount, percent


def scaled(value: IntOrPercent | None, total: int, *, up: bool) -> int:
    """`value` of `total`; a share is rounded up or down."""
    share = percent(value)
    if share is None:
        return amount(value)
    product = share * total
    return -(-product // 100) if up else product // 100


def rounded(numerator: int, denominator: int) -> int:
    """To the nearest whole number, halves away from zero."""
    sign = -1 if (numerator < 0) != (denominator < 0) else 1
    top, bottom = abs(numerator), abs(denominator)
    return sign * ((2 * top + bottom) // (2 * bottom))


def whole(text: str | None) -> int | None:
    """A number as annotations carry it."""
    if not text:
        return None
    digits = text[1:] if text[0] in "+-" else text
    return int(text) if digits.isascii() and digits.isdecimal() else None
