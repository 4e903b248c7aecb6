"""Where in a tree the decoder stands, and the fields it has found there that the schema does not know."""

from typing import Any

Unknown = list[str] | None
# Where a value stands: (the place of what holds it, field name | index | (key of a map,)); None at the root.
At = tuple[Any, Any] | None

_MANY_UNKNOWN = 100


def note(unknown: Unknown, at: At) -> None:
    if unknown is not None and len(unknown) < _MANY_UNKNOWN:
        unknown.append(spelled(at))


def spelled(at: At) -> str:
    """`spec.items[0].name`."""
    steps: list[str] = []
    while at is not None:
        step = at[1]
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step[0] if isinstance(step, tuple) else step}")
        at = at[0]
    return "".join(reversed(steps)).removeprefix(".")
