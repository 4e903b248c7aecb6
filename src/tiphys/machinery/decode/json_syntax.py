"""What is wrong with a text that is not JSON, in the words of Go's parser. Only asked once another parser has refused it."""

import re

from tiphys.machinery.fields import quote

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'[^"\\\x00-\x1f]*')
_ESCAPES = b'"\\/bfnrt'
_HEX = b"0123456789abcdefABCDEF"
_DIGITS = b"0123456789"
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}
_END = "unexpected end of JSON input"
_DEPTH_LIMIT = 10000


class _Wrong(Exception):
    """The first thing that does not fit."""


def syntax_problem(body: bytes) -> str:
    """Empty if Go would read it."""
    try:
        _Scanner(body).document()
    except _Wrong as problem:
        return str(problem)
    return ""


class _Scanner:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def document(self) -> None:
        self._values()
        self._skip_space()
        if self._at < len(self._body):
            raise self._unexpected("after top-level value")

    def _values(self) -> None:
        """One value, with all that is in it. The stack holds the open brackets: attackers nest deeper than Python does."""
        stack: list[int] = []
        while True:
            self._skip_space()
            opening = self._peek("looking for beginning of value")
            if opening in b"{[":
                self._at += 1
                self._skip_space()
                closing = b"}" if opening == b"{" else b"]"
                if self._body[self._at : self._at + 1] == closing:
                    self._at += 1
                else:
                    stack.append(opening[0])
                    if len(stack) > _DEPTH_LIMIT:
                        raise _Wrong("exceeded max depth")
                    if opening == b"{":
                        self._key()
                    continue
            else:
                self._scalar(opening)
            if not self._close(stack):
                return

    def _close(self, stack: list[int]) -> bool:
        """After a value: closes what ends here; whether another value follows."""
        while stack:
            self._skip_space()
            in_object = stack[-1] == ord("{")
            found = self._peek("after object key:value pair" if in_object else "after array element")
            if found == b",":
                self._at += 1
                if in_object:
                    self._skip_space()
                    self._key()
                return True
            if found != (b"}" if in_object else b"]"):
                raise self._unexpected("after object key:value pair" if in_object else "after array element")
            self._at += 1
            stack.pop()
        return False

    def _key(self) -> None:
        if self._peek("looking for beginning of object key string") != b'"':
            raise self._unexpected("looking for beginning of object key string")
        self._string()
        self._skip_space()
        if self._peek("after object key") != b":":
            raise self._unexpected("after object key")
        self._at += 1

    def _scalar(self, opening: bytes) -> None:
        if opening == b'"':
            self._string()
        elif opening in _LITERALS:
            self._literal(_LITERALS[opening])
        elif opening in b"-0123456789":
            self._number()
        else:
            raise self._unexpected("looking for beginning of value")

    def _literal(self, word: bytes) -> None:
        for position, expected in enumerate(word):
            told = f"in literal {word.decode()} (expecting {_character(expected)})"
            if position and self._peek(told)[0] != expected:
                raise self._unexpected(told)
            self._at += 1

    def _string(self) -> None:
        self._at += 1
        while True:
            found = _STRING.match(self._body, self._at)
            self._at = found.end() if found else self._at
            stop = self._peek("in string literal")
            if stop == b'"':
                self._at += 1
                return
            if stop != b"\\":
                raise self._unexpected("in string literal")
            self._at += 1
            escaped = self._peek("in string escape code")
            if escaped == b"u":
                for _ in range(4):
                    self._at += 1
                    if self._peek("in \\u hexadecimal character escape") not in _HEX:
                        raise self._unexpected("in \\u hexadecimal character escape")
            elif escaped not in _ESCAPES:
                raise self._unexpected("in string escape code")
            self._at += 1

    def _number(self) -> None:
        if self._body[self._at : self._at + 1] == b"-":
            self._at += 1
        if self._peek("in numeric literal") == b"0":
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._body[self._at : self._at + 1] == b".":
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._body[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._peek("in exponent of numeric literal") in b"+-":
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, told: str) -> None:
        if self._peek(told) not in _DIGITS:
            raise self._unexpected(told)
        while self._body[self._at : self._at + 1] and self._body[self._at] in _DIGITS:
            self._at += 1

    def _skip_space(self) -> None:
        found = _SPACE.match(self._body, self._at)
        if found:
            self._at = found.end()

    def _peek(self, _told: str) -> bytes:
        if self._at >= len(self._body):
            raise _Wrong(_END)
        return self._body[self._at : self._at + 1]

    def _unexpected(self, told: str) -> _Wrong:
        return _Wrong(f"invalid character {_character(self._body[self._at])} {told}")


def _character(code: int) -> str:
    if code == ord("'"):
        return r"'\''"
    if code == ord('"'):
        return "'\"'"
    return f"'{quote(chr(code))[1:-1]}'"
