"""Log lines and which of them are sent (v1.36.4 staging/src/k8s.io/cri-client/pkg/logs/logs.go)."""

import asyncio

import pytest

from tiphys.kubelet.logs import BadOptions, LogOptions, Selection, options, parse_line
from tiphys.kubelet.server.log_stream import send
from tiphys.machinery import times

LINES = [
    b"2026-01-02T03:04:05.1Z stdout F one\n",
    b"2026-01-02T03:04:06.1Z stderr F two\n",
    b"2026-01-02T03:04:07.1Z stdout P thr\n",
    b"2026-01-02T03:04:07.2Z stdout F ee\n",
]


def text(**chosen):
    selection = Selection(LogOptions(**chosen))
    return b"".join(selection.take(line) for line in LINES)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, b"one\ntwo\nthree\n"),
        ({"stream": "Stderr"}, b"two\n"),
        ({"limit": 5}, b"one\nt"),
        ({"since": times.parse("2026-01-02T03:04:06Z")}, b"two\nthree\n"),
        (
            {"timestamps": True},
            b"2026-01-02T03:04:05.1Z one\n2026-01-02T03:04:06.1Z two\n2026-01-02T03:04:07.1Z three\n",
        ),
    ],
)
def test_selection(chosen, expected):
    assert text(**chosen) == expected


def test_what_is_no_line_is_left_out():
    assert parse_line(b"half a li") is None


def test_options():
    found = options({"follow": "true", "tailLines": "5", "sinceSeconds": "60", "limitBytes": "9"}, 1000.0)
    assert found == LogOptions(follow=True, tail=5, since=940.0, limit=9)
    with pytest.raises(BadOptions):
        options({"tailLines": "many"}, 0.0)


class Collected:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += data

    async def drain(self):
        """Nobody reads slowly."""


@pytest.mark.parametrize(
    ("tail", "expected"), [(None, b"one\ntwo\nthree\n"), (1, b"ee\n"), (2, b"three\n"), (9, b"one\ntwo\nthree\n"), (0, b"")]
)
def test_tail(tmp_path, tail, expected):
    file = tmp_path / "0.log"
    file.write_bytes(b"".join(LINES))
    channel = Collected()
    asyncio.run(send(file, LogOptions(tail=tail), channel, None))
    assert channel.data == expected


def test_following_ends_with_the_container_and_misses_nothing(tmp_path):
    file = tmp_path / "0.log"
    file.write_bytes(LINES[0])
    channel = Collected()
    asked = 0

    async def alive():
        nonlocal asked
        asked += 1
        with file.open("ab") as log:
            log.write(LINES[1] if asked == 1 else b"")
        return asked < 2

    asyncio.run(send(file, LogOptions(follow=True), channel, alive))
    assert channel.data == b"one\ntwo\n"
