"""The files that containerd and its network plugins read."""

import json
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of one node's containerd live."""

    root: PurePath
    """Kept between runs: images and containers."""
    state: PurePath
    """Of running containers. Short: unix sockets below it may have no more than 107 characters."""
    networks: PurePath | None = None
    """Where the files of its network plugins are, if not with the rest."""

    @property
    def socket(self) -> PurePath:
        return self.state / "containerd.sock"

    @property
    def config(self) -> PurePath:
        return self.root / "config.toml"

    @property
    def network(self) -> PurePath:
        """Where it looks how to give pods their network; who writes that is none of its business."""
        return self.networks or self.root / "net.d"

    @property
    def namespaces(self) -> PurePath:
        """Of pods' networks, a file each."""
        return self.state / "io.containerd.grpc.v1.cri" / "netns"

    @property
    def tasks(self) -> PurePath:
        """A folder for each task: what its shim runs it from."""
        return self.state / "io.containerd.runtime.v2.task" / "k8s.io"

    @property
    def task_files(self) -> PurePath:
        """Of each task, those that are kept between runs."""
        return self.root / "data" / "io.containerd.runtime.v2.task" / "k8s.io"

    @property
    def addresses(self) -> PurePath:
        """What host-local has given away."""
        return self.root / "addresses"


def containerd(layout: Layout, *, pause_image: str, plugins: PurePath, restrict_oom_score: bool) -> str:
    """`restrict_oom_score`: the process may not lower the score (CAP_SYS_RESOURCE is missing), so containers must not ask."""
    quoted = json.dumps
    return f"""version = 2
root = {quoted(str(layout.root / "data"))}
state = {quoted(str(layout.state))}
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
address = {quoted(str(layout.socket))}

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = {quoted(pause_image)}
stream_server_address = "127.0.0.1"
stream_server_port = "0"
enable_unprivileged_ports = true
enable_unprivileged_icmp = true
disable_apparmor = true
netns_mounts_under_state_dir = true
restrict_oom_score_adj = {str(restrict_oom_score).lower()}

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = {quoted(str(plugins))}
conf_dir = {quoted(str(layout.network))}

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = {quoted(f"{layout.root / 'certs.d'}:/etc/containerd/certs.d")}

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"""
