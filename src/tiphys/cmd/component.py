"""What every program of one component has in common: which API server it works for, and how much it says."""

import argparse
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.log import Log, Logger
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access, BadConfig
from tiphys.cmd.data_directory import Unusable


def add_options(parser: argparse.ArgumentParser) -> None:
    add_access(parser)
    parser.add_argument("-v", "--verbosity", type=int, default=0, metavar="N", help="how much to log; 2 shows every step")


def add_access(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--kubeconfig", type=Path, metavar="F", help="how to reach the API server (default: as kubectl does, or in-cluster)")
    add("--context", default="", metavar="NAME", help="the context of the kubeconfig (default: its current one)")


def access(given: argparse.Namespace) -> Access:
    try:
        if given.kubeconfig is not None:
            return kubeconfig.resolve(kubeconfig.read(given.kubeconfig), given.context)
        paths = [each for each in kubeconfig.default_paths() if each.exists()]
        return kubeconfig.resolve(kubeconfig.load(paths), given.context) if paths else kubeconfig.in_cluster()
    except (BadConfig, OSError) as problem:
        raise Unusable(str(problem)) from None


def logger(given: argparse.Namespace, clock: Clock, name: str) -> Logger:
    return Logger(Log(verbosity=given.verbosity, clock=clock), name, {})
