"""What a kubelet was asked for, as one value."""

from dataclasses import dataclass, field
from pathlib import Path

from tiphys.kubelet.configuration import seconds, with_defaults
from tiphys.kubelet.pods.restarts import LONGEST_DELAY
from tiphys.kubelet.pods.sandbox_config import HostDns
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class KubeletConfig:
    node: str
    root: Path
    """Of pods: their volumes and files."""
    logs: Path
    addresses: tuple[str, ...]
    """Of the node; the first is its own."""
    cgroup_root: str
    port: int = 10250
    """Of the server; 0 takes a free one."""
    or_any_port: bool = False
    """Where that one is taken, a free one will do."""
    pod_cidrs: tuple[str, ...] = ()
    """That the node claims for its pods; empty: whatever the cluster gives it."""
    cluster_domain: str = "cluster.local"
    cluster_dns: tuple[str, ...] = ()
    max_pods: int = 110
    labels: tuple[tuple[str, str], ...] = ()
    host_dns: HostDns = field(default_factory=HostDns)
    settings: Obj = field(default_factory=lambda: with_defaults({}))
    """The whole KubeletConfiguration; read-only."""

    @property
    def longest_back_off(self) -> float:
        """Between two runs of a container that keeps failing."""
        return seconds(self.settings.get("crashLoopBackOff") or {}, "maxContainerRestartPeriod") or LONGEST_DELAY

    @property
    def most_processes(self) -> int | None:
        """Of one pod."""
        limit: int = self.settings["podPidsLimit"]
        return limit if limit > 0 else None
