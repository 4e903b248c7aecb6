"""`tiphys backup` and `tiphys restore`: the store of a cluster to one file, and back."""

import argparse
from pathlib import Path

from tiphys.cmd import data_directory
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.flags import Parser
from tiphys.store.interface import Unavailable
from tiphys.store.sqlite.file import backup, restore

_TOLD = {
    "backup": "Copy the SQLite store of a cluster, as it is at one moment, into one file. The cluster may run.",
    "restore": "Put a backup in the place of a cluster's store. The cluster must not run; what it held since is lost.",
}


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=_TOLD[name])
    add = parser.add_argument
    data_directory.add_flag(parser)
    add("file", type=Path, metavar="FILE", help="the backup")
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    data = DataDirectory(given.data_dir.expanduser().absolute())
    try:
        if name == "backup":
            _backup(data, given.file)
        else:
            _restore(data, given.file)
    except Unavailable as problem:
        raise Unusable(str(problem)) from None
    return 0


def _backup(data: DataDirectory, file: Path) -> None:
    data.require()
    if not data.store.is_file():
        told = "one in memory cannot be backed up, and of one on etcd etcdctl makes a snapshot"
        raise Unusable(f"{data.path} has no SQLite store; {told}")
    if file.resolve() == data.store.resolve():
        raise Unusable(f"{file} is the store itself")
    backup(data.store, file)
    print(f"Copied the store of {data.path} to {file} ({file.stat().st_size / 1024:.0f} KiB).")


def _restore(data: DataDirectory, file: Path) -> None:
    if not file.is_file():
        raise Unusable(f"there is no file {file}")
    data.prepare()
    with data.lock():
        restore(file, data.store)
    print(f"Restored {file} into {data.path}.")
