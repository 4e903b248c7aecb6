"""Sets of pod indexes as Indexed Jobs write them: `0,3-5,9`."""

import re

_NUMBER = re.compile("[+-]?[0-9]+")


def count(text: str, completions: int) -> int:
    """How many indexes `text` names. ValueError in upstream's words where it is not a rising list below `completions`."""
    total = 0
    last: int | None = None
    for part in text.split(",") if text else ():
        low, high = interval(part, completions)
        if last is not None and last >= low:
            raise ValueError(f"non-increasing order, previous: {last}, current: {low}")
        total += high - low + 1
        last = high
    return total


def interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        told = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f'the fragment "{text}" {told}')
    low = _index(limits[0], completions)
    if len(limits) == 1:
        return low, low
    high = _index(limits[1], completions)
    if low >= high:
        raise ValueError(f"non-increasing order, previous: {low}, current: {high}")
    return low, high


def _index(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise ValueError(f'too large index: "{text}"')
    return int(text)


def first_overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that both sets name; parts that cannot be read are told of elsewhere."""
    ours, theirs = _intervals(completed, completions), _intervals(failed, completions)
    at = 0
    for low, high in ours:
        while at < len(theirs) and theirs[at][1] < low:
            at += 1
        if at < len(theirs) and theirs[at][0] <= high:
            return max(low, theirs[at][0])
    return None


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(interval(part, completions))
        except ValueError:
            continue
    return found
