"""Points in time as objects carry them (RFC 3339, UTC, whole seconds or microseconds), from and to seconds since 1970."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

SECONDS = "2006-01-02T15:04:05Z07:00"
MICROS = "2006-01-02T15:04:05.000000Z07:00"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO = datetime(1, 1, 1, tzinfo=UTC)

_ZONE = r"(?:Z|([+-])(\d\d):(\d\d))"
_SECONDS = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?{_ZONE}", re.ASCII)
_MICROS = re.compile(rf"(\d{{4}})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)[.,](\d{{6}}){_ZONE}", re.ASCII)
# What the parts of the layouts are called in upstream's complaints, and what each takes.
_PARTS = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d\d"),
    ("-", "-"),
    ("02", r"\d\d"),
    ("T", "T"),
    ("15", r"\d\d?"),
    (":", ":"),
    ("04", r"\d\d"),
    (":", ":"),
    ("05", r"\d\d"),
)
_LIMITS = (("month", 1, 12), ("day", 1, 31), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59))


def rfc3339(now: float) -> str:
    """`2026-01-02T03:04:05Z`; fractions are cut off."""
    return _second(int(now // 1))


def rfc3339_micro(now: float) -> str:
    """`2026-01-02T03:04:05.678901Z`."""
    seconds, micros = divmod(round(now * 1_000_000), 1_000_000)
    return f"{_second(seconds)[:-1]}.{micros:06d}Z"


def parse(text: str) -> float:
    """Seconds since 1970 of a time of either precision. ValueError in upstream's words."""
    return (_read(text, SECONDS) - _EPOCH).total_seconds()


def parse_micro(text: str) -> float:
    """Seconds since 1970 of a time that must have six decimals."""
    return (_read(text, MICROS) - _EPOCH).total_seconds()


@lru_cache(8192)
def canonical(text: str) -> str:
    """As upstream writes it once it has read it: UTC, whole seconds. Empty for the zero time, which it leaves out."""
    moment = _read(text, SECONDS)
    return "" if moment == _ZERO else _spell(moment)


@lru_cache(8192)
def canonical_micro(text: str) -> str:
    """The same with six decimals."""
    moment = _read(text, MICROS)
    return "" if moment == _ZERO else f"{_spell(moment)[:-1]}.{moment.microsecond:06d}Z"


def from_parts(seconds: int, nanos: int, *, micro: bool = False) -> str:
    """From the numbers of a protobuf timestamp. ValueError where no calendar has it."""
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise ValueError(f"{seconds} seconds is out of range") from None
    if moment == _ZERO:
        return ""
    return f"{_spell(moment)[:-1]}.{moment.microsecond:06d}Z" if micro else _spell(moment)


@lru_cache(4096)
def _second(seconds: int) -> str:
    return _spell(_EPOCH + timedelta(seconds=seconds))


def _spell(moment: datetime) -> str:
    day = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    return f"{day}T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}Z"


def _read(text: str, layout: str) -> datetime:
    found = (_SECONDS if layout is SECONDS else _MICROS).fullmatch(text)
    if found is None:
        raise ValueError(_complaint(text, layout))
    *calendar, fraction, sign, zone_hours, zone_minutes = found.groups()
    year, month, day, hour, minute, second = (int(each) for each in calendar)
    for (name, low, high), number in zip(_LIMITS, (month, day, hour, minute, second), strict=True):
        if not low <= number <= high:
            raise ValueError(f'parsing time "{text}": {name} out of range')
    zone: timezone = UTC
    try:
        if sign:
            offset = timedelta(hours=int(zone_hours), minutes=int(zone_minutes))
            zone = timezone(-offset if sign == "-" else offset)
    except ValueError:
        raise ValueError(f'parsing time "{text}": time zone offset hour out of range') from None
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, micros, zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f'parsing time "{text}": day out of range') from None


def _complaint(text: str, layout: str) -> str:
    """What a parser that goes from left to right would stop at."""
    rest = text
    parts = (*_PARTS, (".000000", r"[.,]\d{6}")) if layout is MICROS else (*_PARTS, ("", r"([.,]\d+)?"))
    for name, pattern in (*parts, ("Z07:00", _ZONE)):
        found = re.match(pattern, rest, re.ASCII)
        if found is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{name}"'
        rest = rest[found.end() :]
    return f'parsing time "{text}": extra text: "{rest}"'
