import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import duration
from tiphys.machinery.duration import HOUR, MILLISECOND, MINUTE, SECOND

MINUTES, HOURS, DAYS, YEARS = 60, 3600, 86400, 86400 * 365


# https://pkg.go.dev/time#ParseDuration and #Duration.String
@pytest.mark.parametrize(
    ("text", "length", "spelled"),
    [
        ("0", 0, "0s"),
        ("1h15m30.918s", HOUR + 15 * MINUTE + 30918 * MILLISECOND, "1h15m30.918s"),
        ("-1.5h", -90 * MINUTE, "-1h30m0s"),
        ("+5s", 5 * SECOND, "5s"),
        (".5s", SECOND // 2, "500ms"),
        ("1.s", SECOND, "1s"),
        ("100us", 100_000, "100µs"),
        ("1500ns", 1500, "1.5µs"),
        ("1m1m", 2 * MINUTE, "2m0s"),
    ],
)
def test_reads_and_spells(text, length, spelled):
    assert duration.parse(text) == length
    assert duration.spell(length) == spelled
    assert duration.seconds(text) == length / SECOND


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".s", 'time: invalid duration ".s"'),
        ("3", 'time: missing unit in duration "3"'),
        ("3d", 'time: unknown unit "d" in duration "3d"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("9" * 9999 + "h", f'time: invalid duration "{"9" * 9999}h"'),
    ],
)
def test_refuses_in_gos_words(text, told):
    with pytest.raises(ValueError, match="time: ") as caught:
        duration.parse(text)
    assert str(caught.value) == told


@given(st.integers(-(2**63), 2**63 - 1))
def test_spelling_reads_back(length):
    assert duration.parse(duration.spell(length)) == length


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/util/duration/duration.go:48
@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (2 * MINUTES, "2m"),
        (2 * MINUTES + 5, "2m5s"),
        (10 * MINUTES, "10m"),
        (179 * MINUTES, "179m"),
        (3 * HOURS, "3h"),
        (3 * HOURS + 5 * MINUTES, "3h5m"),
        (8 * HOURS, "8h"),
        (47 * HOURS, "47h"),
        (2 * DAYS, "2d"),
        (2 * DAYS + 3 * HOURS, "2d3h"),
        (8 * DAYS, "8d"),
        (729 * DAYS, "729d"),
        (2 * YEARS, "2y"),
        (2 * YEARS + 3 * DAYS, "2y3d"),
        (8 * YEARS, "8y"),
    ],
)
def test_age(seconds, told):
    assert duration.human(seconds) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(-5, "<invalid>"), (59, "59s"), (60, "1m"), (5400, "1h"), (2 * DAYS, "2d"), (YEARS, "1y")]
)
def test_short_age(seconds, told):
    assert duration.short_human(seconds) == told
