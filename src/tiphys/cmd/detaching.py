"""A command that leaves itself running: the same again in a session of its own, whose progress is shown until it is ready."""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Callable
from typing import IO

from tiphys.cmd.data_directory import DataDirectory

READY = "ready"


def announcer(ready_fd: int | None) -> Callable[[], None]:
    """Tells the one who waits, if there is one."""

    def announce() -> None:
        if ready_fd is not None:
            # Who waited may be gone by now: what was started stays.
            with contextlib.suppress(BrokenPipeError):
                os.write(ready_fd, f"{READY}\n".encode())
            os.close(ready_fd)

    return announce


def detach(data: DataDirectory, name: str, arguments: list[str]) -> int:
    """The exit code; `arguments` are those of the command that says --detach, and takes --ready-fd."""
    data.lock().close()  # raises, with the pid, if one runs already
    reader, writer = os.pipe()
    rest = [each for each in arguments if each != "--detach"]
    command = [sys.executable, "-m", "tiphys.cmd.main", name, *rest, "--ready-fd", str(writer)]
    with data.log.open("ab") as log, data.log.open(errors="replace") as shown:
        shown.seek(0, os.SEEK_END)
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(writer,), start_new_session=True
        )
        os.close(writer)
        try:
            came_up = _came_up(reader, shown)
        except KeyboardInterrupt:
            # It is in a session of its own, and has not heard of it.
            child.terminate()
            child.wait()
            raise
        if not came_up:
            child.wait()
        _show(shown)
        return 0 if came_up else child.wait() or 1


def _came_up(reader: int, log: IO[str]) -> bool:
    with os.fdopen(reader) as pipe:
        while not select.select([pipe], [], [], 0.05)[0]:
            _show(log)
        return pipe.readline().strip() == READY


def _show(log: IO[str]) -> None:
    """What is new in the log, to where it would have gone without --detach."""
    for line in log:
        print(line, end="", flush=True, file=sys.stderr if line.startswith("error: ") else sys.stdout)
