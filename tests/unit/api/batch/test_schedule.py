import re
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.batch import schedule


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def told(moment: float | None) -> str:
    return "" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S")


# v1.36.4 vendor/github.com/robfig/cron/v3/spec.go:58 (Next); the answers were compared with that code's own.
@pytest.mark.parametrize(
    ("line", "zone", "now", "expected"),
    [
        ("*/5 * * * *", None, "2024-01-01 00:00:00", "2024-01-01 00:05:00"),
        ("*/5 * * * *", None, "2024-01-01 00:04:59", "2024-01-01 00:05:00"),
        ("0 0 * * *", None, "2024-12-31 00:00:00", "2025-01-01 00:00:00"),
        ("0 0 29 2 *", None, "2024-03-01 00:00:00", "2028-02-29 00:00:00"),
        ("0 0 30 2 *", None, "2024-03-01 00:00:00", ""),
        # Day of month and day of week are alternatives, unless one is a star.
        ("0 0 13 * fri", None, "2024-09-01 00:00:00", "2024-09-06 00:00:00"),
        ("0 0 13 * *", None, "2024-09-01 00:00:00", "2024-09-13 00:00:00"),
        ("0 0 */1 * fri", None, "2024-09-01 00:00:00", "2024-09-06 00:00:00"),
        ("0 0 */2 * fri", None, "2024-09-01 00:00:00", "2024-09-03 00:00:00"),
        ("5/25 * * * *", None, "2024-01-01 00:06:00", "2024-01-01 00:30:00"),
        ("0 9 * jan-mar mon", None, "2024-04-01 00:00:00", "2025-01-06 09:00:00"),
        ("? 3 ? * ?", None, "2024-01-01 04:00:00", "2024-01-02 03:00:00"),
        (", * * * *", None, "2024-01-01 00:00:00", ""),
        # Rome skips 02:30 on 31 March 2024, and has it twice on 27 October.
        ("30 2 * * *", "Europe/Rome", "2024-03-30 12:00:00", "2024-04-01 00:30:00"),
        ("30 2 * * *", "Europe/Rome", "2024-10-27 00:00:00", "2024-10-27 00:30:00"),
        ("30 2 * * *", "Europe/Rome", "2024-10-27 00:30:00", "2024-10-27 01:30:00"),
        ("0 9 * * *", "Asia/Kolkata", "2024-01-01 00:00:00", "2024-01-01 03:30:00"),
        ("CRON_TZ=Asia/Kolkata 0 9 * * *", "Europe/Rome", "2024-01-01 00:00:00", "2024-01-01 03:30:00"),
        # A day without midnight (Sao Paulo, 4 November 2018) starts at one.
        ("0 * 4 11 *", "America/Sao_Paulo", "2018-11-01 00:00:00", "2018-11-04 03:00:00"),
        # 30 December 2011 did not happen in Apia.
        ("0 0 30 12 *", "Pacific/Apia", "2011-12-01 00:00:00", "2012-12-29 10:00:00"),
        ("@hourly", None, "2024-01-01 00:00:01", "2024-01-01 01:00:00"),
        ("@yearly", None, "2024-01-01 00:00:00", "2025-01-01 00:00:00"),
        ("@every 1h30m", None, "2024-01-01 00:00:07", "2024-01-01 01:30:07"),
        ("@every 10ms", None, "2024-01-01 00:00:00", "2024-01-01 00:00:01"),
    ],
)
def test_next_after(line, zone, now, expected):
    assert told(schedule.next_after(line, zone, at(now))) == expected


# v1.36.4 vendor/github.com/robfig/cron/v3/parser.go:88 (Parse), :252 (getRange), :365 (parseDescriptor)
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@foo", "unrecognized descriptor: @foo"),
        ("TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        ("TZ=Foo/Bar * * * * *", "provided bad location Foo/Bar: unknown time zone Foo/Bar"),
        ("TZ=../x * * * * *", "provided bad location ../x: time: invalid location name"),
    ],
)
def test_what_cannot_be_read(line, problem):
    with pytest.raises(ValueError, match="^" + re.escape(problem) + "$"):
        schedule.parse(line)


FIELD = st.sampled_from(["*", "*/7", "1", "1-5", "2,4"])


@given(st.tuples(FIELD, FIELD, FIELD, FIELD, FIELD), st.floats(0, 4e9), st.sampled_from(["UTC", "Europe/Rome", "Asia/Beirut"]))
def test_moments_rise_and_match(fields, now, zone):
    line = " ".join(fields)
    moments = [now]
    for _ in range(3):
        following = schedule.next_after(line, zone, moments[-1])
        if following is None:
            break
        moments.append(following)
    assert all(later > earlier for earlier, later in pairwise(moments))
    assert all(moment % 60 == 0 for moment in moments[1:])
