"""Folders, files and mounts of volumes on this machine. Everything here blocks; callers go through a thread."""

import ctypes
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path, PurePath

from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.volumes.payload import File
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj

_libc = ctypes.CDLL(None, use_errno=True)
_DETACH = 2
_NOFOLLOW = 8
_READ_ONLY, _NO_EXEC, _REMOUNT, _BIND = 1, 8, 32, 4096


def make_empty(path: PurePath, source: Obj, group: int | None) -> None:
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if (source.get("medium") or "") == "Memory" and not os.path.ismount(folder):
        limit = source.get("sizeLimit")
        options = f"size={quantity.parse(limit).value()}" if limit else ""
        _mount("tmpfs", folder, "tmpfs", options)
    folder.chmod(0o777)
    if group is not None:
        os.chown(folder, -1, group)
        folder.chmod(0o2777)


def _mount(source: str, target: Path, kind: str, options: str) -> None:
    if _libc.mount(source.encode(), str(target).encode(), kind.encode(), 0, options.encode()):
        raise failure(str(target))


def bind(source: str, target: PurePath) -> None:
    if _libc.mount(source.encode(), str(target).encode(), None, _BIND, None):
        raise failure(str(target))


def failure(path: str) -> OSError:
    """Of the last call to the C library."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path)


def forbid_execution(path: PurePath) -> None:
    """Of what is mounted there already: read-only, and nothing on it can be run."""
    flags = _REMOUNT | _BIND | _READ_ONLY | _NO_EXEC
    if _libc.mount(None, str(path).encode(), None, flags, None):
        raise failure(str(path))


def make_host_path(source: Obj) -> None:
    """Check or make what the pod expects there (pkg/volume/hostpath/host_path.go)."""
    path, wanted = Path(source["path"]), source.get("type") or ""
    if wanted == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    elif wanted == "FileOrCreate" and not path.exists():
        path.touch(0o644)
    checks = {
        "Directory": (stat.S_ISDIR, "a directory"),
        "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
        "File": (stat.S_ISREG, "a file"),
        "FileOrCreate": (stat.S_ISREG, "a file"),
        "Socket": (stat.S_ISSOCK, "a socket file"),
        "CharDevice": (stat.S_ISCHR, "a character device"),
        "BlockDevice": (stat.S_ISBLK, "a block device"),
    }
    if wanted in checks:
        fits, words = checks[wanted]
        if not path.exists() or not fits(path.stat().st_mode):
            raise CannotMake(f"hostPath type check failed: {path} is not {words}")


def write_payload(path: PurePath, files: Mapping[str, File], group: int | None, stamp: str) -> None:
    """All files change at once: they lie in a folder of their own, and one symbolic link names the newest of these.

    The layout is upstream's (pkg/volume/util/atomic_writer.go): programs in containers watch `..data`.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777)
    link = folder / "..data"
    before = folder / os.readlink(link) if link.is_symlink() else None
    if before is not None and _holds(before, files):
        return
    fresh = folder / f"..{stamp}"
    for name, file in files.items():
        target = fresh / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
        target.chmod(file.mode | (0o040 if group is not None else 0))
        if file.owner is not None or group is not None:
            os.chown(target, -1 if file.owner is None else file.owner, -1 if group is None else group)
    fresh.mkdir(exist_ok=True)
    fresh.chmod(0o755)
    temporary = folder / "..data_tmp"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(fresh.name)
    temporary.replace(link)
    _show(folder, {name.split("/", 1)[0] for name in files})
    if before is not None:
        shutil.rmtree(before, ignore_errors=True)


def _holds(folder: Path, files: Mapping[str, File]) -> bool:
    there = {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}
    return there == set(files) and all((folder / name).read_bytes() == file.data for name, file in files.items())


def _show(folder: Path, names: set[str]) -> None:
    for name in names:
        shown = folder / name
        if not shown.is_symlink():
            shown.symlink_to(f"..data/{name}")
    for each in folder.iterdir():
        if each.is_symlink() and not each.name.startswith("..") and each.name not in names:
            each.unlink()


def write_text(path: PurePath, text: str) -> None:
    """In place: the file is mounted into containers, which would not see another one."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def make_message_file(path: PurePath) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    # Whoever the container runs as may write it.
    file.chmod(0o666)


def read_tail(path: PurePath, size: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - size))
            return file.read(size)
    except OSError:
        return b""


def read_start(path: PurePath, size: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def remove_tree(path: PurePath) -> None:
    """Unmount what is mounted below, then delete. A mount that stays would have its files deleted: that ends in an error."""
    unmount_below(path)
    if mounts_below(path):
        raise OSError(f"{path} still has mounts")
    shutil.rmtree(path, ignore_errors=True)


def mounts_below(path: PurePath) -> list[str]:
    """Deepest first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        target = line.split(" ")[4].replace("\\040", " ")
        if target == str(path) or target.startswith(f"{path}/"):
            found.append(target)
    return sorted(found, key=len, reverse=True)


def unmount_below(path: PurePath) -> None:
    for target in mounts_below(path):
        unmount(target)


def unmount(target: str) -> None:
    """Or nothing, where nothing is mounted."""
    _libc.umount2(target.encode(), _DETACH | _NOFOLLOW)
