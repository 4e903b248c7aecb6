"""Reads Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?\d+))?\s*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPED = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float
    at: float | None
    """Seconds since the epoch, where it is told."""


def samples(text: str) -> Iterator[Sample]:
    """Lines that make no sense are left out: one bad line should not hide all others."""
    for line in text.splitlines():
        found = _LINE.fullmatch(line) if line and not line.startswith("#") else None
        if found is None:
            continue
        name, labels, value, stamp = found.groups()
        try:
            told = float(value)
        except ValueError:
            continue
        yield Sample(name, dict(_labels(labels or "")), told, int(stamp) / 1000 if stamp else None)


def _labels(text: str) -> Iterator[tuple[str, str]]:
    for found in _LABEL.finditer(text):
        yield found[1], re.sub(r'\\[n"\\]', lambda each: _ESCAPED[each[0]], found[2])
