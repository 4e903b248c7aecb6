"""Parts of volumes, opened in such a way that no symbolic link leads out of the volume, not even one that changes meanwhile.

What was opened is what is mounted: a bind mount of the open file lies in a folder of the pod, and containers get that one.
https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath and pkg/volume/util/subpath/subpath_linux.go.
"""

import ctypes
import errno
import os
import stat
import struct
from pathlib import Path, PurePath

from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.volumes import host
from tiphys.kubelet.volumes.plan import SubPath

_libc = ctypes.CDLL(None, use_errno=True)
_OPENAT2 = 437
_BENEATH = 0x08
_NO_MAGIC_LINKS = 0x02


def mount_part(wish: SubPath, target: PurePath) -> str:
    """Make the part if it is not there, and mount it at `target`; that is what a container gets."""
    handle = open_inside(wish, create=True)
    try:
        place = Path(target)
        host.unmount_below(place)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            place.mkdir(exist_ok=True)
        else:
            place.touch()
        host.bind(f"/proc/self/fd/{handle}", place)
    finally:
        os.close(handle)
    return str(target)


def read_part(wish: SubPath, size: int) -> bytes:
    """Of a file; empty where it is not there."""
    try:
        handle = open_inside(wish, create=False)
    except FileNotFoundError:
        return b""
    with os.fdopen(os.open(f"/proc/self/fd/{handle}", os.O_RDONLY), "rb") as file:
        os.close(handle)
        return file.read(size)


def open_inside(wish: SubPath, *, create: bool) -> int:
    """A handle by which it can be mounted. Folders that are missing are made like the volume's own."""
    base = os.open(wish.volume, os.O_PATH)
    if not stat.S_ISDIR(os.fstat(base).st_mode):
        os.close(base)
        raise CannotMake(f"the volume is not a folder, so that {wish.part!r} cannot be a part of it")
    try:
        return _walk(base, [each for each in wish.part.split("/") if each not in ("", ".")], create=create)
    except OSError as problem:
        if problem.errno in (errno.EXDEV, errno.ELOOP):
            raise CannotMake(f"subpath {wish.part!r} leads out of its volume") from problem
        raise
    finally:
        os.close(base)


def _walk(base: int, parts: list[str], *, create: bool) -> int:
    at = os.dup(base)
    for depth, name in enumerate(parts, start=1):
        path = "/".join(parts[:depth])
        try:
            found = _open(base, path)
        except FileNotFoundError:
            if not create:
                os.close(at)
                raise
            mode = stat.S_IMODE(os.fstat(base).st_mode)
            os.mkdir(name, dir_fd=at)
            found = _open(base, path)
            # Of what was made, not of what its name leads to by now.
            os.chmod(f"/proc/self/fd/{found}", mode)
        os.close(at)
        at = found
    return at


def _open(base: int, path: str) -> int:
    """Links are followed as long as they stay below `base`."""
    how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGIC_LINKS)
    handle = int(_libc.syscall(_OPENAT2, base, path.encode(), how, len(how)))
    if handle < 0:
        raise host.failure(path)
    return handle
