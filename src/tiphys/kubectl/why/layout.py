"""Columns and lengths of time as people read them."""

from collections.abc import Iterable, Sequence

_NAMES = 5


def table(rows: Iterable[Sequence[str]], indent: str = "  ") -> list[str]:
    """Every column as wide as its widest cell, the last one as it is."""
    listed = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)][:-1] if listed else []
    return [
        (indent + "   ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + row[-1:])).rstrip()
        for row in listed
    ]


def names(listed: Sequence[str], count: int) -> str:
    """The first few of `count` names."""
    shown = list(listed[:_NAMES])
    more = count - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def seconds(amount: float) -> str:
    if amount < 10:
        return f"{amount:.1f} s"
    if amount < 120:
        return f"{amount:.0f} s"
    return f"{amount / 60:.0f} min" if amount < 7200 else f"{amount / 3600:.0f} h"


def times_over(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
