"""What this machine offers to a node, and the packages it is missing."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable

from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.node_choice import NETWORK_PACKAGES, REAL, RUNTIME_PACKAGES, Impossible, Machine, choose
from tiphys.kubelet.containerd.process import CannotRun, Containerd

_INSTALL_SECONDS = 600.0


def look() -> Machine:
    programs = [name for name in RUNTIME_PACKAGES | NETWORK_PACKAGES if name != "CNI plugins"]
    lacks = {name for name in programs if shutil.which(name, path=_path()) is None}
    try:
        Containerd.plugins()
    except CannotRun:
        lacks.add("CNI plugins")
    return Machine(
        platform.system(), platform.machine(), os.geteuid() == 0, frozenset(lacks), shutil.which("apt-get") is not None
    )


def _path() -> str:
    """Where root's programs lie, even if the one who called did not say so."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"


def install(packages: Iterable[str]) -> str:
    """What went wrong, in one sentence; empty where nothing did."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    wanted = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    for command in (["apt-get", "update", "-qq"], wanted):
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            return f"{' '.join(command)}: {problem}"
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        return f"{' '.join(wanted)} failed: {said[-1] if said else done.returncode}"
    return ""


def make_ready(*, with_network: bool, may_install: bool) -> None:
    """For a node with a runtime of its own; what is missing is installed, which is said first. Raises Unusable."""
    try:
        choice = choose(REAL, look(), own_runtime=True, with_network=with_network, may_install=may_install)
    except Impossible as problem:
        raise Unusable(str(problem)) from None
    if choice.install:
        print(f"Installing {', '.join(choice.install)} for the node (--no-install forbids it)", flush=True)
        if problems := install(choice.install):
            raise Unusable(problems)
