"""JSONPath as printer columns and selectable fields use it: `.status.conditions[?(@.type=="Ready")].status`.

What there is of it: fields (`.a`, `['a']`), `*`, `..`, indexes and slices of lists, unions of names, filters that compare a
path with a value or ask whether it is there. Missing fields find nothing and are no error.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

Step = Callable[[Iterable[Any]], Iterator[Any]]

_FIELD = re.compile(r"\.?((?:\\.|[^.\[\]\s\\])+)")
_SLICE = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d+))?")
_COMPARISON = re.compile(r"(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)", re.DOTALL)


class BadPath(ValueError):
    """What is wrong with the text of a path."""


@lru_cache(maxsize=2048)
def compiled(path: str) -> tuple[Step, ...]:
    """The steps of a path with or without the braces of a template. Raises BadPath."""
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1].strip()
    steps: list[Step] = []
    at = 1 if text.startswith(("$", "@")) else 0
    while at < len(text):
        step, at = _next(text, at)
        if step is not None:
            steps.append(step)
    return tuple(steps)


def find(path: str, value: Any) -> list[Any]:
    found: Iterable[Any] = (value,)
    for step in compiled(path):
        found = step(found)
    return list(found)


def _next(text: str, at: int) -> tuple[Step | None, int]:
    if text.startswith("..", at):
        return _descend, at + 1 if text[at + 2 : at + 3] != "[" else at + 2
    if text[at] == "[":
        end = _closing(text, at)
        return _bracket(text[at + 1 : end].strip()), end + 1
    if text[at] == "." and text[at + 1 : at + 2] in ("", "["):
        return None, at + 1
    found = _FIELD.match(text, at)
    if found is None:
        raise BadPath(f"unrecognized character in path: {text[at:]}")
    name = re.sub(r"\\(.)", r"\1", found[1])
    return (_all if name == "*" else _field(name)), found.end()


def _closing(text: str, start: int) -> int:
    depth, quote, at = 0, "", start
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[(":
            depth += 1
        elif letter in ")]":
            depth -= 1
            if not depth:
                return at
        at += 1
    raise BadPath("unterminated array")


def _bracket(inside: str) -> Step:
    if inside.startswith("?(") and inside.endswith(")"):
        return _filter(inside[2:-1].strip())
    if inside == "*":
        return _all
    if inside[:1] in ("'", '"'):
        return _field(*(_unquoted(each) for each in _listed(inside)))
    if re.fullmatch(r"-?\d+(\s*,\s*-?\d+)*", inside):
        return _index(*(int(each) for each in inside.split(",")))
    found = _SLICE.fullmatch(inside)
    if found is None:
        raise BadPath(f"invalid array index {inside}")
    first, last, step = (int(each) if each else None for each in found.groups())
    return _slice(slice(first, last, step))


def _listed(text: str) -> Iterator[str]:
    for found in re.finditer(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", text):
        yield found[0]


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _field(*names: str) -> Step:
    def step(values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            if isinstance(value, dict):
                yield from (value[name] for name in names if name in value)

    return step


def _index(*positions: int) -> Step:
    def step(values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            if isinstance(value, list):
                yield from (value[each] for each in positions if -len(value) <= each < len(value))

    return step


def _slice(wanted: slice) -> Step:
    def step(values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            if isinstance(value, list):
                yield from value[wanted]

    return step


def _all(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, dict):
            yield from (value[name] for name in sorted(value))
        elif isinstance(value, list):
            yield from value


def _descend(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield value
        yield from _descend(_all((value,)))


def _filter(condition: str) -> Step:
    found = _COMPARISON.fullmatch(condition)
    left, compare, right = (found[1], _COMPARE[found[2]], found[3]) if found else (condition, None, "")
    read, wanted = _operand(left), _operand(right) if right else None

    def admits(item: Any) -> bool:
        ours = read(item)
        if compare is None or wanted is None:
            return bool(ours)
        theirs = wanted(item)
        return bool(ours) and bool(theirs) and compare(ours[0], theirs[0])

    def step(values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            if isinstance(value, list):
                yield from (item for item in value if admits(item))

    return step


def _operand(text: str) -> Callable[[Any], list[Any]]:
    text = text.strip()
    if text.startswith("@"):
        return lambda item: find(text, item)
    if text[:1] in ("'", '"'):
        constant: Any = _unquoted(text)
    else:
        try:
            constant = json.loads(text)
        except ValueError:
            raise BadPath(f"unrecognized identifier {text}") from None
    return lambda _item: [constant]


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(one: Any, other: Any) -> bool:
        try:
            return compare(one, other)
        except TypeError:
            return False

    return check


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": _ordered(lambda one, other: one < other),
    ">": _ordered(lambda one, other: one > other),
    "<=": _ordered(lambda one, other: one <= other),
    ">=": _ordered(lambda one, other: one >= other),
}
