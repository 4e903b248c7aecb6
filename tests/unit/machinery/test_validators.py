import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import validators

LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
)
LABEL_RE = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/validation/validation_test.go
@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (validators.dns1123_label, ["a", "0", "a-b", "a" * 63], ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64, "a\n", "é"]),
        (validators.dns1123_subdomain, ["a", "a.b", "0.a-b", "a" * 253], ["", ".", "a.", "a..b", "A", "a" * 254, "a\n"]),
        (validators.dns1123_subdomain_any_case, ["A.b"], ["", "A_b"]),
        (validators.dns1123_subdomain_with_underscore, ["_a.b_c"], ["", "a_", "A"]),
        (validators.wildcard_dns1123_subdomain, ["*.a", "*.a.b"], ["*", "a", "*.*.a", "*.", "a.*", "*." + "a" * 252]),
        (validators.dns1035_label, ["a", "a-1"], ["", "1", "a.b", "A", "a" * 64]),
        (
            validators.qualified_name,
            ["a", "A_b.C", "1", "a.b/c", "a/" + "c" * 63],
            ["", "/a", "a/", "a/b/c", "A/b", "a b", "c" * 64],
        ),
        (validators.label_value, ["", "a", "A_b.C", "1" * 63], ["-", "a b", "a/b", "1" * 64, "_"]),
        (validators.path_segment, ["a", "A:b", "..."], [".", "..", "a/b", "a%b"]),
        (validators.c_identifier, ["a", "_1"], ["", "1a", "a-b", "a.b"]),
        (validators.decimal_integer, ["0", "1", "-10"], ["", "-", "01", "-0", "+1", "1.0"]),
        (validators.port_number, [1, 65535], [0, 65536, -1]),
        (validators.user_id, [0, 2**31 - 1], [-1, 2**31]),
        (validators.port_name, ["http", "a1-b"], ["", "1", "-a", "a-", "a--b", "A", "a" * 16]),
        (validators.percent, ["0%", "100%"], ["", "%", "a%", "10"]),
        (validators.http_header_name, ["X-A"], ["", "X A", "a_b"]),
        (validators.env_var_name, ["A", "_a.b-c"], ["", "1a", ".", "..", "..a", "a b"]),
        (validators.relaxed_env_var_name, ["1 a!"], ["", "a=b", "é", "a\n"]),
        (validators.config_map_key, ["a", ".a", "A_b-c", "a" * 253], ["", ".", "..", "..a", "a/b", "a" * 254]),
    ],
)
def test_checks_of_values(check, good, bad):
    assert [each for each in good if check(each)] == []
    assert [each for each in bad if not check(each)] == []


@pytest.mark.parametrize(
    ("problems", "told"),
    [
        (
            validators.dns1123_label("A"),
            [f"{LABEL}alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL_RE}')"],
        ),
        (validators.dns1123_label("a.b"), ["must not contain dots"]),
        (
            validators.dns1123_subdomain("A" * 254),
            [
                "must be no more than 253 characters",
                f"{SUBDOMAIN}with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                rf"'{LABEL_RE}(\.{LABEL_RE})*')",
            ],
        ),
        (validators.label_value("a" * 64), ["must be no more than 63 bytes"]),
        (validators.qualified_name("a/" + "b" * 64), ["name part must be no more than 63 bytes"]),
        (validators.qualified_name("a" * 254 + "/b"), ["prefix part must be no more than 253 bytes"]),
        (validators.port_number(0), ["must be between 1 and 65535, inclusive"]),
        (validators.path_segment("%/"), ["may not contain '/'", "may not contain '%'"]),
        (validators.config_map_key(".."), ["must not be '..'"]),
        (validators.config_map_key("..a"), ["must not start with '..'"]),
    ],
)
def test_words(problems, told):
    assert problems == told


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go:30 and apis/meta/v1/validation/validation.go:240
@pytest.mark.parametrize(
    ("problems", "told"),
    [
        (validators.at_least_zero(-1, "a"), ["a: Invalid value: -1: must be greater than or equal to 0"]),
        (validators.at_least_zero(None, "a"), []),
        (validators.immutable(1, 2, "a"), ["a: Invalid value: 1: field is immutable"]),
        (validators.fully_qualified_name("", "a"), ["a: Required value"]),
        (
            validators.fully_qualified_name("x.y", "a"),
            ['a: Invalid value: "x.y": should be a domain with at least three segments separated by dots'],
        ),
        (validators.fully_qualified_name("x.y.z", "a"), []),
        (validators.fully_qualified_domain_name("x.y.", "a"), []),
        (
            validators.fully_qualified_domain_name("x", "a"),
            ['a: Invalid value: "x": should be a domain with at least two segments separated by dots'],
        ),
        (
            validators.domain_prefixed_path("x", "a"),
            ['a: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (validators.domain_prefixed_path("x.y/z/w", "a"), []),
        (
            validators.domain_prefixed_key("x", "a"),
            ['a: Invalid value: "x": must be a domain-prefixed key (such as "acme.io/foo")'],
        ),
        (validators.domain_prefixed_key("x.y/z", "a"), []),
        (validators.conditions([{"type": "A", "status": "True", "reason": "R", "lastTransitionTime": "t"}], "a"), []),
        (
            validators.conditions(
                [{"type": "A", "observedGeneration": -1}, {"type": "A", "status": "True", "reason": "1"}], "c"
            ),
            [
                'c[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
                "c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
                "c[0].lastTransitionTime: Required value",
                "c[0].reason: Required value",
                'c[1].type: Duplicate value: "A"',
                "c[1].lastTransitionTime: Required value",
                'c[1].reason: Invalid value: "1": a condition reason must start with alphabetic character, optionally followed '
                "by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' "
                "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for "
                "validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
            ],
        ),
    ],
)
def test_checks_of_fields(problems, told):
    assert [str(each) for each in problems] == told


@given(st.text(max_size=70))
def test_labels_agree_with_names(text):
    # Whatever is a label is a subdomain, a label value and a label key.
    if not validators.dns1123_label(text):
        assert not validators.dns1123_subdomain(text)
        assert not validators.label_value(text)
        assert not validators.qualified_name(text)
        assert re.fullmatch(LABEL_RE, text)
