"""Whether a pattern is one of Go's regular expressions (RE2), and in Go's words why it is not.

Python's own compiler would not do: it takes lookarounds and back references, which Go refuses, and refuses some that Go takes.
"""

import re
from dataclasses import dataclass

MOST_REPEATS = 1000

_HEX = re.compile(r"\\x(?:[0-9a-fA-F]{2}|\{[0-9a-fA-F]+\})")
_OCTAL = re.compile(r"\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})")
_PROPERTY = re.compile(r"\\[pP](?:\{\^?\w+\}|\w)")
_REPEAT = re.compile(r"\{(\d+)(,?)(\d*)\}")
_NAME = re.compile(r"\(\?P?<(\w+)>")
_FLAGS = re.compile(r"\(\?[imsU]*(?:-[imsU]+)?([:)])")
_CLASS = re.compile(r"\[:\^?([a-z]+):\]")
_CLASSES = frozenset(
    (
        "alnum",
        "alpha",
        "ascii",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "word",
        "xdigit",
    )
)
_LETTERS = frozenset("dDsSwWbBAzafnrtv")


class _Wrong(Exception):
    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


@dataclass(slots=True)
class _State:
    at: int = 0
    depth: int = 0
    repeatable: bool = False
    repeat_from: int = -1
    """Where the repetition began that has just been read; -1 if what has been read is none."""


def problem(pattern: str) -> str:
    """Empty for a good one."""
    state = _State()
    try:
        while state.at < len(pattern):
            _step(pattern, state)
        if state.depth:
            raise _Wrong("missing closing )", pattern)
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _step(pattern: str, state: _State) -> None:
    letter = pattern[state.at]
    repeat = _REPEAT.match(pattern, state.at) if letter == "{" else None
    if letter in "*+?" or repeat is not None:
        _repeat(pattern, state, repeat)
        return
    state.repeat_from = -1
    state.repeatable = letter not in "(|"
    if letter == "\\":
        state.at = _escape(pattern, state.at)
    elif letter == "[":
        state.at = _bracket(pattern, state.at)
    elif letter == "(":
        _group(pattern, state)
    elif letter == ")":
        if not state.depth:
            raise _Wrong("unexpected )", pattern)
        state.depth -= 1
        state.at += 1
    else:
        state.at += 1


def _repeat(pattern: str, state: _State, counted: "re.Match[str] | None") -> None:
    start = state.at
    end = counted.end() if counted else start + 1
    if pattern[end : end + 1] == "?":
        end += 1
    if counted is not None:
        least = int(counted[1])
        most = int(counted[3]) if counted[3] else least
        if least > MOST_REPEATS or most > MOST_REPEATS or most < least:
            raise _Wrong("invalid repeat count", counted[0])
    if not state.repeatable:
        raise _Wrong("missing argument to repetition operator", pattern[start:end])
    if state.repeat_from >= 0:
        raise _Wrong("invalid nested repetition operator", pattern[state.repeat_from : end])
    state.repeat_from, state.at = start, end


def _escape(pattern: str, at: int) -> int:
    if at + 1 == len(pattern):
        raise _Wrong("trailing backslash at end of expression", "")
    letter = pattern[at + 1]
    if letter == "Q":
        end = pattern.find("\\E", at)
        return len(pattern) if end < 0 else end + 2
    for known in (_HEX, _OCTAL, _PROPERTY):
        found = known.match(pattern, at)
        if found is not None:
            return found.end()
    if letter in _LETTERS or (letter.isascii() and not letter.isalnum()):
        return at + 2
    raise _Wrong("invalid escape sequence", pattern[at : at + 2])


def _bracket(pattern: str, start: int) -> int:
    at = start + 1
    if pattern[at : at + 1] == "^":
        at += 1
    first = True
    while at < len(pattern) and (first or pattern[at] != "]"):
        first = False
        named = _CLASS.match(pattern, at)
        if named is not None:
            if named[1] not in _CLASSES:
                raise _Wrong("invalid character class range", named[0])
            at = named.end()
            continue
        low_at, at = at, _member(pattern, at)
        if pattern[at : at + 1] != "-" or pattern[at + 1 : at + 2] in ("", "]"):
            continue
        high_at, at = at + 1, _member(pattern, at + 1)
        low, high = _plain(pattern[low_at : high_at - 1]), _plain(pattern[high_at:at])
        if low and high and high < low:
            raise _Wrong("invalid character class range", pattern[low_at:at])
    if at >= len(pattern):
        raise _Wrong("missing closing ]", pattern[start:])
    return at + 1


def _plain(member: str) -> str:
    """The letter that a member of a class stands for, where it is easily told."""
    if member[0] != "\\":
        return member
    return member[1] if len(member) == 2 and not member[1].isalnum() else ""


def _member(pattern: str, at: int) -> int:
    return _escape(pattern, at) if pattern[at] == "\\" else at + 1


def _group(pattern: str, state: _State) -> None:
    at = state.at
    state.at += 1
    if pattern[at : at + 2] != "(?":
        state.depth += 1
        return
    name = _NAME.match(pattern, at)
    flags = _FLAGS.match(pattern, at)
    if name is not None:
        state.at = name.end()
    elif flags is not None:
        state.at = flags.end()
        if flags[1] == ")":
            return
    else:
        raise _unknown_group(pattern[at:])
    state.depth += 1


def _unknown_group(rest: str) -> _Wrong:
    if rest.startswith(("(?P<", "(?<")):
        end = rest.find(">")
        return _Wrong("invalid named capture", rest if end < 0 else rest[: end + 1])
    plain = re.match(r"\(\?[imsU-]*", rest)
    end = (plain.end() if plain else 2) + 1
    return _Wrong("invalid or unsupported Perl syntax", rest[:end])
