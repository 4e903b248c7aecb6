from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.base.http import wire


@given(st.integers(0, 4102444800 * 3))
def test_date_is_an_http_date(now):
    # RFC 9110, section 5.6.7; the standard library is the second opinion.
    assert wire.date(now) == f"Date: {formatdate(now, usegmt=True)}\r\n".encode()


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (200, b"HTTP/1.1 200 OK\r\n"),
        (422, b"HTTP/1.1 422 Unprocessable Entity\r\n"),
        (299, b"HTTP/1.1 299 status code 299\r\n"),
    ],
)
def test_status_lines_are_gos(status, line):
    # net/http/status.go and server.go (writeStatusLine)
    assert wire.head(status, "") == line


def test_chunk():
    assert wire.chunk(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"
