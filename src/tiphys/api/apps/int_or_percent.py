"""Counts that may be given as a share: `2` or `"25%"`."""

import re
from collections.abc import Iterator

from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, invalid

IntOrPercent = int | str

_PERCENT = re.compile("[0-9]+%")
_WHOLE = re.compile("[+-]?[0-9]+")


def percent(value: IntOrPercent | None) -> int | None:
    """The number before the percent sign; None for everything else."""
    return int(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else None


def amount(value: IntOrPercent | None) -> int:
    """The number, whether it counts pods or percents; text that is neither counts as nothing."""
    if isinstance(value, str):
        share = percent(value)
        if share is not None:
            return share
        return int(value) if _WHOLE.fullmatch(value) else 0
    return value or 0


def validate(value: IntOrPercent, at: str) -> Iterator[FieldError]:
    if isinstance(value, int):
        yield from validators.at_least_zero(value, at)
    else:
        for problem in validators.percent(value):
            yield invalid(at, value, problem)


def at_most_all(value: IntOrPercent, at: str) -> Iterator[FieldError]:
    share = percent(value)
    if share is not None and share > 100:
        yield invalid(at, value, "must not be greater than 100%")
