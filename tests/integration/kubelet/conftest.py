"""A control plane and a node of it, with a containerd of its own, for the tests of this folder."""

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.tasks import first_done
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.node_home import NodeHome, clean_node, mark_of
from tiphys.cmd.node_part import NodeProcess, NodeWish
from tiphys.kubelet.containerd.archive import archive

IMAGE = "docker.io/library/busybox:test"
APPLETS = [
    "sh",
    "sleep",
    "echo",
    "cat",
    "ls",
    "wget",
    "httpd",
    "env",
    "id",
    "touch",
    "test",
    "true",
    "false",
    "hostname",
    "kill",
    "stat",
]


class Cluster:
    """A node of it runs inside `with cluster.node():`."""

    def __init__(self, folder):
        self.folder = folder
        self.access = kubeconfig.resolve(kubeconfig.read(folder / "admin.kubeconfig"))
        self.home = NodeHome(folder / "node")
        # Those of a run that goes on beside this one differ by chance, and those of the processes of one run for certain.
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        self.pods = f"10.238.{(mark_of(folder.parent.parent) + worker) % 256}.0/24"

    @contextmanager
    def node(self, *arguments):
        """The node process; `--keep` leaves its containers."""
        authority = tls.load(self.folder / "pki" / "ca.crt", self.folder / "pki" / "ca.key")
        wish = NodeWish(
            self.folder / "node",
            self.access.server,
            authority,
            pod_ranges=(self.pods,),
            verbosity=1,
            with_proxy=False,
            arguments=("--port", "0", *arguments),
        )
        works, stop = threading.Event(), asyncio.Event()
        loop, failures = asyncio.new_event_loop(), []

        self.process = NodeProcess(wish, RealClock())

        async def serve():
            await first_done(self.process.run(works.set), stop.wait())

        def run():
            try:
                loop.run_until_complete(serve())
            except Unusable as failure:
                failures.append(failure)
            finally:
                works.set()
                # Threads of its own end with it.
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.run_until_complete(loop.shutdown_default_executor())
                loop.close()

        thread = threading.Thread(target=run)
        thread.start()
        in_time = works.wait(120)
        try:
            assert not failures, failures
            assert in_time, "the node does not come up"
            yield
        finally:
            # It may have ended by itself.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(stop.set)
            thread.join()

    def import_image(self):
        commands = {f"bin/{name}": "busybox" for name in APPLETS}
        data = archive(IMAGE, {"bin/busybox": Path("/bin/busybox").read_bytes()}, links=commands, command=["sh"])
        asyncio.run(self.home.containerd().import_image(data))

    def run(self, scenario):
        """`await scenario(client)` with the rights of an administrator."""

        async def main():
            client = RestClient(self.access)
            try:
                async with asyncio.timeout(120):
                    await scenario(client)
            finally:
                await client.closed()

        asyncio.run(main())


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    command = [sys.executable, "-m", "tiphys.cmd.main"]
    up = [*command, "up", "--data-dir", folder, "--port", "0", "--no-merge", "--detach", "--node", "none"]
    up += ["--disable", "scheduler,controllers"]
    done = subprocess.run(up, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    yield folder
    subprocess.run([*command, "down", "--data-dir", folder], capture_output=True, check=True)


async def _service_account(client):
    """No controller is here to make it."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}
    await client.create(SERVICE_ACCOUNTS, account, "default")


@pytest.fixture(scope="session")
def cluster(control_plane):
    assert os.geteuid() == 0, "real containers need root"
    made = Cluster(control_plane)
    made.run(_service_account)
    yield made
    clean_node(control_plane / "node")


@pytest.fixture(scope="module")
def node(cluster):
    with cluster.node():
        cluster.import_image()
        yield cluster
