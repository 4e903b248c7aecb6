import pytest

from tiphys.machinery import fields
from tiphys.machinery.fields import OMIT, quote, show


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go:110
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("a", '"a"'),
        ("é<\n\x00\"\\'", '"é<\\n\\x00\\"\\\\\'"'),
        ("\u200b\U000e0001", r'"\u200b\U000e0001"'),
        (5, "5"),
        (1.0, "1"),
        (0.5, "0.5"),
        (1e21, "1e+21"),
        (True, "true"),
        (None, "null"),
        (["a", "<b>"], r'["a","\u003cb\u003e"]'),
        ({"b": 1, "a": {"c": None}}, '{"a":{"c":null},"b":1}'),
    ],
)
def test_shows_values_as_go_does(value, told):
    assert show(value) == told


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (fields.not_found("a", "x"), 'a: Not found: "x"'),
        (fields.required("a"), "a: Required value"),
        (fields.required("a", "b"), "a: Required value: b"),
        (fields.duplicate("a", "x"), 'a: Duplicate value: "x"'),
        (fields.invalid("a", 3, "too odd"), "a: Invalid value: 3: too odd"),
        (fields.invalid("a", OMIT, "too odd"), "a: Invalid value: too odd"),
        (fields.type_invalid("a", "x", "y"), 'a: Invalid value: "x": y'),
        (fields.not_supported("a", "x", ("p", "q")), 'a: Unsupported value: "x": supported values: "p", "q"'),
        (fields.not_supported("a", "x", ()), 'a: Unsupported value: "x"'),
        (fields.forbidden("a", "no"), "a: Forbidden: no"),
        (fields.too_long("a", 1), "a: Too long: may not be more than 1 byte"),
        (fields.too_long("a", 2), "a: Too long: may not be more than 2 bytes"),
        (fields.too_long("a", -1), "a: Too long: value is too long"),
        (fields.too_long_characters("a", 2), "a: Too long: may not be more than 2 characters"),
        (fields.too_many("a", 3, 1), "a: Too many: 3: must have at most 1 item"),
        (fields.too_many("a", -1, 2), "a: Too many: must have at most 2 items"),
        (fields.too_many("a", 3, -1), "a: Too many: 3: has too many items"),
        (fields.internal("a", "b"), "a: Internal error: b"),
    ],
)
def test_words(problem, told):
    assert str(problem) == told


def test_paths():
    assert fields.child("", "a", "b") == "a.b"
    assert fields.child(fields.index("a", 1), "b") == "a[1].b"
    assert fields.key("a", "b") == "a[b]"


def test_quote_leaves_plain_text_alone():
    assert quote("plain") == '"plain"'
