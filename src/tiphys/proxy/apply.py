"""The node's kernel: nft for rules, conntrack for flows, and the switches that have to be on for either to see traffic."""

import asyncio
import os
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from pathlib import Path

SWITCHES = Path("/proc/sys")
BRIDGED = SWITCHES / "net/bridge/bridge-nf-call-iptables"
FORWARD = SWITCHES / "net/ipv4/ip_forward"


class Refused(Exception):
    """The kernel, or the program that speaks to it, did not take it; with its words."""


async def conntrack(*arguments: str) -> str:
    return await run(["conntrack", *arguments])


def complaints() -> list[str]:
    """Settings of this machine that keep Services from working, in words for whoever can change them."""
    found = []
    if _says(BRIDGED) == "0":
        found.append(
            "net.bridge.bridge-nf-call-iptables is 0: a pod cannot reach a Service whose pod is on the same bridge; set it to 1"
        )
    if _says(FORWARD) == "0":
        found.append("net.ipv4.ip_forward is 0: packets for pods are not passed on; set it to 1")
    return found


def switch(wanted: Mapping[str, int]) -> list[str]:
    """Set what is not so yet; what could not be set, in words. A limit that is higher already stays."""
    left = []
    for name, value in wanted.items():
        file = SWITCHES / name
        now = _says(file)
        if now == str(value) or (name.endswith("_max") and now.isdecimal() and int(now) > value):
            continue
        try:
            file.write_text(str(value))
        except OSError as error:
            left.append(f"cannot set {name.replace('/', '.')} to {value}: {error.strerror}")
    return left


def _says(switch: Path) -> str:
    try:
        return switch.read_text().strip()
    except OSError:
        return ""


async def run(command: list[str], given: str = "") -> str:
    """Its output. Raises Refused."""
    text = _laid_out(given)
    try:
        child = await asyncio.create_subprocess_exec(*command, stdin=text, stdout=PIPE, stderr=PIPE)
    except OSError as error:
        raise Refused(f"cannot run {command[0]}: {error.strerror}") from error
    finally:
        os.close(text)
    try:
        out, said = await child.communicate()
    except BaseException:
        if child.returncode is None:
            child.kill()
            await child.wait()
        raise
    if child.returncode:
        raise Refused(said.decode(errors="replace").strip() or f"{command[0]} ended with {child.returncode}")
    return out.decode(errors="replace")


def _laid_out(text: str) -> int:
    """A file in memory. All of it is there before anybody reads: megabytes pass no pipe, and no event loop."""
    file = os.memfd_create("rules")
    left = memoryview(text.encode())
    while left:
        left = left[os.write(file, left) :]
    os.lseek(file, 0, os.SEEK_SET)
    return file
