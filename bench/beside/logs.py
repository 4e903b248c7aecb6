"""Errors and warnings in logs of upstream's components, counted by what they say once names, numbers and times are left out."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

_HEADER = re.compile(r"^([EWF])\d{4} [\d:.]+ +\d+ ([\w.]+):\d+\] (.*)")
_SHAPES = (
    # A whole object, spelled as Go does: the message before it says what it is about.
    (re.compile(r"&\w+(\.\w+)?\{.*"), "<object>"),
    (re.compile(r'\\?"[a-z0-9.-]+(/[a-z0-9.-]+)?\\?"'), "<name>"),
    (re.compile(r"(in namespace|object=|namespace:) [a-z0-9-]+"), r"\1 <name>"),
    (re.compile(r"\[\\\".*?\]"), "<list>"),
    (re.compile(r"'[a-z0-9-]+'"), "<name>"),
    (re.compile(r"\b[a-z0-9-]+/[a-z0-9.-]+\b"), "<key>"),
    (re.compile(r"\d+"), "N"),
)
_LONGEST = 200


def shapes(path: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in path.read_text(errors="replace").splitlines():
        match = _HEADER.match(line)
        if match:
            level, source, text = match.groups()
            for pattern, name in _SHAPES:
                text = pattern.sub(name, text)
            found[f"{level} {source}: {text[:_LONGEST]}"] += 1
    return found


def table(watched: Iterable[Path], control: Iterable[Path]) -> Iterator[str]:
    ours: Counter[str] = sum((shapes(each) for each in watched), Counter())
    theirs: Counter[str] = sum((shapes(each) for each in control), Counter())
    if ours or theirs:
        yield f"{'here':>6} {'control':>8}  what is said"
    for shape in sorted({*ours, *theirs}, key=lambda each: (-ours[each], each)):
        yield f"{ours[shape]:>6} {theirs[shape]:>8}  {shape}"
