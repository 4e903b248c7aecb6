"""What the cells of several kinds' columns have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"


def labels(values: Mapping[str, str] | None) -> str:
    """`app=web,tier=front`, sorted by key."""
    if not values:
        return NONE
    return ",".join(f"{key}={value}" for key, value in sorted(values.items()))


def up_to(limit: int, entries: Sequence[Any], empty: str = UNSET) -> str:
    """The first few, and how many there are besides."""
    if len(entries) > limit:
        return f"{','.join(map(str, entries[:limit]))} + {len(entries) - limit} more..."
    return ",".join(map(str, entries)) or empty
