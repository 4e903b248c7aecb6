"""From the text of an expression to its tree: what binds closer stands deeper."""

import re
from dataclasses import dataclass
from typing import Any


class Unsound(ValueError):
    """The text is no expression."""


@dataclass(frozen=True, slots=True)
class Node:
    kind: str
    """literal, name, member, index, call, list, map, unary, binary, choice, or has."""
    word: str = ""
    """Name, operator or function."""
    parts: tuple["Node", ...] = ()
    value: Any = None


_TOKEN = re.compile(
    r"""\s*(?://[^\n]*\s*)*(?:
    (?P<number>0[xX][0-9a-fA-F]+[uU]?|\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?)
    |(?P<string>[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    |(?P<end>$))""",
    re.VERBOSE | re.DOTALL,
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)


def parse(text: str) -> Node:
    """Raises Unsound."""
    parser = _Parser(_tokens(text))
    found = parser.expression()
    parser.end()
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unsound(f"syntax error at {text[at : at + 20].strip()!r}")
        kind = match.lastgroup or "end"
        found.append((kind, match.group(kind)))
        at = match.end()
        if kind == "end":
            return found


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def end(self) -> None:
        if self._tokens[self._at][0] != "end":
            raise Unsound(f"unexpected {self._tokens[self._at][1]!r}")

    def _takes(self, *signs: str) -> str:
        kind, text = self._tokens[self._at]
        if text in signs and kind != "string":
            self._at += 1
            return text
        return ""

    def _needs(self, sign: str) -> None:
        if not self._takes(sign):
            raise Unsound(f"{sign!r} expected before {self._tokens[self._at][1]!r}")

    def expression(self) -> Node:
        condition = self._level(0)
        if not self._takes("?"):
            return condition
        first = self._level(0)
        self._needs(":")
        return Node("choice", parts=(condition, first, self.expression()))

    def _level(self, at: int) -> Node:
        if at == len(_LEVELS):
            return self._unary()
        left = self._level(at + 1)
        while sign := self._takes(*_LEVELS[at]):
            left = Node("binary", sign, (left, self._level(at + 1)))
        return left

    def _unary(self) -> Node:
        sign = self._takes("!", "-")
        return Node("unary", sign, (self._unary(),)) if sign else self._member()

    def _member(self) -> Node:
        found = self._primary()
        while sign := self._takes(".", "["):
            if sign == "[":
                found = Node("index", parts=(found, self.expression()))
                self._needs("]")
                continue
            name = self._name()
            found = Node("call", name, (found, *self._until(")")), True) if self._takes("(") else Node("member", name, (found,))
        return found

    def _name(self) -> str:
        kind, text = self._tokens[self._at]
        if kind != "name":
            raise Unsound(f"a name expected before {text!r}")
        self._at += 1
        return text

    def _until(self, sign: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._takes(sign):
            if found:
                self._needs(",")
                if self._takes(sign):
                    break
            found.append(self.expression())
        return tuple(found)

    def _primary(self) -> Node:
        if self._takes("("):
            found = self.expression()
            self._needs(")")
            return found
        if self._takes("["):
            return Node("list", parts=self._until("]"))
        if self._takes("{"):
            return Node("map", parts=tuple(self._entries()))
        kind, text = self._tokens[self._at]
        if kind in ("number", "string"):
            self._at += 1
            return Node("literal", value=_number(text) if kind == "number" else _string(text))
        name = self._name()
        if name in _WORDS:
            return Node("literal", value=_WORDS[name])
        if not self._takes("("):
            return Node("name", name)
        arguments = self._until(")")
        if name == "has":
            if len(arguments) != 1 or arguments[0].kind != "member":
                raise Unsound("invalid argument to has() macro")
            return Node("has", arguments[0].word, arguments[0].parts)
        return Node("call", name, arguments, False)

    def _entries(self) -> list[Node]:
        found: list[Node] = []
        while not self._takes("}"):
            if found:
                self._needs(",")
            found.append(self.expression())
            self._needs(":")
            found.append(self.expression())
        return found


def _number(text: str) -> int | float:
    plain = text.rstrip("uU") if not text.lower().startswith("0x") or text[-1] in "uU" else text
    if plain.lower().startswith("0x"):
        return int(plain, 16)
    return float(plain) if set(plain) & set(".eE") else int(plain)


def _string(text: str) -> str:
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    width = 3 if body[:3] in ('"""', "'''") else 1
    inner = body[width:-width]
    return inner if raw else _ESCAPE.sub(_unescaped, inner)


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) == 1:
        return _ESCAPES.get(code, code)
    return chr(int(code, 8) if code[0].isdigit() else int(code[1:], 16))
