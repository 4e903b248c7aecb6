"""Structured log lines, cheap when nobody reads them.

    log.info("Pod bound", pod="default/web", node="n1")

Levels are klog's: errors and warnings always, `info` at verbosity 0, `debug(n, ...)` from `-v=n` on. A line is text in
klog's shape (`I0501 12:00:00.000000 tiphys] "Pod bound" pod="default/web"`) or one JSON object.
"""

import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

from tiphys.base.clock import Clock, RealClock

Write = Callable[[str], object]
Format = Literal["text", "json"]


def _to_stderr(line: str) -> None:
    sys.stderr.write(line)


class Log:
    """One for the process; a component binds its name with `named`."""

    __slots__ = ("_clock", "_format", "_write", "verbosity")

    def __init__(
        self, write: Write = _to_stderr, *, verbosity: int = 0, style: Format = "text", clock: Clock | None = None
    ) -> None:
        self._write = write
        self._format: Format = style
        self._clock = clock or RealClock()
        self.verbosity = verbosity

    def configure(self, *, verbosity: int | None = None, style: Format | None = None, write: Write | None = None) -> None:
        if verbosity is not None:
            self.verbosity = verbosity
        if style is not None:
            self._format = style
        if write is not None:
            self._write = write

    def emit(self, letter: str, component: str, message: str, values: dict[str, Any], error: str = "") -> None:
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        if self._format == "json":
            record = {"ts": now.timestamp(), "level": letter, "logger": component, "msg": message, **values}
            if error:
                record["error"] = error
            self._write(orjson.dumps(record, default=str).decode() + "\n")
            return
        parts = [f"{letter}{now:%m%d %H:%M:%S.%f} {component}] {_quote(message)}"]
        parts += [f"{key}={_show(value)}" for key, value in values.items()]
        line = " ".join(parts) + "\n"
        self._write(f"{line}{error}\n" if error else line)


class Logger:
    __slots__ = ("_bound", "_log", "_name")

    def __init__(self, log: Log, name: str, bound: dict[str, Any]) -> None:
        self._log = log
        self._name = name
        self._bound = bound

    def set_verbosity(self, level: int) -> None:
        """Of everything that writes to the same log."""
        self._log.verbosity = level

    def named(self, name: str, **values: Any) -> "Logger":
        """A logger of a component, with values that each of its lines carries."""
        return Logger(self._log, name, {**self._bound, **values})

    def on(self, level: int) -> bool:
        """Whether `debug(level, ...)` is written: ask before computing something dear for it."""
        return self._log.verbosity >= level

    def debug(self, level: int, message: str, **values: Any) -> None:
        if self._log.verbosity >= level:
            self._log.emit("I", self._name, message, {**self._bound, **values})

    def info(self, message: str, **values: Any) -> None:
        self._log.emit("I", self._name, message, {**self._bound, **values})

    def warning(self, message: str, **values: Any) -> None:
        self._log.emit("W", self._name, message, {**self._bound, **values})

    def error(self, message: str, **values: Any) -> None:
        self._log.emit("E", self._name, message, {**self._bound, **values})

    def exception(self, message: str, error: BaseException | None = None, **values: Any) -> None:
        """With the traceback of `error`, or of the exception being handled."""
        error = error or sys.exc_info()[1]
        told = "".join(traceback.format_exception(error)).rstrip() if error is not None else ""
        self._log.emit("E", self._name, message, {**self._bound, **values}, told)


def _quote(text: str) -> str:
    return orjson.dumps(text).decode()


def _show(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return _quote(str(value))


process = Log()
"""What the programs of `cmd/` configure; tests make their own."""

log = Logger(process, "tiphys", {})
