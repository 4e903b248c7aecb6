"""`tiphys down`: end everything that `tiphys up` started from a data directory, and nothing else."""

import argparse
import os
import select
import shutil
import signal
import sys

from tiphys.client import kubeconfig
from tiphys.cmd import data_directory
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.flags import Parser

PATIENCE = 30.0


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    data_directory.add_flag(parser)
    parser.add_argument(
        "--purge",
        action="store_true",
        help="also delete the data directory with everything in the cluster, and the context in your kubeconfig",
    )
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    data = DataDirectory(given.data_dir.expanduser().absolute())
    if not data.path.exists():
        print(f"No cluster is running from {data.path}.")
        return 0
    data.require()
    if data.is_locked:
        _end(data)
        print(f"Stopped the cluster in {data.path}.")
    else:
        print(f"No cluster is running from {data.path}.")
    if data.network.exists() or data.nodes:
        if data.read_run():
            print("One was killed; what it left on this machine is ended.", flush=True)
        _clean_machine(data)
        data.forget_run()
    if given.purge:
        _forget_context(data)
        shutil.rmtree(data.path)
        print(f"Deleted {data.path}.")
    return 0


def _clean_machine(data: DataDirectory) -> None:
    """Nothing is left of nodes that could end by themselves; those that were killed left their containers."""
    import asyncio

    from tiphys.cmd import local_nodes
    from tiphys.cmd.machine_network import release
    from tiphys.cmd.node_home import clean_node

    for each in data.nodes:
        clean_node(each)
    asyncio.run(local_nodes.remove(data))
    release(data.network)


def _end(data: DataDirectory) -> None:
    """Ask, wait, insist. It has ended when the process has: its lock is gone a little earlier."""
    pid = data.pid
    if not pid:
        raise Unusable(f"a cluster is starting in {data.path}; try again in a moment")
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        for number, patience in ((signal.SIGTERM, PATIENCE), (signal.SIGKILL, 5.0)):
            signal.pidfd_send_signal(process, number)
            if select.select([process], [], [], patience)[0]:
                return
    except ProcessLookupError:
        return
    except PermissionError:
        raise Unusable(f"no permission to stop process {pid}") from None
    finally:
        os.close(process)
    raise Unusable(f"process {pid} does not end")


def _forget_context(data: DataDirectory) -> None:
    """Unless the context is meanwhile another cluster's."""
    if data.merged is None:
        return
    file, context = data.merged
    try:
        access = kubeconfig.resolve(kubeconfig.load([file]), context)
        authority = (data.pki / "ca.crt").read_bytes()
        if access.authority == authority:
            kubeconfig.remove_context(file, context)
            print(f"Removed the context {context} from {file}.")
    except kubeconfig.BadConfig:
        return
    except OSError as problem:
        print(f"warning: the context {context} stays in {file}: {problem.strerror}", file=sys.stderr)
