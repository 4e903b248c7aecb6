"""What an expression comes to, found out before there are values: names, fields and operators that cannot be are refused.

Words and places are cel-go's. What stands for anything (dyn) fits everywhere; of functions that are not in the tables below
only their names are looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiphys.machinery.cel.functions import FUNCTIONS
from tiphys.machinery.cel.parsing import Node, Unsound, parse


@dataclass(frozen=True, slots=True)
class Type:
    name: str
    """bool, int, double, string, null, dyn, list, map, optional_type, or the name of an object."""
    parts: tuple["Type", ...] = ()
    """Of what a list, a map or an optional is."""
    fields: Mapping[str, "Type"] = field(default_factory=dict)
    """Of an object."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parts))})" if self.parts else self.name


BOOL, INT, DOUBLE, STRING, NULL, DYN = (Type(name) for name in ("bool", "int", "double", "string", "null", "dyn"))


def list_of(part: Type) -> Type:
    return Type("list", (part,))


def map_of(key: Type, part: Type) -> Type:
    return Type("map", (key, part))


_LITERALS = {bool: BOOL, int: INT, float: DOUBLE, str: STRING, type(None): NULL}
_NUMBERS = ("int", "double")
_ORDERED = (*_NUMBERS, "string", "bool")
_ADDED = (*_NUMBERS, "string", "list")
_OPERANDS = {"<": _ORDERED, "<=": _ORDERED, ">": _ORDERED, ">=": _ORDERED, "+": _ADDED, "-": _NUMBERS, "*": _NUMBERS}
_OPERANDS |= {"/": _NUMBERS, "%": ("int",)}
_OF_STRINGS = {
    "startsWith": BOOL,
    "endsWith": BOOL,
    "contains": BOOL,
    "matches": BOOL,
    "lowerAscii": STRING,
    "upperAscii": STRING,
    "trim": STRING,
    "split": list_of(STRING),
    "replace": STRING,
    "indexOf": INT,
}
"""Methods of strings, and what they come to."""
_RESULTS = {"size": INT, "string": STRING, "int": INT, "double": DOUBLE, "bool": BOOL, "join": STRING, "hasValue": BOOL}
_RESULTS |= {"isQuantity": BOOL, "isSemver": BOOL, "compareTo": INT, "isGreaterThan": BOOL, "isLessThan": BOOL}
_LOOPS = frozenset(("all", "exists", "exists_one", "map", "filter"))

_Scope = Mapping[str, Type]


def check(text: str, variables: _Scope) -> Type:
    """Raises Unsound, which tells all that is wrong."""
    checker = _Checker(text)
    found = checker.of(parse(text), variables)
    if checker.wrong:
        raise Unsound("\n".join(checker.wrong))
    return found


