"""When a CronJob is due: standard cron lines (`*/5 9-17 * * mon-fri`), `@daily` and its kin, and `@every 1h30m`.

Kept to what users of upstream see, odd corners included: `5/15` counts from 5 to the end of the range; a restricted day of the
month and a restricted day of the week are alternatives, unless one of the two is a star; a time that daylight saving skips is
skipped, one that it repeats is due twice. In a few zones daylight saving takes away midnight itself, or half an hour; upstream
then misses the whole day, or finds one that the line does not name, and we do not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from tiphys.machinery import duration

YEARS_AHEAD = 5
"""A line that matches nothing for so long (`0 0 30 2 *`) is never due."""

_EPOCH = datetime(1970, 1, 1)
_NUMBER = re.compile("[+-]?[0-9]+")

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


@dataclass(frozen=True, slots=True)
class _Bounds:
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: at for at, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: at for at, name in enumerate(_DAYS)}),
)

_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class Line:
    """Which minutes, hours, days and months match."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Day of month and day of week are alternatives: neither is a star."""
    zone: tzinfo | None = None
    """Given in the line itself (`TZ=Europe/Rome 0 9 * * *`)."""


@dataclass(frozen=True, slots=True)
class Every:
    seconds: int


def next_after(schedule: str, time_zone: str | None, now: float) -> float | None:
    """The first moment after `now` that the schedule names; None if there is none. ValueError if it cannot be read.

    `time_zone` is the CronJob's; without one the line is read in UTC.
    """
    parsed = parse(schedule)
    if isinstance(parsed, Every):
        return int(now // 1) + parsed.seconds
    zone = parsed.zone or (load_zone(time_zone) if time_zone else UTC)
    return _next(parsed, _Local(zone), int(now // 1) + 1)


@lru_cache(maxsize=4096)
def parse(schedule: str) -> Line | Every:
    """ValueError in upstream's words."""
    if not schedule:
        raise ValueError("empty spec string")
    zone = None
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        head, space, schedule = schedule.partition(" ")
        if not space:
            raise ValueError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        name = head.partition("=")[2]
        try:
            zone = load_zone(name)
        except ValueError as problem:
            raise ValueError(f"provided bad location {name}: {problem}") from None
        schedule = schedule.strip()
    if schedule.startswith("@"):
        if schedule not in _NAMED:
            return _parse_every(schedule)
        schedule = _NAMED[schedule]
    return _parse_line(schedule, zone)


def load_zone(name: str) -> tzinfo:
    """ValueError in upstream's words where there is no such zone."""
    if name in ("", "UTC", "Local"):
        return UTC
    if ".." in name or name[0] in "/\\":
        raise ValueError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"unknown time zone {name}") from None


def _parse_every(descriptor: str) -> Every:
    if not descriptor.startswith("@every "):
        raise ValueError(f"unrecognized descriptor: {descriptor}")
    try:
        length = duration.parse(descriptor.removeprefix("@every "))
    except ValueError as problem:
        raise ValueError(f"failed to parse duration {descriptor}: {problem}") from None
    return Every(max(1, length // 1_000_000_000))


def _parse_line(line: str, zone: tzinfo | None) -> Line:
    texts = line.split()
    if len(texts) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(texts)}: [{' '.join(texts)}]")
    parsed = [_parse_field(text, bounds) for text, bounds in zip(texts, _FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, days_star), (months, _), (weekdays, weekdays_star) = parsed
    return Line(minutes, hours, days, months, weekdays, not days_star and not weekdays_star, zone)


def _parse_field(text: str, bounds: _Bounds) -> tuple[frozenset[int], bool]:
    """The values, and whether it is a star."""
    values: set[int] = set()
    star = False
    for part in text.split(","):
        if part:
            found, is_star = _parse_range(part, bounds)
            values.update(found)
            star = star or is_star
    return frozenset(values), star


def _parse_range(text: str, bounds: _Bounds) -> tuple[range, bool]:
    span, *steps = text.split("/")
    first, *last = span.split("-")
    star = first in ("*", "?")
    if star:
        low, high = bounds.low, bounds.high
    else:
        low = high = _parse_value(first, bounds)
        if len(last) == 1:
            high = _parse_value(last[0], bounds)
        elif last:
            raise ValueError(f"too many hyphens: {text}")
    step = 1
    if len(steps) == 1:
        step = _parse_int(steps[0])
        if not last:
            high = bounds.high
        star = star and step <= 1
    elif steps:
        raise ValueError(f"too many slashes: {text}")
    if low < bounds.low:
        raise ValueError(f"beginning of range ({low}) below minimum ({bounds.low}): {text}")
    if high > bounds.high:
        raise ValueError(f"end of range ({high}) above maximum ({bounds.high}): {text}")
    if low > high:
        raise ValueError(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {text}")
    return range(low, high + 1, step), star


def _parse_value(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _parse_int(text) if named is None else named


def _parse_int(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    value = int(text)
    if abs(value) >= 1 << 63:
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    if value < 0:
        raise ValueError(f"negative number ({value}) not allowed: {text}")
    return value


class _Local:
    """Wall clock times of a zone, as seconds since 1970 and back."""

    __slots__ = ("zone",)

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone

    def at(self, second: int) -> datetime:
        return datetime.fromtimestamp(second, self.zone)

    def second(self, wall: datetime) -> int:
        """Of a time that does not exist, or exists twice, the one that Go's time.Date picks."""
        seconds = int((wall.replace(tzinfo=None) - _EPOCH).total_seconds())
        offset = self._offset(seconds)
        if self._offset(seconds - offset) != offset:
            offset = self._offset(seconds - offset)
        return seconds - offset

    def _offset(self, second: int) -> int:
        offset = self.at(second).utcoffset() or timedelta()
        return int(offset.total_seconds())


def _next(line: Line, local: _Local, second: int) -> float | None:
    """The first second, from this one on, that starts a minute the line names.

    Larger units come first; each step into a new month, day or hour starts over, because it may have changed the larger ones.
    """
    if not (line.minutes and line.hours and line.months and (line.days or line.weekdays)):
        return None
    if second % 60:
        second += 60 - second % 60
    last_year = local.at(second).year + YEARS_AHEAD
    wall = local.at(second)
    while wall.year <= last_year:
        if wall.month not in line.months:
            month = datetime(wall.year + wall.month // 12, wall.month % 12 + 1, 1)
            # Always onwards, even where a zone has moved across the date line and a day is missing.
            second = max(second + 60, _start_of(local, month))
        elif not _day_matches(line, wall):
            day = datetime(wall.year, wall.month, wall.day) + timedelta(days=1)
            second = max(second + 60, _start_of(local, day))
        elif wall.hour not in line.hours:
            second = second - wall.minute * 60 + 3600
        elif wall.minute not in line.minutes:
            second += 60
        else:
            return second
        wall = local.at(second)
    return None


def _start_of(local: _Local, midnight: datetime) -> int:
    """Where daylight saving takes midnight away, the day starts at one."""
    second = local.second(midnight)
    hour = local.at(second).hour
    return second + (24 - hour) * 3600 if hour > 12 else second


def _day_matches(line: Line, wall: datetime) -> bool:
    day, weekday = wall.day in line.days, wall.isoweekday() % 7 in line.weekdays
    return day or weekday if line.either_day else day and weekday
