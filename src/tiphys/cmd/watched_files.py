"""Files that may change while the server runs (authorities, tokens, certificates), and what is done with the new content.

Looked at every few seconds: files from mounted Secrets change by a symbolic link of a folder above them, of which watching the
file itself tells nothing.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.log import Logger

INTERVAL = 5.0

_State = tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class WatchedFiles:
    """Files that belong together, as a certificate and its key do."""

    paths: tuple[Path, ...]
    take: Callable[[Sequence[bytes]], None]
    """Given the content of each. ValueError where it is of no use: then the old one stays in force."""
    state: _State | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.state = _state(self.paths)

    def look(self) -> str | None:
        """Take what has changed. None if nothing has, else what is wrong with it, empty if all is well."""
        state = _state(self.paths)
        if state is None or state == self.state:
            return None
        self.state = state
        try:
            self.take([path.read_bytes() for path in self.paths])
        except (OSError, ValueError) as problem:
            return str(problem) or type(problem).__name__
        return ""


async def keep_looking(watched: Sequence[WatchedFiles], clock: Clock, log: Logger) -> None:
    """Until it is cancelled."""
    if not watched:
        await asyncio.Event().wait()
    while True:
        await clock.sleep(INTERVAL)
        for each in watched:
            problem = each.look()
            if problem is None:
                continue
            names = ", ".join(map(str, each.paths))
            if problem:
                log.error("a changed file is of no use, the old content stays in force", files=names, problem=problem)
            else:
                log.info("took a changed file", files=names)


def _state(paths: Sequence[Path]) -> _State | None:
    """None while one of them is not there, as when it is being replaced."""
    try:
        found = [path.stat() for path in paths]
    except OSError:
        return None
    return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in found)
