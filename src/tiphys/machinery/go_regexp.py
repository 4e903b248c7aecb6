"""Go's regular expressions (RE2) as Python's: what a schema's `pattern` means on Go must be what it means here."""

import re
from functools import lru_cache

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# Python's expressions know none of Unicode's categories: these are letters and digits of the scripts of Europe.
_LETTERS = "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02c1\u0370-\u03ff\u0400-\u052f\u3040-\u30ff\u4e00-\u9fff"
_PROPERTIES = {
    "L": _LETTERS,
    "Lu": "A-Z\u00c0-\u00d6\u00d8-\u00de",
    "Ll": "a-z\u00df-\u00f6\u00f8-\u00ff",
    "N": "0-9",
    "Nd": "0-9",
}

_PIECES = re.compile(
    r"""
    \\Q(?P<quoted>.*?)(?:\\E|\Z)
    | \\x\{(?P<hex>[0-9a-fA-F]+)\}
    | \\p(?:\{(?P<property>\w+)\}|(?P<letter>\w))
    | \[:(?P<negated>\^?)(?P<posix>[a-z]+):\]
    | \(\?<(?P<name>\w+)>
    | \(\?(?P<flags>[ims]+)\)
    | \\(?P<escaped>.)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


_OUTSIDE, _OPENED, _INSIDE = range(3)
"""Of brackets; a ] right after their opening stands for itself."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> "re.Pattern[str] | None":
    """None where Python cannot say it."""
    flags = re.match(r"\(\?([ims]+)\)", pattern)
    multiline = flags is not None and "m" in flags[1]
    made: list[str] = []
    place = _OUTSIDE
    # Flags hold up to the end of their group: in Python they need a group of their own. What is open, group by group:
    opened: list[list[str]] = [[]]
    for piece in _PIECES.finditer(pattern):
        if place == _OUTSIDE and piece.lastgroup == "flags":
            opened[-1].append(f"(?{piece['flags']}:")
            made.append(opened[-1][-1])
            continue
        text, place_after = _translated(piece, place, multiline)
        if place == _OUTSIDE and piece[0].startswith("("):
            opened.append([])
        elif place == _OUTSIDE and piece[0] == ")":
            text += ")" * len(opened.pop() if len(opened) > 1 else ())
        elif place == _OUTSIDE and piece[0] == "|":
            text = ")" * len(opened[-1]) + "|" + "".join(opened[-1])
        made.append(text)
        place = place_after
    made.append(")" * sum(map(len, opened)))
    try:
        # In Go \d, \w, \s and \b mean ASCII.
        return re.compile("".join(made), re.ASCII)
    except (re.error, OverflowError):
        return None


def matches(pattern: str, text: str) -> bool:
    """Whether `pattern` is found anywhere in `text`."""
    found = compiled(pattern)
    return found is None or found.search(text) is not None


def _translated(piece: "re.Match[str]", place: int, multiline: bool) -> tuple[str, int]:
    """The piece for Python, and where what follows stands."""
    kind = piece.lastgroup or "other"
    after = _INSIDE if place else _OUTSIDE
    if kind == "quoted":
        return re.escape(piece["quoted"]), after
    if kind == "hex":
        return re.escape(chr(int(piece["hex"], 16))), after
    if kind in ("property", "letter"):
        found = _PROPERTIES.get(piece[kind], _LETTERS)
        return (found if place else f"[{found}]"), after
    if kind == "posix":
        return _posix(piece, place), after
    if kind == "name":
        return f"(?P<{piece['name']}>", after
    if kind == "escaped":
        return ("\\Z" if piece["escaped"] == "z" and not place else piece[0]), after
    return _plain(piece["other"], place, multiline)


def _plain(letter: str, place: int, multiline: bool) -> tuple[str, int]:
    if place:
        if letter == "]" and place == _INSIDE:
            return letter, _OUTSIDE
        if letter == "^" and place == _OPENED:
            return letter, _OPENED
        return (f"\\{letter}" if letter in "[]&~|" else letter), _INSIDE
    if letter == "[":
        return letter, _OPENED
    # Without the flag m, Go's $ is the very end of the text; Python's would allow a line break after it.
    return ("\\Z" if letter == "$" and not multiline else letter), _OUTSIDE


def _posix(piece: "re.Match[str]", place: int) -> str:
    if not place:
        # Outside of brackets it is an ordinary bracket expression of these very letters.
        return f"[{re.escape(':' + piece['negated'] + piece['posix'] + ':')}]"
    members = _CLASSES.get(piece["posix"], "")
    if piece["negated"]:
        return "".join(re.escape(chr(code)) for code in range(128) if not re.match(f"[{members}]", chr(code)))
    return members
