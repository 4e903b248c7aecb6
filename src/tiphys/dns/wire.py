"""DNS messages as bytes (RFC 1035, 6891): just what answering fast takes; dnslib does the unusual. Core."""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import pack, unpack_from

A, NS, CNAME, SOA, PTR, TXT, AAAA, SRV, OPT = 1, 2, 5, 6, 12, 16, 28, 33, 41

NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NAME_ERROR, NOT_IMPLEMENTED, REFUSED = range(6)

SMALLEST_LIMIT = 512
"""Bytes of an answer by UDP to a client that does not say how much it takes."""
LARGEST_LIMIT = 1232
"""What passes everywhere in one packet; see dnsflagday.net/2020."""

_QUESTION = b"\xc0\x0c"
"""A pointer to the name of the question, where every message of ours begins."""
_EDNS = b"\x00" + pack("!HHIH", OPT, LARGEST_LIMIT, 0, 0)
_EDNS_HEAD = b"\x00\x00\x29"


class Malformed(Exception):
    """Not a DNS message that can be answered."""


@dataclass(slots=True)
class Query:
    """Never changed once made; not frozen, since freezing makes making it three times as dear."""

    data: bytes
    key: bytes
    """Name, type and class, in lower case: what answers are found by."""
    end: int
    """Of the question in `data`."""
    limit: int
    """Bytes that the client takes by UDP."""
    edns: bool

    @property
    def type(self) -> int:
        number: int = unpack_from("!H", self.data, self.end - 4)[0]
        return number

    @property
    def name(self) -> bytes:
        """In lower case."""
        return self.key[:-4]


@dataclass(frozen=True, slots=True)
class Answer:
    """Sections of an answer, written already."""

    code: int = NO_ERROR
    answers: int = 0
    authorities: int = 0
    additional: int = 0
    body: bytes = b""


def name(dotted: str) -> bytes:
    """`a.b.` as labels. Raises ValueError for what is no name."""
    labels = [each for each in dotted.rstrip(".").split(".") if dotted.strip(".")]
    encoded = []
    for label in labels:
        raw = label.encode("ascii", "strict")
        if not 0 < len(raw) < 64:
            raise ValueError(f"{dotted} is not a name")
        encoded.append(bytes((len(raw),)) + raw)
    whole = b"".join(encoded) + b"\0"
    if len(whole) > 255:
        raise ValueError(f"{dotted} is too long")
    return whole


def labels(encoded: bytes) -> list[str]:
    found, at = [], 0
    while at < len(encoded) and (size := encoded[at]):
        found.append(encoded[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += size + 1
    return found


def question(encoded: bytes, kind: int) -> bytes:
    """The key of an answer."""
    return encoded.lower() + pack("!HH", kind, 1)


def record(owner: bytes, kind: int, ttl: int, data: bytes) -> bytes:
    """An empty owner: the name of the question."""
    return (owner or _QUESTION) + pack("!HHIH", kind, 1, ttl, len(data)) + data


def address(text: str) -> tuple[int, bytes]:
    """The type and the data of the record of an address."""
    read = ipaddress.ip_address(text)
    return (A if read.version == 4 else AAAA), read.packed


def srv(priority: int, weight: int, port: int, target: bytes) -> bytes:
    return pack("!HHH", priority, weight, port) + target


def soa(server: bytes, mailbox: bytes, serial: int, minimum: int) -> bytes:
    return server + mailbox + pack("!IIIII", serial & 0xFFFFFFFF, 7200, 1800, 86400, minimum)


def text(said: str) -> bytes:
    raw = said.encode()
    return bytes((len(raw),)) + raw


def query(data: bytes) -> Query | None:
    """None for what is no ordinary query. Raises Malformed where not even an error can be told."""
    if len(data) < 12:
        raise Malformed
    if data[2] & 0x80:
        raise Malformed  # an answer: answering it could go on for ever
    if data[2] & 0x78 or data[4:6] != b"\0\x01":
        return None
    end = data.find(b"\0", 12) + 5
    if end < 17 or end > len(data):
        return None
    edns = data[end : end + 3] == _EDNS_HEAD
    limit = SMALLEST_LIMIT
    if edns and len(data) >= end + 11:
        limit = min(max(int.from_bytes(data[end + 3 : end + 5], "big"), SMALLEST_LIMIT), LARGEST_LIMIT)
    return Query(data, data[12:end].lower(), end, limit, edns)


def reply(asked: Query, found: Answer, limit: int) -> bytes:
    """The whole message, or as much of it as fits: what nobody asked for goes first, then answers, and that is told."""
    data, end = asked.data, asked.end
    body, additional = found.body, found.additional
    flags = bytes((0x84 | data[2] & 1, 0x80 | found.code))
    if asked.edns:
        body += _EDNS
        additional += 1
    if end + len(body) > limit:
        return _cut(asked, found, limit, flags)
    return data[:2] + flags + pack("!HHHH", 1, found.answers, found.authorities, additional) + data[12:end] + body


def _cut(asked: Query, found: Answer, limit: int, flags: bytes) -> bytes:
    data, end = asked.data, asked.end
    edns = _EDNS if asked.edns else b""
    room, at, kept = limit - end - len(edns), 0, 0
    wanted = found.answers + found.authorities
    while kept < wanted and (after := _after_data(found.body, _after_name(found.body, at))) <= room:
        at, kept = after, kept + 1
    if kept < wanted:
        flags = bytes((flags[0] | 2, flags[1]))
    answers = min(kept, found.answers)
    counts = pack("!HHHH", 1, answers, kept - answers, 1 if asked.edns else 0)
    return data[:2] + flags + counts + data[12:end] + found.body[:at] + edns


def refusal(data: bytes, code: int) -> bytes:
    """An error without a question, for a message that is no ordinary query."""
    return data[:2] + bytes((0x80 | data[2] & 0x79, 0x80 | code)) + bytes(8)


def failure(asked: Query) -> bytes:
    return reply(asked, Answer(SERVER_FAILURE), LARGEST_LIMIT)


def times_to_live(message: bytes) -> tuple[tuple[int, int], ...]:
    """Where each record's time to live stands, and what it is; OPT has none. Raises Malformed."""
    try:
        return tuple(_times_to_live(message))
    except (IndexError, ValueError) as error:
        raise Malformed from error


def _times_to_live(message: bytes) -> Iterator[tuple[int, int]]:
    questions, *counts = (int.from_bytes(message[at : at + 2], "big") for at in (4, 6, 8, 10))
    at = 12
    for _ in range(questions):
        at = _after_name(message, at) + 4
    for _ in range(sum(counts)):
        at = _after_name(message, at)
        if at + 10 > len(message):
            raise ValueError(at)
        if int.from_bytes(message[at : at + 2], "big") != OPT:
            yield at + 4, int.from_bytes(message[at + 4 : at + 8], "big")
        at = _after_data(message, at)


def _after_data(message: bytes, at: int) -> int:
    """`at`: behind the name of a record."""
    return at + 10 + int.from_bytes(message[at + 8 : at + 10], "big")


def _after_name(message: bytes, at: int) -> int:
    while size := message[at]:
        if size >= 0xC0:
            return at + 2
        at += size + 1
    return at + 1


def joined(records: Iterable[bytes]) -> bytes:
    return b"".join(records)
