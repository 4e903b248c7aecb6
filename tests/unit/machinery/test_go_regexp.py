"""Patterns of schemas mean what they mean in Go. v1.36.4 is built with Go's regexp/syntax (RE2)."""

import pytest

from tiphys.machinery.go_regexp import matches


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^a$", ["a"], ["a\n", "ab"]),
        (r"(?m)^a$", ["a\nb", "b\na"], ["ab"]),
        ("b", ["abc"], ["ac"]),
        (r"^\d+$", ["12"], ["\u0661"]),
        (r"^[[:alpha:]]+$", ["aB"], ["a1"]),
        (r"^[^[:digit:]]+$", ["a"], ["1"]),
        (r"^[[:^digit:]]$", ["a"], ["1"]),
        (r"^\pL+$", ["\u00e4b"], ["1"]),
        (r"^[\p{L}-]+$", ["\u00e4-b"], ["1"]),
        (r"^\Qa.b\E$", ["a.b"], ["axb"]),
        (r"^\x{41}$", ["A"], ["B"]),
        (r"^(?P<x>a)$", ["a"], ["b"]),
        (r"^(?<x>a)$", ["a"], ["b"]),
        (r"^[]a]+$", ["]a"], ["b"]),
        (r"^[a[]+$", ["a["], ["]"]),
        (r"^[^]a]$", ["b"], ["]", "a"]),
        (r"\Aa\z", ["a"], ["a\n"]),
        (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", ["a-b.c"], ["a..b", "A"]),
        (r"^(?i)ab$", ["AB"], ["b"]),
        (r"^x(?i)a|b", ["xA", "cB"], ["XA"]),
        (r"^((?i)a)b$", ["Ab"], ["AB"]),
    ],
)
def test_what_a_pattern_takes(pattern, good, bad):
    assert [each for each in good if not matches(pattern, each)] == []
    assert [each for each in bad if matches(pattern, each)] == []
