"""Messages as bytes, beside what dnslib makes of them."""

import pytest
from dnslib import EDNS0, QTYPE, RR, A, DNSQuestion, DNSRecord
from hypothesis import given
from hypothesis import strategies as st

from tiphys.dns import alias, wire
from tiphys.dns.cache import Cache
from tiphys.dns.wire import Answer, Malformed


def test_a_query():
    data = bytes(DNSRecord.question("WwW.example.com", "SRV").pack())
    asked = wire.query(data)
    assert (asked.name, asked.type, asked.limit, asked.edns) == (wire.name("www.example.com"), wire.SRV, 512, False)
    assert wire.labels(asked.name) == ["www", "example", "com"]


@pytest.mark.parametrize(("size", "limit"), [(0, 512), (600, 600), (1232, 1232), (65535, 1232)])
def test_the_size_that_a_client_takes(size, limit):
    # RFC 6891, section 6.2.5; dnsflagday.net/2020
    message = DNSRecord.question("a.b")
    message.add_ar(EDNS0(udp_len=size))
    asked = wire.query(bytes(message.pack()))
    assert (asked.limit, asked.edns) == (limit, True)
    reply = DNSRecord.parse(wire.reply(asked, Answer(), asked.limit))
    assert [each.rtype for each in reply.ar] == [QTYPE.OPT]


@pytest.mark.parametrize("edns", [False, True])
def test_an_answer_that_does_not_fit_says_so(edns):
    # RFC 2181, section 9; some resolvers use what there is, and never ask by TCP.
    message = DNSRecord.question("a.b")
    if edns:
        message.add_ar(EDNS0(udp_len=512))
    asked = wire.query(bytes(message.pack()))
    found = Answer(answers=40, body=wire.record(b"", wire.A, 5, b"\1\2\3\4") * 40)
    cut = wire.reply(asked, found, 512)
    short = DNSRecord.parse(cut)
    assert (short.header.tc, len(short.ar)) == (1, int(edns))
    assert 512 - 16 < len(cut) <= 512
    assert {str(each.rname) for each in short.rr} == {"a.b."}
    whole = DNSRecord.parse(wire.reply(asked, found, 65535))
    assert (whole.header.tc, len(whole.rr), str(whole.rr[0].rname)) == (0, 40, "a.b.")


def test_what_nobody_asked_for_goes_first():
    asked = wire.query(bytes(DNSRecord.question("a.b", "SRV").pack()))
    target = wire.name("c.a.b")
    one = wire.record(b"", wire.SRV, 5, wire.srv(0, 1, 80, target))
    found = Answer(answers=5, additional=40, body=one * 5 + wire.record(target, wire.A, 5, b"\1\2\3\4") * 40)
    reply = DNSRecord.parse(wire.reply(asked, found, 512))
    assert (reply.header.tc, len(reply.rr), len(reply.ar)) == (0, 5, 0)


def test_the_spelling_of_the_question_comes_back():
    # draft-vixie-dnsext-dns0x20
    asked = wire.query(bytes(DNSRecord.question("eXaMple.COM").pack()))
    assert b"eXaMple\x03COM" in wire.reply(asked, Answer(), 512)


@pytest.mark.parametrize(
    "data", [b"", b"12345678901", bytes(DNSRecord.question("a.b").reply().pack())], ids=["nothing", "too short", "an answer"]
)
def test_what_is_never_answered(data):
    with pytest.raises(Malformed):
        wire.query(data)


def test_unusual_queries():
    two = DNSRecord(q=DNSQuestion("a.b"))
    two.add_question(DNSQuestion("c.d"))
    assert wire.query(bytes(two.pack())) is None
    update = bytearray(bytes(DNSRecord.question("a.b").pack()))
    update[2] |= 5 << 3
    assert wire.query(bytes(update)) is None
    refused = DNSRecord.parse(wire.refusal(bytes(update), wire.NOT_IMPLEMENTED))
    assert (refused.header.rcode, refused.header.opcode, refused.header.qr) == (4, 5, 1)


@given(st.binary(max_size=80))
def test_no_bytes_break_it(data):
    """Whatever comes from the network is answered or dropped; it never raises anything else."""
    try:
        asked = wire.query(data)
    except Malformed:
        return
    if asked is not None:
        wire.reply(asked, Answer(), asked.limit)
        wire.labels(asked.name)


@pytest.mark.parametrize("text", ["a..b", "x" * 64, ".".join(["abcdefgh"] * 32)])
def test_what_is_no_name(text):
    with pytest.raises(ValueError, match=r"is not a name|is too long"):
        wire.name(text)


def answered(ttl: int = 20, name: str = "example.com") -> tuple[wire.Query, bytes]:
    message = DNSRecord.question(name)
    reply = message.reply()
    reply.add_answer(RR(name, QTYPE.A, ttl=ttl, rdata=A("1.2.3.4")))
    return wire.query(bytes(message.pack())), bytes(reply.pack())


def test_the_cache_tells_what_is_left_of_the_time():
    asked, said = answered(20)
    cache = Cache()
    cache.put(asked, said, 100.0)
    again = wire.query(bytes(DNSRecord.question("EXAMPLE.com").pack()))
    found = DNSRecord.parse(cache.get(again, 107.9))
    assert (found.rr[0].ttl, found.header.id, str(found.q.qname)) == (13, int.from_bytes(again.data[:2], "big"), "EXAMPLE.com.")
    assert cache.get(again, 120.0) is None


def test_the_cache_forgets():
    cache = Cache(kept=2)
    kept = [answered(500, f"{name}.com") for name in "abc"]
    for asked, said in kept:
        cache.put(asked, said, 0.0)
    assert [cache.get(asked, 1.0) is not None for asked, _ in kept] == [False, True, True]
    assert cache.get(kept[1][0], 30.0) is None
    failed, said = answered(20, "f.com")
    cache.put(failed, said[:3] + b"\x82" + said[4:], 0.0)
    assert cache.get(failed, 0.0) is None


def test_an_alias_and_what_it_stands_for():
    asked = wire.query(bytes(DNSRecord.question("ext.default.svc.cluster.local").pack()))
    further, said = answered(7)
    reply = DNSRecord.parse(alias.answer(asked, wire.name("example.com"), said, 512))
    assert [(QTYPE[each.rtype], str(each.rdata)) for each in reply.rr] == [("CNAME", "example.com."), ("A", "1.2.3.4")]
    assert reply.header.id == int.from_bytes(asked.data[:2], "big")
    question = alias.question(asked, wire.name("example.com"), b"\1\2")
    assert question.key == further.key
    assert [QTYPE[each.rtype] for each in DNSRecord.parse(alias.answer(asked, wire.name("x.y"), None, 512)).rr] == ["CNAME"]


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_an_alias_of_nonsense(behind, said):
    """What never must happen: that a client's or a resolver's bytes end the server."""
    plain = bytes(DNSRecord.question("ext.default.svc.cluster.local").pack())
    asked = wire.query(plain[:10] + b"\0\1" + plain[12:] + behind)
    assert DNSRecord.parse(alias.answer(asked, wire.name("x.y"), said, 512)).header.qr == 1
