"""Formats of strings that custom resources are held to. A format that is not listed says nothing."""

import binascii
import datetime
import ipaddress
import re
from collections.abc import Callable
from email.utils import parseaddr
from urllib.parse import urlsplit

from tiphys.machinery import duration, times, validators

_SHORT_NAME_MAX, _LONG_NAME_MAX = 63, 253
_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HEX = "[0-9a-f]"
_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)")
_UNITS = re.compile("ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week")
_CARD = re.compile(
    r"4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}"
)


def _matching(pattern: str, flags: int = re.ASCII) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str) -> Callable[[str], bool]:
    third = f"{_HEX}{{4}}" if not version else f"{version}{_HEX}{{3}}"
    fourth = f"[89ab]{_HEX}{{3}}" if version in ("4", "5") else f"{_HEX}{{4}}"
    return _matching(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{third}-?{fourth}-?{_HEX}{{12}}", re.ASCII | re.IGNORECASE)


def _holds(read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _is_uri(text: str) -> bool:
    if not text or any(each <= " " or each == "\x7f" for each in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/") or text == "*"


def _is_email(text: str) -> bool:
    name, address = parseaddr(text)
    user, at, host = address.rpartition("@")
    return bool(user and at and host) and (bool(name) or address == text.strip())


def _is_hostname(text: str) -> bool:
    if not 0 < len(text) <= 255:
        return False
    parts = text.rstrip(".").split(".")
    return all(0 < len(part) <= 63 and re.fullmatch(r"[^\W_]([^\W_]|-)*", part) and part[-1] != "-" for part in parts)


def _is_mac(text: str) -> bool:
    found = re.fullmatch(r"([0-9a-fA-F]{2}([:-]))([0-9a-fA-F]{2}\2)*[0-9a-fA-F]{2}", text)
    if found is not None:
        return len(text) in (17, 23, 59)
    return re.fullmatch(r"([0-9a-fA-F]{4}\.){2,9}[0-9a-fA-F]{4}", text) is not None and len(text) in (14, 19, 49)


def _is_isbn10(text: str) -> bool:
    plain = text.replace("-", "").replace(" ", "")
    if re.fullmatch(r"\d{9}[\dX]", plain) is None:
        return False
    return sum((position + 1) * (10 if each == "X" else int(each)) for position, each in enumerate(plain)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    plain = text.replace("-", "").replace(" ", "")
    if re.fullmatch(r"\d{13}", plain) is None:
        return False
    return sum(int(each) * (3 if position % 2 else 1) for position, each in enumerate(plain)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    plain = re.sub(r"\D+", "", text)
    if _CARD.fullmatch(plain) is None:
        return False
    doubled = [int(each) * 2 if position % 2 else int(each) for position, each in enumerate(reversed(plain))]
    return sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


def _is_rgb(text: str) -> bool:
    found = re.fullmatch(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)", text)
    return found is not None and all(int(each) <= 255 for each in found.groups())


def _is_base64(text: str) -> bool:
    try:
        binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        return False
    return True


def _is_duration(text: str) -> bool:
    if _holds(duration.parse)(text):
        return True
    units = [unit.lower() for _, unit in _DURATION.findall(text)]
    # The longest name of a unit may have more letters after it.
    return any(_UNITS.match(unit) is not None for unit in units)


FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _holds(ipaddress.IPv4Address),
    "ipv6": _holds(ipaddress.IPv6Address),
    "cidr": lambda text: "/" in text and _holds(lambda each: ipaddress.ip_network(each, strict=False))(text),
    "mac": _is_mac,
    "uuid": _uuid(""),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4"),
    "uuid5": _uuid("5"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matching(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _matching("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _is_rgb,
    "byte": _is_base64,
    "password": lambda _: True,
    "date": _holds(lambda text: datetime.datetime.strptime(text, "%Y-%m-%d")),
    "duration": _is_duration,
    "datetime": _holds(times.parse),
    "k8sshortname": lambda text: len(text) <= _SHORT_NAME_MAX and not validators.dns1123_label(text),
    "k8slongname": lambda text: len(text) <= _LONG_NAME_MAX and not validators.dns1123_subdomain(text),
}
"""By the name without dashes."""


def is_known(name: str, kind: str) -> bool:
    """Whether values of this type are held to the format."""
    if kind in ("", "string"):
        return name.replace("-", "") in FORMATS
    return name in {"integer": ("int32", "int64"), "number": ("float", "double")}.get(kind, ())
