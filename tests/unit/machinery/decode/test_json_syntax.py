import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery.decode.json_syntax import syntax_problem


# Go 1.26, encoding/json/scanner.go
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ('{"a":1', "unexpected end of JSON input"),
        ("tru", "unexpected end of JSON input"),
        ("hello", "invalid character 'h' looking for beginning of value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{a}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ('"\t"', r"invalid character '\t' in string literal"),
        (r'"\q"', "invalid character 'q' in string escape code"),
        (r'"\u12g4"', r"invalid character 'g' in \u hexadecimal character escape"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("'a'", r"invalid character '\'' looking for beginning of value"),
        ("[" * 10001, "exceeded max depth"),
    ],
)
def test_words(text, told):
    assert syntax_problem(text.encode()) == told


@given(st.recursive(st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists))
def test_nothing_is_wrong_with_json(value):
    assert syntax_problem(json.dumps(value).encode()) == ""


@given(st.text('[]{}",:0123e.-tru nlfase\\', max_size=12))
def test_finds_something_wrong_where_another_parser_does(text):
    try:
        json.loads(text)
    except ValueError:
        assert syntax_problem(text.encode()) != ""
    else:
        assert syntax_problem(text.encode()) == ""
