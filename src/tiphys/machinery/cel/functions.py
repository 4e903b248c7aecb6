"""Functions of expressions, on values as Python has them: the language's own, and Kubernetes' for amounts and versions."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from tiphys.machinery import go_regexp, quantity
from tiphys.machinery.quantity import Quantity


class Trouble(Exception):
    """The expression has no value for these variables."""


@dataclass(frozen=True, slots=True)
class Optional:
    """What `a.?b` comes to."""

    present: bool
    value: Any = None


NOTHING = Optional(False)


def _certain(found: Optional) -> Any:
    if not found.present:
        raise Trouble("optional.none() dereference")
    return found.value


_SEMVER = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """https://semver.org: what follows a plus sign does not count."""

    release: tuple[int, ...]
    pre: tuple[tuple[bool, int, str], ...]

    def _key(self) -> tuple[Any, ...]:
        return self.release, not self.pre, self.pre

    def __lt__(self, other: "Version") -> bool:
        return bool(self._key() < other._key())


def version(text: str) -> Version:
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise Trouble(f"invalid semantic version {text!r}")
    pre = (match.group(4) or "").split(".") if match.group(4) else []
    # Numbers sort before words, and as numbers.
    ranked = tuple((not each.isdecimal(), int(each) if each.isdecimal() else 0, each) for each in pre)
    return Version(tuple(int(match.group(at)) for at in (1, 2, 3)), ranked)


def _quantity(text: str) -> Quantity:
    try:
        return quantity.parse(text)
    except ValueError as problem:
        raise Trouble(str(problem)) from None


def _compare(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _is_sound(make: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            make(text)
        except Trouble:
            return False
        return True

    return check


def _int(value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise Trouble("type conversion error from 'string' to 'int'") from None


def _string(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _contains(one: str, other: str) -> bool:
    return other in one


def _matches(text: str, pattern: str) -> bool:
    found = go_regexp.compiled(pattern)
    if found is None:
        raise Trouble(f"error parsing regexp: {pattern!r}")
    return found.search(text) is not None


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "size": len,
    "string": _string,
    "int": _int,
    "double": float,
    "bool": lambda value: value is True or value == "true",
    "type": type,
    "dyn": lambda value: value,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": _contains,
    "matches": _matches,
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "split": str.split,
    "replace": str.replace,
    "join": lambda parts, by="": by.join(parts),
    "indexOf": str.find,
    "quantity": _quantity,
    "isQuantity": _is_sound(_quantity),
    "semver": version,
    "isSemver": _is_sound(version),
    "compareTo": _compare,
    "isGreaterThan": lambda one, other: one > other,
    "isLessThan": lambda one, other: one < other,
    "asInteger": lambda value: value.value(),
    "asApproximateFloat": lambda value: float(value.milli()) / 1000,
    "sign": lambda value: _compare(value, quantity.ZERO),
    "major": lambda value: value.release[0],
    "minor": lambda value: value.release[1],
    "patch": lambda value: value.release[2],
    "hasValue": lambda found: found.present,
    "value": _certain,
    "orValue": lambda found, other: found.value if found.present else other,
}


def call(name: str, arguments: Sequence[Any]) -> Any:
    found = FUNCTIONS.get(name)
    if found is None:
        raise Trouble(f"unknown function {name!r}")
    try:
        return found(*arguments)
    except (TypeError, AttributeError):
        raise Trouble("no such overload") from None
