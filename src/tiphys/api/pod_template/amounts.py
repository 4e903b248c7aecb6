"""Lists of resources: arithmetic over whole lists, and how they are spelled."""

from collections.abc import Mapping
from functools import lru_cache

from tiphys.api.resources import is_huge_pages
from tiphys.machinery import quantity
from tiphys.machinery.quantity import Quantity

Amounts = Mapping[str, str]
"""Resource names and quantities as they stand in an object."""

_MILLI = -3


@lru_cache(4096)
def rounded(text: str) -> str:
    """The canonical spelling, after rounding up to thousandths. What is no quantity has been refused on the way in."""
    try:
        parsed = quantity.parse(text)
    except ValueError:
        return text
    if parsed.scale >= _MILLI:
        return str(parsed)
    thousandths = quantity.from_milli(parsed.milli(), parsed.format)
    return str(parsed if thousandths == parsed else thousandths)


def is_pod_level(name: str) -> bool:
    """May be asked for by the pod as a whole."""
    return name in ("cpu", "memory") or is_huge_pages(name)


def divides_into_pages(name: str, amount: Quantity) -> bool:
    """Whether an amount of huge pages is a whole number of them."""
    try:
        page = quantity.parse(name.removeprefix("hugepages-"))
    except ValueError:
        return False
    if page.sign() <= 0 or page.milli() % 1000:
        return False
    return amount.value() % page.value() == 0


def add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, amount in more.items():
        there = total.get(name)
        total[name] = amount if there is None else there.add(amount)


def raise_to(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    """Each resource becomes the greater of the two."""
    for name, amount in more.items():
        there = total.get(name)
        if there is None or amount > there:
            total[name] = amount


def parsed(amounts: Amounts | None) -> dict[str, Quantity]:
    return {name: quantity.parse(text) for name, text in amounts.items()} if amounts else {}
