"""containerd's own client, for what the CRI of containerd 1.x has no call for."""

import asyncio
import subprocess
from pathlib import PurePath

_SECONDS = 120.0


class CtrFailed(Exception):
    """In the program's words."""


async def ctr(socket: PurePath, *arguments: str, data: bytes = b"", seconds: float = _SECONDS) -> str:
    """What it says. Raises CtrFailed or TimeoutError."""
    command = ["ctr", "--address", str(socket), "--namespace", "k8s.io", *arguments]
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except FileNotFoundError:
        raise CtrFailed("the program ctr, which comes with containerd, is not there") from None
    try:
        async with asyncio.timeout(seconds):
            output, _ = await child.communicate(data)
    finally:
        # Whoever waits for a containerd that has gone does so for ever.
        if child.returncode is None:
            child.kill()
    told = output.decode(errors="replace").strip()
    if child.returncode:
        raise CtrFailed(told)
    return told


async def end_task(socket: PurePath, container_id: str) -> None:
    """At once, whatever containerd takes it for."""
    await ctr(socket, "tasks", "delete", "--force", container_id)
