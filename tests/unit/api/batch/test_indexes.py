import re

import pytest

from tiphys.api.batch import indexes

TWO_PARTS = "the requirement that an index interval can have at most two parts separated by '-'"


# v1.36.4 pkg/apis/batch/validation/validation.go:1014 (validateIndexesFormat)
@pytest.mark.parametrize(("text", "expected"), [("", 0), ("0", 1), ("0-2,4", 4), ("1,3,5-9", 7)])
def test_count(text, expected):
    assert indexes.count(text, 10) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", 'cannot convert string to integer for index: "x"'),
        ("10", 'too large index: "10"'),
        ("3-2", "non-increasing order, previous: 3, current: 2"),
        ("1,1", "non-increasing order, previous: 1, current: 1"),
        ("1-2-3", f'the fragment "1-2-3" violates {TWO_PARTS}'),
    ],
)
def test_what_cannot_be_read(text, problem):
    with pytest.raises(ValueError, match="^" + re.escape(problem) + "$"):
        indexes.count(text, 10)


# v1.36.4 pkg/apis/batch/validation/validation.go:968 (validateFailedIndexesNotOverlapCompleted)
@pytest.mark.parametrize(
    ("completed", "failed", "expected"),
    [("0-2", "2,3", 2), ("0,4-6", "1,3,5", 5), ("0-2", "3", None), ("", "1", None), ("x,1", "1", 1), ("0-8", "2-3", 2)],
)
def test_first_overlap(completed, failed, expected):
    assert indexes.first_overlap(completed, failed, 10) == expected
