"""Go's regular expressions; the words are those of kube-apiserver v1.36.4 when asked."""

import pytest

from tiphys.api.apiextensions.patterns import problem

GOOD = [
    "", "a", "^a$", "(a|b)*", "[[:alpha:]]+", "[^]a-z]", "(?i)a", "a(?i)b", "(?s-m:a)", r"\pL+", r"\p{Greek}", r"\Qa*+\E",
    r"\Qa(", "(?P<n>a)", "(?<n>a)", "a{2}", "a{2,}", "a{2,3}?", "a{,3}", "a{x}", r"\d\w\s\b", r"\x{41}\x41", r"\z", r"\A",
    r"[\w-z]", r"\012", "a*?", "(a*)*", "^*", r"[a\]b]", r"[A-\]]", "[a-]", "[]]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", GOOD)
def test_good_patterns(pattern):
    assert problem(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("(?!a)b", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?<!a)b", "invalid named capture: `(?<!a)b`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?>a)", "invalid or unsupported Perl syntax: `(?>`"),
        ("(?#c)a", "invalid or unsupported Perl syntax: `(?#`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\e", r"invalid escape sequence: `\e`"),
        (r"\u0041", r"invalid escape sequence: `\u`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("x*+", "invalid nested repetition operator: `*+`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(*a)", "missing argument to repetition operator: `*`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[a", "missing closing ]: `[a`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        (r"[a-\]]", r"invalid character class range: `a-\]`"),
        ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("a)", "unexpected ): `a)`"),
        ("(a", "missing closing ): `(a`"),
    ],
)
def test_bad_patterns(pattern, told):
    assert problem(pattern) == f"error parsing regexp: {told}"
