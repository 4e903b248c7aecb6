"""The kubeconfig files that a cluster has written: its own, and the user's that was given a context."""

from dataclasses import replace
from pathlib import Path

from tiphys.base.tls import Pair, write_private
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access, BadConfig
from tiphys.cmd.data_directory import DataDirectory, Unusable

CONTEXT = "tiphys"


def access_of(data: DataDirectory) -> Access:
    """As the administrator. Raises Unusable where no cluster has ever run."""
    if not data.kubeconfig.exists():
        raise Unusable(f"no cluster has run in {data.path} yet; `tiphys up` starts one")
    try:
        return kubeconfig.resolve(kubeconfig.load([data.kubeconfig]))
    except BadConfig as problem:
        raise Unusable(f"cannot use {data.kubeconfig}: {problem}") from None


def access_in(file: Path) -> Access:
    """As a flag's file says. Raises Unusable."""
    if not file.is_file():
        raise Unusable(f"there is no file {file}")
    try:
        return kubeconfig.resolve(kubeconfig.read(file))
    except BadConfig as problem:
        raise Unusable(f"cannot use {file}: {problem}") from None


def show_new_admin(data: DataDirectory, admin: Pair) -> None:
    """Put a renewed certificate in the place of the old one, wherever a cluster has written that."""
    if not data.kubeconfig.exists():
        return
    access = replace(access_of(data), pair=admin)
    write_private(data.kubeconfig, kubeconfig.render(kubeconfig.context_of(CONTEXT, access)))
    if data.merged is None:
        return
    file, context = data.merged
    try:
        theirs = kubeconfig.resolve(kubeconfig.load([file]), context)
        # The context may meanwhile be another cluster's.
        if theirs.authority == access.authority:
            kubeconfig.merge_context(file, context, replace(theirs, pair=admin), use=False)
    except (OSError, BadConfig) as problem:
        raise Unusable(f"cannot put the new certificate into {file}: {problem}") from None
