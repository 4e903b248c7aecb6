"""Which files a container's log is made of, and what becomes of them when it grows (pkg/kubelet/logs/container_log_manager.go).

0.log is written to; 0.log.20260102-030405 was, before it was full; the older of these end in .gz.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Turn:
    """What to do, in this order."""

    remove: tuple[str, ...]
    compress: tuple[str, ...]
    rename_to: str


def turn(name: str, beside: Sequence[str], most: int, now: float) -> Turn:
    """When the file `name` is full. `beside`: names of all files in its folder; `most`: files in all."""
    unfinished = [each for each in beside if each.startswith(f"{name}.") and each.endswith(".tmp")]
    full = sorted(each for each in beside if each.startswith(f"{name}.") and not each.endswith(".tmp"))
    plain = {each for each in full if not each.endswith(".gz")}
    # A compressed file and its source may both be there after a crash: the source is the whole one.
    doubled = [f"{each}.gz" for each in plain if f"{each}.gz" in full]
    full = [each for each in full if each not in doubled]
    # The file that is full now becomes one of them, and a new one is begun.
    excess = full[: max(0, len(full) - (most - 2))]
    kept = [each for each in full if each not in excess]
    return Turn(
        (*unfinished, *doubled, *excess),
        tuple(each for each in kept if each in plain),
        f"{name}.{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}",
    )
