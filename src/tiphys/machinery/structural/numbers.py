"""Numbers as Go writes them."""

from typing import Any

_INT64 = 2**63


def with_plain_numbers(value: Any) -> Any:
    """1.0 is written as 1. The same value where nothing changes."""
    if type(value) is float:
        return int(value) if value.is_integer() and abs(value) < _INT64 else value
    if type(value) is dict:
        made = {name: with_plain_numbers(each) for name, each in value.items()}
        return value if all(made[name] is each for name, each in value.items()) else made
    if type(value) is list:
        items = [with_plain_numbers(each) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value
