"""Files of environment variables, of which a container takes one by its name.

Only `NAME='value'` is understood: values stand in single quotes and may go over several lines; `#` begins a comment.
https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-via-file/
"""

from collections.abc import Iterator


class BadFile(ValueError):
    """What is wrong with it, and where."""


def value_of(text: str, key: str) -> str:
    """The first of that name; empty where there is none."""
    lines = iter(enumerate(text.split("\n"), start=1))
    for number, raw in lines:
        line = raw.rstrip("\r").lstrip(" \t")
        if not line or line.startswith("#"):
            continue
        name, equals, rest = line.partition("=")
        if not equals:
            raise _wrong(number, "missing '='")
        if not name.strip(" \t"):
            raise _wrong(number, "empty variable name")
        if name != name.rstrip(" \t"):
            raise _wrong(number, "whitespace before '=' is not allowed")
        # As in a shell, a space after the sign ends the assignment.
        value = "" if rest[:1] in (" ", "\t") else _quoted(rest, number, lines)
        if name == key:
            return value
    return ""


def _quoted(rest: str, number: int, lines: Iterator[tuple[int, str]]) -> str:
    if not rest.startswith("'"):
        raise _wrong(number, "value must be enclosed in single quotes")
    held, began = rest[1:], number
    while "'" not in held:
        following = next(lines, None)
        if following is None:
            raise BadFile(f"invalid environment variable format starting at line {began}: unclosed single quote")
        number = following[0]
        held = f"{held}\n{following[1]}"
    value, _, after = held.partition("'")
    if after.strip(" \t\r") and not after.lstrip(" \t").startswith("#"):
        raise _wrong(number, "unexpected content after closing quote")
    return value


def _wrong(number: int, words: str) -> BadFile:
    return BadFile(f"invalid environment variable format at line {number}: {words}")
