"""HTTP/1.1 on the wire: heads, chunks and dates as bytes. Pure; heads that repeat are built once."""

from collections.abc import Sequence
from http import HTTPStatus

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
CLOSE = b"Connection: close\r\n"

_REASONS = {status.value: status.phrase for status in HTTPStatus} | {
    # Upstream speaks Go's words where Python's differ.
    413: "Request Entity Too Large",
    414: "Request URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HEADS_KEPT = 512

_heads: dict[tuple[int, str], bytes] = {}


def reason(status: int) -> str:
    return _REASONS.get(status, f"status code {status}")


def has_body(status: int) -> bool:
    """Whether an answer with this status may carry a body (RFC 9110, section 6.4.1)."""
    return status >= 200 and status not in (204, 304)


def head(status: int, content_type: str) -> bytes:
    """Status line and content type."""
    found = _heads.get((status, content_type))
    if found is None:
        found = f"HTTP/1.1 {status:03d} {reason(status)}\r\n".encode()
        if content_type:
            found += fields((("Content-Type", content_type),))
        if len(_heads) < _HEADS_KEPT:
            _heads[status, content_type] = found
    return found


def fields(headers: Sequence[tuple[str, str]]) -> bytes:
    """Header lines. A line break inside a value would let its author write headers: it becomes a space."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if text.count("\n") != len(headers) or text.count("\r") != len(headers):
        text = "".join([f"{_one_line(name)}: {_one_line(value)}\r\n" for name, value in headers])
    return text.encode("utf-8")


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def date(now: float) -> bytes:
    """The Date header of this second (proleptic Gregorian, from days since the epoch)."""
    days, seconds = divmod(int(now), 86400)
    year, month, day = _civil(days)
    hour, rest = divmod(seconds, 3600)
    told = f"{_DAYS[(days + 3) % 7]}, {day:02d} {_MONTHS[month - 1]} {year} {hour:02d}:{rest // 60:02d}:{rest % 60:02d} GMT"
    return f"Date: {told}\r\n".encode()


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day number, counted in 400-year eras that begin on March 1st."""
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1
