"""Sends a container's log as it was asked for, and goes on while the container writes."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import BinaryIO

from tiphys.base.http.messages import Channel
from tiphys.kubelet.logs import LogOptions, Selection

_POLL_SECONDS = 0.1
_BLOCK = 1 << 16


async def send(path: Path, chosen: LogOptions, channel: Channel, alive: Callable[[], Awaitable[bool]]) -> None:
    """`alive`: whether the container may still write. A file that is begun anew in between is followed too."""
    selection = Selection(chosen)
    file = path.open("rb")
    try:
        await asyncio.to_thread(_to_tail, file, chosen.tail)
        rest = b""
        replaced = False
        while not selection.full:
            block = await asyncio.to_thread(file.read, _BLOCK)
            if block:
                *lines, rest = (rest + block).split(b"\n")
                if data := b"".join(selection.take(line + b"\n") for line in lines):
                    channel.write(data)
                    await channel.drain()
                continue
            if not chosen.follow:
                return
            if replaced:
                file.close()
                file, replaced = path.open("rb"), False
                continue
            if _is_another(path, file):
                # The writer turned to another file; what it wrote into this one before is read in one more round.
                replaced = True
                continue
            # What was written before it ended is read in one more round.
            going_on = await alive()
            if not going_on and file.tell() >= os.fstat(file.fileno()).st_size:
                return
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        file.close()


def _is_another(path: Path, file: BinaryIO) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return found.st_ino != os.fstat(file.fileno()).st_ino


def _to_tail(file: BinaryIO, lines: int | None) -> None:
    """Go to where the last `lines` lines begin."""
    if lines is None:
        return
    at = file.seek(0, os.SEEK_END)
    if lines == 0:
        return
    found = -1  # the line feed at the very end begins no line
    while at > 0:
        size = min(_BLOCK, at)
        at -= size
        file.seek(at)
        block = file.read(size)
        end = size
        while (end := block.rfind(b"\n", 0, end)) >= 0:
            found += 1
            if found == lines:
                file.seek(at + end + 1)
                return
    file.seek(0)
