"""The labelSelector of a request, read as upstream reads it."""

import re
from functools import lru_cache

from tiphys.machinery import validators
from tiphys.machinery.fields import invalid
from tiphys.machinery.selectors.labels import EVERYTHING, Operator, Requirement, Selector, checked, in_order

_SYMBOLS: dict[str, Operator] = {"=": "=", "==": "==", "!=": "!=", "in": "in", "notin": "notin", ">": "gt", "<": "lt"}
_BINARY = "in, notin, =, ==, !=, gt, lt"
_TOKEN = re.compile(r"!=|==|[=!(),<>]|[^=!(),<> \t\r\n]+")


@lru_cache(1024)
def parse_labels(text: str) -> Selector:
    """The labelSelector of a request: `a=b,c in (d,e),!f`. ValueError in upstream's words."""
    return _Parser(text).parse() if text else EVERYTHING


class _Parser:
    """One pass over the words of a label selector; the empty word stands for its end."""

    def __init__(self, text: str) -> None:
        self._words: list[str] = [*_TOKEN.findall(text.partition("\0")[0]), ""]
        self._at = 0

    def parse(self) -> Selector:
        found: list[Requirement] = []
        while word := self._peek():
            if not _is_name(word) and word != "!":
                raise ValueError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            after = self._take()
            if not after:
                break
            if after != ",":
                raise ValueError(f"found '{after}', expected: ',' or 'end of string'")
            following = self._peek()
            if not _is_name(following) and following != "!":
                raise ValueError(f"found '{following}', expected: identifier after ','")
        return in_order(found)

    def _peek(self) -> str:
        return self._words[self._at]

    def _take(self) -> str:
        word = self._words[self._at]
        self._at = min(self._at + 1, len(self._words) - 1)
        return word

    def _requirement(self) -> Requirement:
        key = self._take()
        negated = key == "!"
        if negated:
            key = self._take()
        if not _is_name(key):
            raise ValueError(f"found '{key}', expected: identifier")
        wrong = validators.qualified_name(key)
        if wrong:
            raise ValueError(str(invalid("<nil>", key, "; ".join(wrong))))
        if negated:
            return checked(key, "!", ())
        if self._peek() in ("", ","):
            return checked(key, "exists", ())
        symbol = self._take()
        if symbol not in _SYMBOLS:
            raise ValueError(f"found '{symbol}', expected: {_BINARY}")
        operator = _SYMBOLS[symbol]
        values = self._several() if operator in ("in", "notin") else self._one()
        return checked(key, operator, tuple(sorted(values)))

    def _one(self) -> set[str]:
        if self._peek() in ("", ","):
            return {""}
        word = self._take()
        if not _is_name(word):
            raise ValueError(f"found '{word}', expected: identifier")
        return {word}

    def _several(self) -> set[str]:
        opening = self._take()
        if opening != "(":
            raise ValueError(f"found '{opening}' expected: '('")
        first = self._peek()
        if first == ")":
            self._take()
            return {""}
        if not _is_name(first) and first != ",":
            raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            word = self._take()
            if _is_name(word):
                values.add(word)
                if self._peek() not in (",", ")"):
                    raise ValueError(f"found '{self._peek()}', expected: ',' or ')'")
                if self._peek() == ")":
                    break
            elif word == ",":
                if not values or self._peek() in (",", ")"):
                    values.add("")
                if self._peek() == ")":
                    break
            else:
                raise ValueError(f"found '{word}', expected: ',', or identifier")
        self._take()
        return values


def _is_name(word: str) -> bool:
    return word != "" and word[0] not in "=!(),<>"
