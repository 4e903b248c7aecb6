"""The audit log as a file: one event a line, and when the file is full it is put aside under the time of its end."""

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import orjson

from tiphys.base.clock import Clock
from tiphys.machinery.tree import Obj

_MEGABYTE = 1 << 20
_DAY = 86400
_FORMAT = "%Y-%m-%dT%H-%M-%S.%f"
_DIGITS_CUT = 3
"""Of the microseconds: names have milliseconds."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    path: str
    """`-`: the standard output."""
    max_megabytes: int = 100
    max_days: int = 366
    """Older files are removed; 0: none is too old."""
    max_backups: int = 100
    """So many files are kept beside the current one; 0: all."""


class LogFile:
    """Implements auditor.Backend."""

    def __init__(self, settings: LogSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._limit = settings.max_megabytes * _MEGABYTE
        self._path = Path(settings.path)
        self._file: BinaryIO
        self._size = 0
        if settings.path == "-":
            self._file, self._limit = sys.stdout.buffer, 0
        else:
            self._open()

    def put(self, event: Obj) -> None:
        line = orjson.dumps(event) + b"\n"
        if self._limit and self._size + len(line) > self._limit and self._size:
            self._rotate()
        self._file.write(line)
        self._file.flush()
        self._size += len(line)

    def close(self) -> None:
        if self._settings.path != "-":
            self._file.close()

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = os.fdopen(descriptor, "ab")
        self._size = self._path.stat().st_size

    def _rotate(self) -> None:
        self._file.close()
        now = self._clock.now()
        stamp = datetime.fromtimestamp(now, UTC).strftime(_FORMAT)[:-_DIGITS_CUT]
        self._path.rename(self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}"))
        self._open()
        self._remove_old(now)

    def _remove_old(self, now: float) -> None:
        kept = sorted(self._backups(), reverse=True)
        most = self._settings.max_backups or len(kept)
        oldest = now - self._settings.max_days * _DAY if self._settings.max_days else 0
        for number, (ended, path) in enumerate(kept):
            if number >= most or ended < oldest:
                path.unlink(missing_ok=True)

    def _backups(self) -> list[tuple[float, Path]]:
        found: list[tuple[float, Path]] = []
        for path in self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}"):
            stamp = path.name.removeprefix(f"{self._path.stem}-").removesuffix(self._path.suffix)
            try:
                ended = datetime.strptime(stamp, _FORMAT).replace(tzinfo=UTC)
            except ValueError:
                continue  # somebody else's
            found.append((ended.timestamp(), path))
        return found
