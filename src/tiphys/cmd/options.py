"""What `tiphys up` was asked for, as one value."""

from dataclasses import dataclass
from pathlib import Path

from tiphys.cmd.data_directory import DataDirectory

COMPONENTS = ("scheduler", "controllers", "proxy", "dns")
CNI_MODES = ("tiphys", "none")
PROXY_MODES = ("nftables", "iptables", "ipvs")


@dataclass(frozen=True, slots=True)
class UpOptions:
    data: DataDirectory
    bind_address: str
    port: int
    node: str
    disabled: frozenset[str]
    store: str
    token_auth_file: Path | None
    merge: bool
    verbosity: int
    service_cidr: str
    nodes: int = 1
    """Of this machine; several have network namespaces of their own."""
    cluster_cidr: str = ""
    """Of pods; each node gets its part. Empty: a range that nothing on this machine uses."""
    detached: bool = False
    proxy_mode: str = "nftables"
    may_install: bool = True
    cni: str = "tiphys"
    scheduler_config: Path | None = None
    scheduler_plugins: tuple[str, ...] = ()
    runtime_endpoint: str = ""
    """Of a container runtime that is there already; empty: the node brings its own."""
