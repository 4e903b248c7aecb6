"""Files of variables (v1.36.4 pkg/kubelet/util/env/env_util_test.go)."""

import pytest

from tiphys.kubelet.pods.env_file import BadFile, value_of

FILE = """
# a comment
  FIRST='one' # and more
LONG='two
lines'
EMPTY=''
SPACED= 'not taken'
LITERAL='$HOME \\n "x"'
"""


@pytest.mark.parametrize(
    ("key", "value"),
    [("FIRST", "one"), ("LONG", "two\nlines"), ("EMPTY", ""), ("SPACED", ""), ("LITERAL", '$HOME \\n "x"'), ("OTHER", "")],
)
def test_values(key, value):
    assert value_of(FILE, key) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A", "at line 1: missing '='"),
        ("='x'", "at line 1: empty variable name"),
        ("\nA ='x'", "at line 2: whitespace before '=' is not allowed"),
        ("A=x", "at line 1: value must be enclosed in single quotes"),
        ("A='x' y", "at line 1: unexpected content after closing quote"),
        ("A='x\ny", "starting at line 1: unclosed single quote"),
    ],
)
def test_what_is_wrong_with_a_file(text, words):
    with pytest.raises(BadFile, match=words):
        value_of(text, "B")
