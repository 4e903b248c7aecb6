"""The lines of the runtime's log files, and which of them somebody asked for.

A line is `2026-01-02T03:04:05.678901234Z stdout F text`; P in the place of F says that the line goes on in the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tiphys.machinery import times


@dataclass(frozen=True, slots=True)
class Line:
    time: bytes
    stream: bytes
    whole: bool
    content: bytes
    """With its line feed where the line is whole."""


def parse_line(raw: bytes) -> Line | None:
    """None for what is no line of the format (the beginning of one that was cut off)."""
    parts = raw.rstrip(b"\n").split(b" ", 3)
    if len(parts) < 4 or parts[1] not in (b"stdout", b"stderr"):
        return None
    whole = not parts[2].startswith(b"P")
    return Line(parts[0], parts[1], whole, parts[3] + b"\n" if whole else parts[3])


@dataclass(frozen=True, slots=True)
class LogOptions:
    """https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#read-log-pod-v1-core"""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    limit: int | None = None
    since: float | None = None
    stream: str = "All"


class BadOptions(ValueError):
    """In upstream's words."""


def options(query: Mapping[str, str], now: float) -> LogOptions:
    since = None
    try:
        if query.get("sinceSeconds"):
            since = now - int(query["sinceSeconds"])
        elif query.get("sinceTime"):
            since = times.parse(query["sinceTime"])
        tail = int(query["tailLines"]) if query.get("tailLines") else None
        limit = int(query["limitBytes"]) if query.get("limitBytes") else None
    except ValueError as wrong:
        raise BadOptions("Unable to decode query.") from wrong
    return LogOptions(
        follow=_true(query.get("follow")),
        previous=_true(query.get("previous")),
        timestamps=_true(query.get("timestamps")),
        tail=tail,
        limit=limit,
        since=since,
        stream=query.get("stream") or "All",
    )


def _true(text: str | None) -> bool:
    return text is not None and text.lower() not in ("", "0", "false", "f")


class Selection:
    """Takes raw lines in order, gives the bytes to send."""

    def __init__(self, chosen: LogOptions) -> None:
        self._chosen = chosen
        self._left = chosen.limit
        self._within = False
        """Of a line that goes on: its time has been written."""

    @property
    def full(self) -> bool:
        return self._left == 0

    def take(self, raw: bytes) -> bytes:
        line = parse_line(raw)
        chosen = self._chosen
        if line is None or (chosen.stream != "All" and line.stream.decode() != chosen.stream.lower()):
            return b""
        if chosen.since is not None and _seconds(line.time) < chosen.since:
            return b""
        data = line.content
        if chosen.timestamps and not self._within:
            data = line.time + b" " + data
        self._within = not line.whole
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        return data


def _seconds(time: bytes) -> float:
    try:
        return times.parse(time.decode())
    except ValueError:
        return 0.0
