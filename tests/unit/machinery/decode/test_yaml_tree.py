import re

import pytest

from tiphys.machinery.decode.problems import Refused
from tiphys.machinery.decode.yaml_tree import read_yaml


def read(text):
    return read_yaml(text.encode(), 300)[0]


# v1.36.4 vendor/go.yaml.in/yaml/v2/resolve.go and vendor/sigs.k8s.io/yaml/yaml.go
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("n", False),
        ("~", None),
        ("''", ""),
        ("'yes'", "yes"),
        ("12", 12),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0b11", 3),
        ("0o17", 15),
        ("017", 15),
        ("08", 8),
        ("-5", -5),
        ("1.0", 1),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000),
        ("18446744073709551615", 2**64 - 1),
        ("1:30", "1:30"),
        ("2026-01-02", "2026-01-02"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("1.2.3", "1.2.3"),
        ("+x", "+x"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!!float 5", 5),
        ("!mine x", "x"),
        ("|\n  12\n", "12\n"),
        ("=", "="),
        ("<<", "<<"),
        ("[<<]", ["<<"]),
    ],
)
def test_values(text, value):
    found = read(text)
    assert found == value
    assert type(found) is type(value)


def test_collections():
    assert read("a: [1, {b: c}]\n3: x\ntrue: y\n1.5: z") == {"a": [1, {"b": "c"}], "3": "x", "true": True, "1.5": "z"}
    assert read("a: 1\n---\nb: 2") == {"a": 1}


def test_anchors_and_merges():
    text = "base: &base {a: 1, b: 2}\none:\n  <<: *base\n  a: 3\nlist: [*base, *base]\nboth:\n  <<: [{c: 1}, *base]"
    found = read(text)
    assert found["one"] == {"a": 3, "b": 2}
    assert found["both"] == {"c": 1, "a": 1, "b": 2}
    assert found["list"][0] == found["list"][1] == {"a": 1, "b": 2}
    assert found["list"][0] is not found["list"][1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("*x", "yaml: unknown anchor 'x' referenced"),
        ("&x [*x]", "yaml: anchor 'x' value contains itself"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("~: 1", "unsupported map key"),
        ("[1]: 2", "yaml: invalid map key"),
        ("<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
        ("!!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: \x07", "yaml: control characters are not allowed"),
        ("a: 'b", "yaml: found unexpected end of stream"),
    ],
)
def test_refuses(text, told):
    with pytest.raises(Refused, match=re.escape(told)):
        read(text)


def test_expansion_is_limited():
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in range(1, 12):
        text += f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n"
    with pytest.raises(Refused, match="excessive aliasing"):
        read(text)
