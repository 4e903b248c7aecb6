import pytest

from tiphys.api import ip


def told(problems):
    return [problem.detail for problem in problems]


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/validation/ip_test.go:27
@pytest.mark.parametrize(
    ("value", "legacy", "strict"),
    [
        ("1.2.3.4", [], []),
        ("2001:db8::1", [], []),
        ("::1", [], []),
        ("2001:DB8::1", [], ['must be in canonical form ("2001:db8::1")']),
        ("2001:db8:0:0:0::1", [], ['must be in canonical form ("2001:db8::1")']),
        ("01.2.3.4", ["must not have leading 0s"], ["must not have leading 0s"]),
        ("::ffff:1.2.3.4", ["must not be an IPv4-mapped IPv6 address"], ["must not be an IPv4-mapped IPv6 address"]),
        ("fe80::1%eth0", [ip._legacy_problem("x")], [ip._legacy_problem("x")]),
        ("1.2.3", [ip._legacy_problem("x")], [ip._legacy_problem("x")]),
        ("1.2.3.4/8", [ip._legacy_problem("x")], [ip._legacy_problem("x")]),
        ("", [ip._legacy_problem("x")], [ip._legacy_problem("x")]),
    ],
)
def test_addresses(value, legacy, strict):
    assert told(ip.validate_legacy(value, "at")) == legacy
    assert told(ip.validate_strict(value, "at")) == strict


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/validation/ip_test.go:300
@pytest.mark.parametrize(
    ("value", "legacy", "strict"),
    [
        ("1.2.3.0/24", [], []),
        ("0.0.0.0/0", [], []),
        ("2001:db8::/32", [], []),
        ("2001:DB8::/32", [], ['must be in canonical form ("2001:db8::/32")']),
        (
            "1.2.3.4/24",
            ["must not have bits set beyond the prefix length"],
            ["must not have bits set beyond the prefix length"],
        ),
        (
            "1.2.3.0/024",
            ["must not have leading 0s in IP or prefix length"],
            ["must not have leading 0s in IP or prefix length"],
        ),
        (
            "01.2.3.0/24",
            ["must not have leading 0s in IP or prefix length"],
            ["must not have leading 0s in IP or prefix length"],
        ),
        ("1.2.3.0/33", [ip._legacy_cidr_problem("x")], [ip._legacy_cidr_problem("x")]),
        ("1.2.3.0", [ip._legacy_cidr_problem("x")], [ip._legacy_cidr_problem("x")]),
        ("1.2.3.0/+24", [ip._legacy_cidr_problem("x")], [ip._legacy_cidr_problem("x")]),
    ],
)
def test_cidrs(value, legacy, strict):
    assert told(ip.validate_legacy_cidr(value, "at")) == legacy
    assert told(ip.validate_strict_cidr(value, "at")) == strict


# v1.36.4 pkg/apis/core/validation/validation.go:8404 (ValidateEndpointIP)
@pytest.mark.parametrize(
    ("value", "start"),
    [
        ("10.0.0.1", None),
        ("2001:db8::1", None),
        ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
        ("::", "may not be unspecified (::)"),
        ("127.1.2.3", "may not be in the loopback range"),
        ("::1", "may not be in the loopback range"),
        ("169.254.169.254", "may not be in the link-local range"),
        ("fe80::1", "may not be in the link-local range"),
        ("224.0.0.5", "may not be in the link-local multicast range"),
        ("ff02::1", "may not be in the link-local multicast range"),
        ("224.0.1.5", None),
        ("ff05::1", None),
        ("x", "must be a valid IP address"),
    ],
)
def test_where_traffic_may_go(value, start):
    problems = told(ip.validate_endpoint(value, "at"))
    assert [problem.startswith(start) for problem in problems] == ([True] if start else [])


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/validation/ip_test.go:213
@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("1.2.3.4", []),
        ("2001:db8::1", []),
        ("010.2.3.4", ['at: non-standard IP address "010.2.3.4" is invalid: use "10.2.3.4"']),
        ("::ffff:1.2.3.4", ['at: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"']),
        ("2001:DB8::1", ['at: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")']),
        ("bad", []),
    ],
)
def test_warnings(value, warning):
    assert list(ip.warnings(value, "at")) == warning


@pytest.mark.parametrize(
    ("value", "warning"),
    [
        ("1.2.3.0/24", []),
        ("1.2.3.4/24", ['at: CIDR value "1.2.3.4/24" is ambiguous in this context (should be "1.2.3.0/24" or "1.2.3.4/32"?)']),
        ("01.2.3.0/24", ['at: non-standard CIDR value "01.2.3.0/24" is invalid: use "1.2.3.0/24"']),
        ("2001:DB8::/32", ['at: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")']),
        ("bad", []),
    ],
)
def test_cidr_warnings(value, warning):
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/validation/ip_test.go:480
    assert list(ip.cidr_warnings(value, "at")) == warning


@pytest.mark.parametrize(
    ("value", "family"),
    [
        ("1.2.3.4", "IPv4"),
        ("::1", "IPv6"),
        ("::ffff:1.2.3.4", "IPv4"),
        ("1.2.3.0/24", "IPv4"),
        ("fd00::/8", "IPv6"),
        ("x", None),
    ],
)
def test_family(value, family):
    # k8s.io/utils net: IPFamilyOfString, IPFamilyOfCIDRString.
    assert ip.family(value) == family
