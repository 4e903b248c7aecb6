import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity, canonical, parse


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/api/resource/quantity_test.go and quantity.go:276 (what is kept as written)
@pytest.mark.parametrize(
    ("text", "told", "whole", "milli"),
    [
        ("0", "0", 0, 0),
        ("100m", "100m", 1, 100),
        ("0100m", "0100m", 1, 100),
        ("+5", "+5", 5, 5000),
        (" 5 ", "5", 5, 5000),
        ("1.0", "1", 1, 1000),
        ("1.500", "1.500", 2, 1500),
        ("1.5", "1500m", 2, 1500),
        (".5", "500m", 1, 500),
        ("0.5", "500m", 1, 500),
        ("1000", "1k", 1000, 1000000),
        ("1000000", "1M", 1000000, 1000000000),
        ("1.5Gi", "1536Mi", 1610612736, 1610612736000),
        ("1024Ki", "1Mi", 1048576, 1048576000),
        ("1023Ki", "1023Ki", 1047552, 1047552000),
        ("0.5Ki", "512", 512, 512000),
        ("0.0005Ki", "512m", 1, 512),
        ("1.1Ki", "1126400m", 1127, 1126400),
        ("1e3", "1e3", 1000, 1000000),
        ("1000e0", "1e3", 1000, 1000000),
        ("12E6", "12E6", 12000000, 12000000000),
        ("0.1n", "1n", 1, 1),
        ("-0.1n", "-1n", -1, -1),
        ("1e-1000000", "1e-9", 1, 1),
        ("8Ei", "9223372036854775807", 2**63 - 1, 2**63 - 1),
        ("-8Ei", "-9223372036854775807", -(2**63) + 1, -(2**63)),
        ("m", "0", 0, 0),
        ("1E", "1E", 10**18, 2**63 - 1),
    ],
)
def test_reads_and_spells(text, told, whole, milli):
    assert canonical(text) == told
    assert parse(text).value() == whole
    assert parse(text).milli() == milli


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", quantity.WRONG_FORMAT),
        ("abc", quantity.WRONG_FORMAT),
        ("1..2", quantity.WRONG_FORMAT),
        ("1 Gi", quantity.WRONG_FORMAT),
        ("1\n2", quantity.WRONG_FORMAT),
        ("1Zi", quantity.WRONG_FORMAT),
        ("--5", quantity.WRONG_SUFFIX),
        ("1e", quantity.WRONG_SUFFIX),
        ("1mm", quantity.WRONG_SUFFIX),
        ("1e999999999", quantity.WRONG_NUMBER),
        ("9" * 5000, quantity.WRONG_NUMBER),
    ],
)
def test_refuses(text, told):
    with pytest.raises(ValueError, match=r"quantit") as caught:
        parse(text)
    assert str(caught.value) == told


def test_numbers():
    assert str(parse(2)) == "2"
    assert str(parse(0.5)) == "500m"
    assert float(parse("1500m")) == 1.5


def test_arithmetic_takes_the_format_of_the_first_that_is_something():
    # v1.36.4 staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go:590
    assert str(parse("1Gi").add(parse("1Gi"))) == "2Gi"
    assert str(quantity.ZERO.add(parse("512Mi"))) == "512Mi"
    assert str(parse("1").sub(parse("1500m"))) == "-500m"
    assert str(parse("1Gi").add(parse("1G"))) == "2073741824"
    assert parse("250m").times(4) == parse("1")


def test_equal_quantities_hash_alike():
    assert {parse("1"), parse("1000m"), parse("1e0")} == {parse("1")}
    assert parse("1") < parse("1001m") <= parse("1.001")
    assert parse("1").sign() == 1
    assert parse("-1").sign() == -1


quantities = st.builds(
    Quantity,
    st.integers(-(10**17), 10**17),
    st.integers(-9, 6),
    st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"]),
)


@given(quantities)
def test_a_spelling_reads_back_as_the_same_quantity(value):
    capped = value.format == "BinarySI" and abs(value.value()) >= quantity.INT64_MAX
    if not capped:
        assert parse(str(value)) == value
    assert canonical(canonical(str(value))) == canonical(str(value))


@given(quantities, quantities)
def test_adding_and_taking_away_again(one, other):
    assert one.add(other).sub(other) == one
    assert (one.compare(other) > 0) == (one.sub(other).sign() > 0)


@given(st.text())
def test_any_text_is_a_quantity_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        assert parse(canonical(text)) == parse(text)
