"""The pause program: holds a pod's namespaces open, and reaps the orphans of a pod whose containers share one process tree.

It needs no compiler and no download: it is short enough to be written out as machine code. It ignores SIGCHLD (the kernel then
reaps), ends with 0 on SIGTERM and SIGINT, and sleeps for ever.
"""

from struct import pack

_BASE = 0x400000
_HEADERS = 64 + 56
_SIGINT, _SIGTERM, _SIGCHLD = 2, 15, 17
_SIG_IGN = 1
_SA_RESTORER = 0x04000000


def x86_64() -> bytes:
    """A static ELF program."""
    # The code has a fixed length, so that the two tables behind it (what to do on which signal) have known addresses.
    length = len(_code(0, 0, 0))
    at = _BASE + _HEADERS
    ignore = at + length
    end = ignore + 32
    code = _code(ignore, end, 0)
    leave = at + code.index(_LEAVE)
    tables = pack("<QQQQ", _SIG_IGN, 0, 0, 0) + pack("<QQQQ", leave, _SA_RESTORER, leave, 0)
    return _headers(len(code) + len(tables), at) + code + tables


_LEAVE = b"\x31\xff\xb8\xe7\x00\x00\x00\x0f\x05"  # xor edi,edi; mov eax,exit_group; syscall


def _code(ignore: int, end: int, _: int) -> bytes:
    actions = b"".join(_on(number, table) for number, table in ((_SIGCHLD, ignore), (_SIGTERM, end), (_SIGINT, end)))
    sleep = b"\xb8\x22\x00\x00\x00\x0f\x05"  # mov eax,pause; syscall
    again = b"\xeb" + pack("<b", -len(sleep) - 2)
    return actions + sleep + again + _LEAVE


def _on(number: int, table: int) -> bytes:
    """rt_sigaction(number, table, NULL, 8)"""
    return (
        b"\xb8\x0d\x00\x00\x00\xbf"
        + pack("<I", number)
        + b"\xbe"
        + pack("<I", table)
        + b"\x31\xd2\x41\xba\x08\x00\x00\x00\x0f\x05"
    )


def _headers(size: int, entry: int) -> bytes:
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf = identity + pack("<HHIQQQIHHHHHH", 2, 62, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    whole = _HEADERS + size
    return elf + pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, whole, whole, 0x1000)
