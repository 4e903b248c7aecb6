"""Expressions: https://github.com/google/cel-spec/blob/master/doc/langdef.md."""

import pytest

from tiphys.machinery import quantity
from tiphys.machinery.cel import Trouble, Unsound, compiled
from tiphys.machinery.cel.functions import version

VARIABLES = {
    "device": {
        "driver": "gpu.example.com",
        "attributes": {"gpu.example.com": {"model": "a100", "size": 40, "version": version("1.10.0")}},
        "capacity": {"gpu.example.com": {"memory": quantity.parse("40Gi")}},
    }
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"', True),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("40960Mi"))', 0),
        ('device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.9.3"))', True),
        ('semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))', True),
        ('has(device.attributes["gpu.example.com"].nothing)', False),
        ("1 + 2 * 3 == 7 && !(2 > 3)", True),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("true ? 'y' : 'n'", "y"),
        ("[1, 2, 3].exists(x, x > 2) && [1, 2].all(x, x < 3) && [1, 2].exists_one(x, x == 2)", True),
        ("[1, 2, 3].filter(x, x % 2 == 1).map(x, x * 10)", [10, 30]),
        ("2 in [1, 2] && 'k' in {'k': 1}", True),
        ('cel.bind(d, device.attributes["gpu.example.com"], d.size >= 40 ? "large" : "small")', "large"),
        (r'"a\tb\u00e9" == "a	bé" && r"\d" == "\\d"', True),
        ('"A100".lowerAscii().matches("^a[0-9]+$") && "abc".contains("b")', True),
        ("1 == 1.0 && 1 != true", True),
        # Whichever side decides, decides.
        ("device.nothing == 1 || true", True),
        ("device.nothing == 1 && false", False),
    ],
)
def test_values(text: str, expected: object):
    assert compiled(text)(VARIABLES) == expected


@pytest.mark.parametrize("text", ["", "1 +", "(1", "a.", "'open", "has(x)", "1 2", "[1, 2", "{1: 2"])
def test_what_is_no_expression(text: str):
    with pytest.raises(Unsound):
        compiled(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("device.nothing", "no such key: nothing"),
        ("unknown", "undeclared reference to 'unknown'"),
        ("1 / 0", "division by zero"),
        ("1 < 'a'", "no such overload"),
        ("1 ? 2 : 3", "no such overload"),
        ("[1][2]", "index out of bounds: 2"),
        ("semver('x')", "invalid semantic version 'x'"),
        ("nobody(1)", "unknown function 'nobody'"),
    ],
)
def test_what_has_no_value(text: str, words: str):
    with pytest.raises(Trouble, match=words):
        compiled(text)(VARIABLES)
