"""https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/"""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.base.http.spdy import DICTIONARY, MAX_DATA, Data, GoAway, MoreHeaders, Opened, Ping, Replied, Reset, Spdy, SpdyError


def test_the_dictionary_is_the_drafts():
    # zlib names a dictionary by its Adler-32; SPDY/3's is known by this one.
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_both_ends_understand_each_other():
    client, server = Spdy(), Spdy()
    sent = client.open(1, [("streamType", "error")]) + client.open(3, [("streamType", "stdin"), ("a", "1"), ("A", "2")])
    sent += client.data(3, b"hello") + client.data(3, b"", last=True)
    assert server.feed(sent) == [
        Opened(1, {"streamtype": "error"}, False),
        Opened(3, {"streamtype": "stdin", "a": "1,2"}, False),
        Data(3, b"hello", False),
        Data(3, b"", True),
    ]
    sent = server.reply(1) + server.reply(3, [("x", "y")], last=True) + server.reset(3, 5) + server.ping(2) + server.go_away(3)
    assert client.feed(sent) == [Replied(1, {}, False), Replied(3, {"x": "y"}, True), Reset(3, 5), Ping(2), GoAway(3, 0)]


@given(st.lists(st.binary(max_size=40)), st.integers(1, 13))
def test_frames_come_whole_however_they_are_cut(parts, step):
    one, other = Spdy(), Spdy()
    sent = one.open(1, [("a", "b")]) + b"".join(one.data(1, part) for part in parts)
    got = [frame for at in range(0, len(sent), step) for frame in other.feed(sent[at : at + step])]
    assert got == [Opened(1, {"a": "b"}, False), *(Data(1, part, False) for part in parts)]


def test_bytes_on_the_wire():
    spdy = Spdy()
    assert spdy.data(5, b"ab", last=True) == bytes.fromhex("0000000501000002") + b"ab"
    assert spdy.ping(7) == bytes.fromhex("800300060000000400000007")
    assert len(spdy.data(1, b"x" * (MAX_DATA + 1))) == MAX_DATA + 1 + 16


def test_settings_and_window_updates_are_ignored_and_headers_understood():
    one, other = Spdy(), Spdy()
    settings = bytes.fromhex("8003000400000004") + bytes(4)
    window = bytes.fromhex("8003000900000008") + bytes(8)
    block = one.reply(1, [("a", "b")])[12:]
    more = bytes.fromhex("80030008") + (len(block) + 4).to_bytes(4, "big") + bytes.fromhex("00000001") + block
    assert other.feed(settings + window + more) == [MoreHeaders(1, {"a": "b"}, False)]


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("80020001000000040000000000", "version 2"),
        ("800300010000000400000001", "too short"),
        ("8003000100000010" + "00000001" + "00" * 12, "cannot be read"),
    ],
)
def test_what_is_refused(sent, told):
    with pytest.raises(SpdyError, match=told):
        Spdy().feed(bytes.fromhex(sent))
