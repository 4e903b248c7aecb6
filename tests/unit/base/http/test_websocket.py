import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.base.http.messages import Request
from tiphys.base.http.websocket import (
    FrameReader,
    Message,
    Op,
    WebSocketError,
    ask,
    close_frame,
    frame,
    handshake,
    is_websocket,
    masked,
)

MASK = b"\x37\xfa\x21\x3d"


@pytest.mark.parametrize(
    ("op", "data", "mask", "sent"),
    [
        # RFC 6455, section 5.7
        (Op.TEXT, b"Hello", b"", bytes.fromhex("810548656c6c6f")),
        (Op.TEXT, b"Hello", MASK, bytes.fromhex("818537fa213d7f9f4d5158")),
        (Op.PING, b"Hello", b"", bytes.fromhex("890548656c6c6f")),
        (Op.BINARY, b"x" * 256, b"", bytes.fromhex("827e0100") + b"x" * 256),
        (Op.BINARY, b"x" * 65536, b"", bytes.fromhex("827f0000000000010000") + b"x" * 65536),
    ],
)
def test_frames_of_the_rfc(op, data, mask, sent):
    assert frame(op, data, mask) == sent
    assert FrameReader(from_client=bool(mask)).feed(sent) == [Message(op, data)]


@given(st.lists(st.tuples(st.sampled_from([Op.TEXT, Op.BINARY, Op.PING]), st.binary(max_size=120))), st.integers(1, 50))
def test_messages_come_whole_however_they_are_cut(messages, step):
    sent = b"".join(frame(op, data, MASK) for op, data in messages)
    reader = FrameReader(from_client=True)
    got = [each for at in range(0, len(sent), step) for each in reader.feed(sent[at : at + step])]
    assert got == [Message(op, data) for op, data in messages]


@given(st.binary(), st.binary(min_size=4, max_size=4))
def test_masking_is_its_own_inverse(data, mask):
    assert masked(data, mask) == bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
    assert masked(masked(data, mask), mask) == data


def test_fragments_with_a_ping_between_them():
    # RFC 6455, sections 5.4 and 5.7
    sent = bytes.fromhex("010348656c") + frame(Op.PING, b"!") + bytes.fromhex("80026c6f")
    assert FrameReader(from_client=False).feed(sent) == [Message(Op.PING, b"!"), Message(Op.TEXT, b"Hello")]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("8105", 1002),  # a client's frame without a mask
        ("c18500000000", 1002),  # a reserved bit
        ("838500000000", 1002),  # an unknown opcode
        ("808000000000", 1002),  # a continuation of nothing
        ("89fe007e", 1002),  # a long ping
        ("098000000000", 1002),  # a fragmented ping
        ("82ff0000000000100000", 1009),
    ],
)
def test_what_is_refused(sent, code):
    with pytest.raises(WebSocketError) as raised:
        FrameReader(from_client=True, limit=1000).feed(bytes.fromhex(sent))
    assert raised.value.code == code


def test_close():
    (message,) = FrameReader(from_client=False).feed(close_frame(1001, "bye"))
    assert (message.op, message.close_code, message.data[2:]) == (Op.CLOSE, 1001, b"bye")
    assert Message(Op.CLOSE, b"").close_code == 1005


def test_handshake():
    # RFC 6455, section 1.3
    headers = {name.lower(): value for name, value in ask("dGhlIHNhbXBsZSBub25jZQ==", ["superchat", "chat"])}
    request = Request("GET", "/", "", headers)
    assert is_websocket(request)
    chosen, answer = handshake(request, ["chat"])
    assert chosen == "chat"
    assert dict(answer)["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert dict(answer)["Sec-WebSocket-Protocol"] == "chat"
    assert handshake(request)[0] == ""
    with pytest.raises(WebSocketError, match="version"):
        handshake(Request("GET", "/", "", {**headers, "sec-websocket-version": "8"}))
    with pytest.raises(WebSocketError, match="handshake"):
        handshake(Request("GET", "/", "", {}))
