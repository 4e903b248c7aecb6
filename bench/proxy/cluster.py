"""An API server with many Services and their slices."""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tiphys.api.core.nodes import NODES
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.client.kubeconfig import read, resolve
from tiphys.client.rest import RestClient
from tiphys.machinery.tree import Obj

NODE = "node"
NAMESPACE = "default"
PODS = "10.128.0.0/9"
_AT_ONCE = 32


@contextlib.contextmanager
def api_server() -> Iterator[Path]:
    """The kubeconfig of an administrator."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["up", "--no-merge", "--data-dir", folder, "--port", "0", "--store", "memory", "--node", "none"]
        words += ["--disable", "controllers,scheduler,proxy,dns", "--service-cluster-ip-range", "10.64.0.0/12"]
        server = subprocess.Popen([sys.executable, "-m", "tiphys.cmd.main", *words], stdout=subprocess.PIPE)
        try:
            for line in server.stdout or ():
                if line.startswith(b"Ready"):
                    break
            else:
                raise SystemExit("the API server did not start")
            yield Path(folder) / "admin.kubeconfig"
        finally:
            server.terminate()
            server.wait()


def client(config: Path) -> RestClient:
    return RestClient(resolve(read(config)))


def service(number: int) -> Obj:
    address = f"10.64.{number // 250 + 1}.{number % 250 + 1}"
    port = {"name": "web", "port": 80, "targetPort": 8080, "protocol": "TCP"}
    return {"metadata": {"name": f"s-{number}"}, "spec": {"clusterIP": address, "ports": [port]}}


def slice_(number: int, endpoints: int, turn: int = 0) -> Obj:
    """Each turn, the first of the endpoints is another pod."""
    first = number * endpoints
    addresses = [(first + each) for each in range(endpoints)]
    pods = [f"10.{128 + each // 62500}.{each // 250 % 250}.{each % 250 + 1}" for each in addresses]
    if turn:
        pods[0] = f"10.200.{turn % 250}.{number % 250 + 1}"
    return {
        "metadata": {"name": f"s-{number}-1", "labels": {"kubernetes.io/service-name": f"s-{number}"}},
        "addressType": "IPv4",
        "ports": [{"name": "web", "port": 8080, "protocol": "TCP"}],
        "endpoints": [{"addresses": [pod], "nodeName": f"n{at}", "conditions": {"ready": True}} for at, pod in enumerate(pods)],
    }


async def fill(config: Path, services: int, endpoints: int) -> None:
    caller = client(config)
    address = {"type": "InternalIP", "address": "192.0.2.1"}
    node: Obj = {"metadata": {"name": NODE}, "spec": {"podCIDR": PODS, "podCIDRs": [PODS]}}
    made = await caller.create(NODES, node)
    await caller.patch(NODES, NODE, {"status": {"addresses": [address]}}, subresource="status")
    waiting = iter(range(services))

    async def work() -> None:
        for number in waiting:
            await caller.create(SERVICES, service(number), NAMESPACE)
            await caller.create(ENDPOINT_SLICES, slice_(number, endpoints), NAMESPACE)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())
    caller.close()
    assert made["metadata"]["name"] == NODE


async def change(config: Path, number: int, endpoints: int, turn: int) -> None:
    caller = client(config)
    new = slice_(number, endpoints, turn)
    await caller.patch(ENDPOINT_SLICES, new["metadata"]["name"], {"endpoints": new["endpoints"]}, NAMESPACE)
    caller.close()
