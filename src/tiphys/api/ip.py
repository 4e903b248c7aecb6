"""IP addresses and CIDRs as upstream reads, checks and warns about them.

Old fields take any spelling that Go's first parser took, except the ambiguous ones (leading zeros, IPv4 in IPv6); newer fields
take the canonical spelling only.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, NamedTuple

from tiphys.machinery.fields import FieldError, invalid, quote

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Family = Literal["IPv4", "IPv6"]

_LEADING_ZEROS = re.compile(r"(?<![0-9A-Fa-f])0+(?=[0-9])")
_DIGITS = re.compile("[0-9]{1,9}")


class Cidr(NamedTuple):
    host: Address
    """The address as given, bits beyond the prefix included."""
    network: Network


@lru_cache(16384)
def parse(text: str) -> Address | None:
    """None if it is no IP address at all; leading zeros are ignored."""
    if "%" in text or "/" in text:
        return None
    colon = text.rfind(":") + 1
    if "." in text[colon:]:
        text = text[:colon] + _LEADING_ZEROS.sub("", text[colon:])
    try:
        return ip_address(text)
    except ValueError:
        return None


@lru_cache(4096)
def parse_cidr(text: str) -> Cidr | None:
    address, slash, length = text.partition("/")
    host = parse(address)
    if host is None or not slash or not _DIGITS.fullmatch(length) or int(length) > host.max_prefixlen:
        return None
    return Cidr(host, ip_network((host, int(length)), strict=False))


def is_ipv6(text: str) -> bool:
    address = parse(text)
    return isinstance(address, IPv6Address) and address.ipv4_mapped is None


@lru_cache(16384)
def family(text: str) -> Family | None:
    """Of an address or of a CIDR; IPv4 within IPv6 counts as IPv4."""
    cidr = parse_cidr(text)
    address = cidr.host if cidr else parse(text)
    if address is None:
        return None
    return "IPv6" if isinstance(address, IPv6Address) and address.ipv4_mapped is None else "IPv4"


def canonical(address: Address) -> str:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _is_mapped(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def _has_leading_zeros(text: str) -> bool:
    dotted = text[text.rfind(":") + 1 :]
    return "." in dotted and _LEADING_ZEROS.search(dotted) is not None


@lru_cache(16384)
def _legacy_problem(value: str) -> str:
    address = parse(value)
    if address is None:
        return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    if _has_leading_zeros(value):
        return "must not have leading 0s"
    return "must not be an IPv4-mapped IPv6 address" if _is_mapped(address) else ""


def validate_legacy(value: str, at: str) -> Iterator[FieldError]:
    """For fields older than strict validation: not ambiguous, but canonical only by a warning."""
    if problem := _legacy_problem(value):
        yield invalid(at, value, problem)


def strict_problems(value: str) -> list[str]:
    """For newer fields, and for names that are addresses."""
    if problem := _legacy_problem(value):
        return [problem]
    address = parse(value)
    if address is None or canonical(address) == value:
        return []
    return [f"must be in canonical form ({quote(canonical(address))})"]


def validate_strict(value: str, at: str) -> Iterator[FieldError]:
    for problem in strict_problems(value):
        yield invalid(at, value, problem)


def validate_endpoint(value: str, at: str) -> Iterator[FieldError]:
    """An address that traffic may be sent to: nothing unspecified, loopback or link-local."""
    for problem in _endpoint_problems(value):
        yield invalid(at, value, problem)


@lru_cache(16384)
def _endpoint_problems(value: str) -> tuple[str, ...]:
    # Slices repeat the same addresses at every update.
    return tuple(_why_no_endpoint(value))


def _why_no_endpoint(value: str) -> Iterator[str]:
    address = parse(value)
    if address is None:
        yield "must be a valid IP address"
        return
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_unspecified:
        yield f"may not be unspecified ({value})"
    if address.is_loopback:
        yield "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    if address.is_link_local:
        yield "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    if _is_link_local_multicast(address):
        yield "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"


def _is_link_local_multicast(address: Address) -> bool:
    packed = address.packed
    if len(packed) == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


def _legacy_cidr_problem(value: str) -> str:
    cidr = parse_cidr(value)
    if cidr is None:
        return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
    address, _, length = value.partition("/")
    if _has_leading_zeros(address) or (length.startswith("0") and length != "0"):
        return "must not have leading 0s in IP or prefix length"
    if _is_mapped(cidr.host):
        return "must not have an IPv4-mapped IPv6 address"
    return "must not have bits set beyond the prefix length" if cidr.host != cidr.network.network_address else ""


def validate_legacy_cidr(value: str, at: str) -> Iterator[FieldError]:
    if problem := _legacy_cidr_problem(value):
        yield invalid(at, value, problem)


def validate_strict_cidr(value: str, at: str) -> Iterator[FieldError]:
    if problem := _legacy_cidr_problem(value):
        yield invalid(at, value, problem)
        return
    cidr = parse_cidr(value)
    if cidr is not None and str(cidr.network) != value:
        yield invalid(at, value, f"must be in canonical form ({quote(str(cidr.network))})")


def warnings(value: str, at: str) -> Iterator[str]:
    if told := _not_standard(value):
        yield f"{at}: {told}"


def is_standard(value: str) -> bool:
    """Whether nothing is to be warned of."""
    return not _not_standard(value)


@lru_cache(16384)
def _not_standard(value: str) -> str:
    address = parse(value)
    if address is None:
        return ""
    if _has_leading_zeros(value) or _is_mapped(address):
        return f"non-standard IP address {quote(value)} is invalid: use {quote(canonical(address))}"
    if isinstance(address, IPv6Address) and str(address) != value:
        return f"IPv6 address {quote(value)} should be in RFC 5952 canonical format ({quote(str(address))})"
    return ""


def cidr_warnings(value: str, at: str) -> Iterator[str]:
    cidr = parse_cidr(value)
    if cidr is None:
        return
    network = str(cidr.network)
    fine = True
    if cidr.host != cidr.network.network_address:
        single = f"{canonical(cidr.host)}/{cidr.host.max_prefixlen}"
        yield (
            f"{at}: CIDR value {quote(value)} is ambiguous in this context "
            f"(should be {quote(network)} or {quote(single)}?)"
        )  # fmt: skip
        fine = False
    address, _, length = value.partition("/")
    if _has_leading_zeros(address) or (length.startswith("0") and length != "0") or _is_mapped(cidr.host):
        yield f"{at}: non-standard CIDR value {quote(value)} is invalid: use {quote(network)}"
        fine = False
    if fine and isinstance(cidr.host, IPv6Address) and network != value:
        yield f"{at}: IPv6 CIDR value {quote(value)} should be in RFC 5952 canonical format ({quote(network)})"
