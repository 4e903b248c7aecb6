"""Clusters of several real nodes on this machine, for tests: started, given an image, and run in."""

import subprocess
import sys
from pathlib import Path

from tiphys.cmd.enclosure import inhabitant, into
from tiphys.kubelet.containerd.archive import archive

IMAGE = "docker.io/library/busybox:test"
TIPHYS = [sys.executable, "-m", "tiphys.cmd.main"]
APPLETS = ("sh", "sleep", "nc", "hostname", "echo", "httpd")


def run(*command: object, **more: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def up(folder: Path, *more: str) -> None:
    """Two nodes that have the image."""
    run(*TIPHYS, "up", "--data-dir", folder, "--port", "0", "--no-merge", "--detach", "--nodes", "2", "--no-install", *more)
    for number in (1, 2):
        _import_image(folder / f"node-{number}")


def inside(folder: Path, number: int) -> list[str]:
    """What to put before a command, so that it runs on that node."""
    pid = inhabitant(folder / f"node-{number}")
    assert pid is not None
    return into(pid)


def _import_image(node: Path) -> None:
    data = archive(
        IMAGE, {"bin/busybox": Path("/bin/busybox").read_bytes()}, links={f"bin/{name}": "busybox" for name in APPLETS}
    )
    address = next(node.glob("run/containerd.sock"), None) or _state_socket(node)
    pid = inhabitant(node)
    assert pid is not None
    command = [*into(pid), "ctr", "--address", str(address), "--namespace", "k8s.io", "images", "import", "-"]
    subprocess.run(command, input=data, check=True, capture_output=True)


def _state_socket(node: Path) -> str:
    """Where the path of the node is too long for a socket."""
    text = (node / "containerd" / "config.toml").read_text()
    return next(line.split('"')[1] for line in text.splitlines() if line.startswith("address = "))
