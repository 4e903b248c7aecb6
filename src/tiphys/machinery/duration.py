"""Lengths of time: as Go writes them in configuration and protobuf (`1h30m`), and as people read them in tables (`5d`)."""

import re

NANOSECOND = 1
MICROSECOND = 1000
MILLISECOND = 1000 * MICROSECOND
SECOND = 1000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PIECE = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_LIMIT = 2**63


def parse(text: str) -> int:
    """Nanoseconds of `1h15m30.5s`. ValueError in Go's words."""
    wrong = f'time: invalid duration "{text}"'
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(wrong)
    total = 0
    for found in _pieces(rest, wrong):
        whole, fraction, unit = found.groups("")
        if not whole and len(fraction) < 2:
            raise ValueError(wrong)
        if not unit:
            raise ValueError(f'time: missing unit in duration "{text}"')
        if unit not in _UNITS:
            raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
        scale = _UNITS[unit]
        digits = fraction[1:19]
        total += int(whole or "0") * scale + (int(digits) * scale // 10 ** len(digits) if digits else 0)
        if total > _LIMIT:
            raise ValueError(wrong)
    negative = text[0] == "-"
    if total == _LIMIT and not negative:
        raise ValueError(wrong)
    return -total if negative else total


def _pieces(rest: str, wrong: str) -> list[re.Match[str]]:
    pieces = []
    at = 0
    while at < len(rest):
        found = _PIECE.match(rest, at)
        # An int64 has 19 digits; longer numbers overflow whatever follows.
        if found is None or found.end() == at or len(found[1].lstrip("0")) > 19:
            raise ValueError(wrong)
        pieces.append(found)
        at = found.end()
    return pieces


def seconds(text: str) -> float:
    return parse(text) / SECOND


def spell(nanoseconds: int) -> str:
    """As Go writes it: `1h15m30.5s`, `1.5ms`, `0s`."""
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if left < SECOND:
        scale, unit = (1, "ns") if left < MICROSECOND else (MICROSECOND, "µs") if left < MILLISECOND else (MILLISECOND, "ms")
        return f"{sign}{_decimal(left, scale)}{unit}"
    minutes, rest = divmod(left, MINUTE)
    told = f"{_decimal(rest, SECOND)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        told = f"{minutes}m{told}"
        if hours:
            told = f"{hours}h{told}"
    return sign + told


def _decimal(amount: int, scale: int) -> str:
    whole, rest = divmod(amount, scale)
    if not rest:
        return str(whole)
    places = len(str(scale)) - 1
    return f"{whole}.{rest:0{places}d}".rstrip("0")


def human(seconds: float) -> str:
    """Two or three significant figures, for the AGE column. A clock may be off by a second or so."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 120:
        return f"{whole}s"
    minutes, hours = whole // 60, whole // 3600
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 2920:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def short_human(seconds: float) -> str:
    """One unit only: `90m` is `1h`."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    for size, limit, unit in ((1, 60, "s"), (60, 3600, "m"), (3600, 86400, "h"), (86400, 86400 * 365, "d")):
        if whole < limit:
            return f"{whole // size}{unit}"
    return f"{whole // (86400 * 365)}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
