"""From the text of an expression to its tree: what binds closer stands deeper."""

import re
from dataclasses import dataclass, field
from typing import Any


class Unsound(ValueError):
    """The text is no expression."""


@dataclass(frozen=True, slots=True)
class Node:
    kind: str
    """literal, name, member, optional, index, call, list, map, unary, binary, choice, or has."""
    word: str = ""
    """Name, operator or function."""
    parts: tuple["Node", ...] = ()
    value: Any = None
    at: int = field(default=0, compare=False)
    """Where in the text: of a name its first letter, of a function its parenthesis, else the operator."""


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


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found, at = [], 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unsound(f"syntax error at {text[at : at + 20].strip()!r}")
        kind = match.lastgroup or "end"
        found.append((kind, match.group(kind), match.start(kind)))
        at = match.end()
        if kind == "end":
            return found


class _Parser:
    def __init__(self, tokens: list[tuple[str, str, int]]) -> None:
        self._tokens = tokens
        self._at = 0

    def end(self) -> None:
        if self._tokens[self._at][0] != "end":
            raise Unsound(f"unexpected {self._tokens[self._at][1]!r}")

    @property
    def _before(self) -> int:
        """Where in the text the token stands that was taken last."""
        return self._tokens[self._at - 1][2]

    def _takes(self, *signs: str) -> str:
        kind, text, _ = self._tokens[self._at]
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
        at, first = self._before, self._level(0)
        self._needs(":")
        return Node("choice", parts=(condition, first, self.expression()), at=at)

    def _level(self, at: int) -> Node:
        if at == len(_LEVELS):
            return self._unary()
        left = self._level(at + 1)
        while sign := self._takes(*_LEVELS[at]):
            here = self._before
            left = Node("binary", sign, (left, self._level(at + 1)), at=here)
        return left

    def _unary(self) -> Node:
        sign = self._takes("!", "-")
        if not sign:
            return self._member()
        at = self._before
        return Node("unary", sign, (self._unary(),), at=at)

    def _member(self) -> Node:
        found = self._primary()
        while sign := self._takes(".", "["):
            at = self._before
            if sign == "[":
                found = Node("index", parts=(found, self.expression()), at=at)
                self._needs("]")
            elif self._takes("?"):
                found = Node("optional", self._name(), (found,), at=at)
            else:
                found = self._dotted(found, at)
        return found

    def _dotted(self, found: Node, at: int) -> Node:
        name = self._name()
        if not self._takes("("):
            return Node("member", name, (found,), at=at)
        at = self._before
        return Node("call", name, (found, *self._until(")")), True, at)

    def _name(self) -> str:
        kind, text, _ = self._tokens[self._at]
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
            at = self._before
            return Node("list", parts=self._until("]"), at=at)
        if self._takes("{"):
            at = self._before
            return Node("map", parts=tuple(self._entries()), at=at)
        kind, text, at = self._tokens[self._at]
        if kind in ("number", "string"):
            self._at += 1
            return Node("literal", value=_number(text) if kind == "number" else _string(text), at=at)
        name = self._name()
        if name in _WORDS:
            return Node("literal", value=_WORDS[name], at=at)
        if not self._takes("("):
            return Node("name", name, at=at)
        at, arguments = self._before, self._until(")")
        if name == "has":
            if len(arguments) != 1 or arguments[0].kind != "member":
                raise Unsound("invalid argument to has() macro")
            return Node("has", arguments[0].word, arguments[0].parts, at=at)
        return Node("call", name, arguments, False, at)

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
