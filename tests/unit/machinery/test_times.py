import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import times


def test_writes():
    assert times.rfc3339(0) == "1970-01-01T00:00:00Z"
    assert times.rfc3339(1767323045.9) == "2026-01-02T03:04:05Z"
    assert times.rfc3339_micro(1767323045.25) == "2026-01-02T03:04:05.250000Z"
    assert times.rfc3339_micro(1767323045.9999999) == "2026-01-02T03:04:06.000000Z"
    assert times.from_parts(1767323045, 250_000_999, micro=True) == "2026-01-02T03:04:05.250000Z"
    assert times.from_parts(-62135596800, 0) == ""


# v1.36.4 staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/time.go:92 and micro_time.go
@pytest.mark.parametrize(
    ("text", "second", "micro"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z", None),
        ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05Z", None),
        ("2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678901Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z", None),
        ("2026-01-02T03:04:05.678901-05:30", "2026-01-02T08:34:05Z", "2026-01-02T08:34:05.678901Z"),
        ("0001-01-01T00:00:00Z", "", None),
    ],
)
def test_reads(text, second, micro):
    assert times.canonical(text) == second
    if micro:
        assert times.canonical_micro(text) == micro
    else:
        with pytest.raises(ValueError, match=r'as "\.000000"'):
            times.canonical_micro(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("hello", 'parsing time "hello" as "2006-01-02T15:04:05Z07:00": cannot parse "hello" as "2006"'),
        ("2026-01-02", 'parsing time "2026-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        (
            "2026-01-02T03:04:05",
            'parsing time "2026-01-02T03:04:05" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
        ),
        ("2026-13-02T03:04:05Z", 'parsing time "2026-13-02T03:04:05Z": month out of range'),
        ("2026-02-30T03:04:05Z", 'parsing time "2026-02-30T03:04:05Z": day out of range'),
        ("2026-01-02T03:04:05Zx", 'parsing time "2026-01-02T03:04:05Zx": extra text: "x"'),
    ],
)
def test_refuses_in_gos_words(text, told):
    with pytest.raises(ValueError, match="parsing time") as caught:
        times.parse(text)
    assert str(caught.value) == told


@given(st.integers(0, 4 * 10**15))
def test_writing_and_reading_back(micros):
    assert times.parse(times.rfc3339(micros // 10**6)) == micros // 10**6
    assert times.parse_micro(times.rfc3339_micro(micros / 10**6)) == pytest.approx(micros / 10**6, abs=2e-6)