class _Checker:
    def __init__(self, text: str) -> None:
        self._text = text
        self.wrong: list[str] = []

    def _refuse(self, node: Node, told: str) -> Type:
        before = self._text[: node.at]
        line, column = before.count("\n") + 1, node.at - (before.rfind("\n") + 1)
        shown = self._text.split("\n")[line - 1].replace("\t", " ")
        self.wrong.append(f"ERROR: <input>:{line}:{column + 1}: {told}\n | {shown}\n | {'.' * column}^")
        return DYN

    def of(self, node: Node, scope: _Scope) -> Type:
        match node.kind:
            case "literal":
                return _LITERALS[type(node.value)]
            case "name":
                found = scope.get(node.word)
                return found or self._refuse(node, f"undeclared reference to '{node.word}' (in container '')")
            case "member":
                return self._member(node, self.of(node.parts[0], scope))
            case "optional":
                owner = self.of(node.parts[0], scope)
                found = self._member(node, owner)
                return found if owner.name == "optional_type" else Type("optional_type", (found,))
            case "index":
                return self._index(node, scope)
            case "has":
                self._member(node, self.of(node.parts[0], scope))
                return BOOL
            case "list":
                return list_of(self._same(node.parts, scope))
            case "map":
                return map_of(self._same(node.parts[::2], scope), self._same(node.parts[1::2], scope))
            case "choice":
                condition, first, second = (self.of(each, scope) for each in node.parts)
                if not _fits(condition, BOOL) or not _alike(first, second):
                    return self._no_overload(node, "_?_:_", condition, first, second)
                return _common([first, second])
            case "unary":
                return self._unary(node, scope)
            case "binary":
                return self._binary(node, scope)
        return self._called(node, scope)

    def _no_overload(self, node: Node, name: str, *given: Type, method: bool = False) -> Type:
        told = f"({', '.join(map(str, given[method:]))})"
        owner = f"{given[0]}." if method else ""
        return self._refuse(node, f"found no matching overload for '{name}' applied to '{owner}{told}'")

    def _same(self, nodes: Sequence[Node], scope: _Scope) -> Type:
        """What a literal lists is all of one type."""
        types = [self.of(each, scope) for each in nodes]
        for node, found in zip(nodes, types, strict=True):
            if not _fits(found, types[0]):
                return self._refuse(node, f"expected type '{types[0]}' but found '{found}'")
        return _common(types)

    def _truths(self, nodes: Sequence[Node], scope: _Scope) -> Type:
        for node in nodes:
            found = self.of(node, scope)
            if not _fits(found, BOOL):
                self._refuse(node, f"expected type 'bool' but found '{found}'")
        return BOOL

    def _member(self, node: Node, owner: Type) -> Type:
        if owner.name == "optional_type":
            return Type("optional_type", (self._member(node, owner.parts[0]),))
        if owner.name == "dyn":
            return DYN
        if owner.name == "map":
            return owner.parts[1]
        if not owner.fields:
            return self._refuse(node, f"type '{owner}' does not support field selection")
        return owner.fields.get(node.word) or self._refuse(node, f"undefined field '{node.word}'")

    def _index(self, node: Node, scope: _Scope) -> Type:
        owner, key = (self.of(each, scope) for each in node.parts)
        if owner.name == "list" and key.name in (*_NUMBERS, "dyn"):
            return owner.parts[0]
        if owner.name == "map" and _fits(key, owner.parts[0]):
            return owner.parts[1]
        return DYN if owner.name == "dyn" else self._no_overload(node, "_[_]", owner, key)

    def _unary(self, node: Node, scope: _Scope) -> Type:
        inner = self.of(node.parts[0], scope)
        wanted = ("bool",) if node.word == "!" else _NUMBERS
        if inner.name in (*wanted, "dyn"):
            return BOOL if node.word == "!" else inner
        return self._no_overload(node, f"{node.word}_", inner)

    def _binary(self, node: Node, scope: _Scope) -> Type:
        sign = node.word
        if sign in ("&&", "||"):
            return self._truths(node.parts, scope)
        left, right = (self.of(each, scope) for each in node.parts)
        if sign in ("==", "!="):
            good = _alike(left, right)
        elif sign == "in":
            good = right.name == "dyn" or (right.name in ("list", "map") and _alike(left, right.parts[0]))
        else:
            names = (*_OPERANDS[sign], "dyn")
            compared = sign in ("<", "<=", ">", ">=") and {left.name, right.name} <= set(_NUMBERS)
            good = left.name in names and right.name in names and (compared or _fits(left, right))
        if not good:
            return self._no_overload(node, "@in" if sign == "in" else f"_{sign}_", left, right)
        return _common([left, right]) if sign in ("+", "-", "*", "/", "%") else BOOL

    def _called(self, node: Node, scope: _Scope) -> Type:
        name, method = node.word, bool(node.value)
        if method and name == "bind" and len(node.parts) == 4:
            _, variable, bound, inner = node.parts
            return self.of(inner, {**scope, variable.word: self.of(bound, scope)})
        if method and name in _LOOPS and len(node.parts) == 3:
            return self._looped(node, scope)
        if name not in FUNCTIONS:
            return self._refuse(node, f"undeclared reference to '{name}' (in container '')")
        given = [self.of(each, scope) for each in node.parts]
        if name in _OF_STRINGS:
            texts = given[:2] if name in ("startsWith", "endsWith", "contains", "matches") else given[:1]
            if not given or not all(_fits(each, STRING) for each in texts):
                return self._no_overload(node, name, *given, method=method)
            return _OF_STRINGS[name]
        if name in ("orValue", "value") and given and given[0].name == "optional_type":
            return given[0].parts[0]
        return _RESULTS.get(name, DYN)

    def _looped(self, node: Node, scope: _Scope) -> Type:
        among = self.of(node.parts[0], scope)
        if among.name not in ("list", "map", "dyn"):
            told = f"expression of type '{among}' cannot be range of a comprehension (must be list, map, or dynamic)"
            return self._refuse(node.parts[0], told)
        item = among.parts[0] if among.parts else DYN
        inner = {**scope, node.parts[1].word: item}
        if node.word == "map":
            return list_of(self.of(node.parts[2], inner))
        self._truths(node.parts[2:], inner)
        return list_of(item) if node.word == "filter" else BOOL


def _fits(one: Type, other: Type) -> bool:
    if "dyn" in (one.name, other.name):
        return True
    if one.name != other.name or len(one.parts) != len(other.parts):
        return False
    return all(_fits(first, second) for first, second in zip(one.parts, other.parts, strict=True))


def _alike(one: Type, other: Type) -> bool:
    """Whether they can be compared: an object may be nothing."""
    return _fits(one, other) or (one.name == "null" and bool(other.fields)) or (other.name == "null" and bool(one.fields))


def _common(types: list[Type]) -> Type:
    return types[0] if types and all(each == types[0] for each in types) else DYN
