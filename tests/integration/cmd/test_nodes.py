"""Several nodes on one machine: pods of different nodes, Services and names between them, and nothing left in the end.

https://kubernetes.io/docs/concepts/services-networking/#the-kubernetes-network-model
"""

import asyncio
import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest
from tests.nodes import IMAGE, TIPHYS, run, up

from tiphys.api.core.pods import PODS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.core.services import SERVICES
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient
from tiphys.cmd.enclosure import inhabitant
from tiphys.cmd.node_home import mark_of
from tiphys.machinery.errors import ApiError

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,  # containers, namespaces
    pytest.mark.skipif(os.geteuid() != 0, reason="real containers need root"),
]


def kernel():
    """All that clusters could leave behind in the kernel of this machine."""
    listed = [run("ip", "-o", "link"), run("ip", "-o", "address"), run("ip", "route"), run("nft", "list", "tables")]
    folders = [*Path("/sys/fs/cgroup").glob("*/tiphys-*"), *Path("/run").glob("tiphys-*")]
    return "\n".join([*listed, Path("/proc/mounts").read_text(), *map(str, folders)])


def names(folder):
    """By which this cluster is known there, and no other one."""
    return [*(f"{mark_of(each):08x}" for each in (folder, folder / "node-1", folder / "node-2")), str(folder)]


def addresses(folder):
    """Which another one may be given as soon as this one has ended."""
    number = json.loads((folder / "network.json").read_text())["number"]
    return [f"10.239.{number}.", f"10.{number}."]


def there(sought):
    listed = kernel()
    return [each for each in sought if each in listed]


@pytest.fixture
def cluster(tmp_path):
    """Of two nodes that have an image; ended without a word, and cleaned up."""
    folder = tmp_path / "c"
    up(folder)
    assert there(names(folder))
    assert there(addresses(folder))
    yield folder
    status = json.loads(run(*TIPHYS, "status", "-o", "json", "--data-dir", folder))
    assert [each["address"] for each in status["components"] if each["name"].startswith("node ")]
    os.kill(status["components"][0]["pid"], signal.SIGKILL)
    assert "One was killed; what it left on this machine is ended." in run(*TIPHYS, "down", "--data-dir", folder)
    assert there(names(folder)) == []
    until = time.monotonic() + 200
    while there(addresses(folder)):
        # Another cluster of these tests ends, too.
        assert time.monotonic() < until
        time.sleep(0.5)
    assert [each for each in (1, 2) if inhabitant(folder / f"node-{each}") is not None] == []


def pod(name, node, command, **labels):
    container = {"name": "c", "image": IMAGE, "imagePullPolicy": "Never", "command": ["sh", "-c", command]}
    spec = {"nodeName": node, "containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


async def until(client, name, holds):
    async with asyncio.timeout(120):
        while True:
            found = await client.get(PODS, name, "default")
            if holds(found["status"]):
                return found["status"]
            await asyncio.sleep(0.1)


async def _account(client):
    """Pods need it; the controllers make it a moment after the cluster is ready."""
    async with asyncio.timeout(120):
        while True:
            try:
                return await client.get(SERVICE_ACCOUNTS, "default", "default")
            except ApiError:
                await asyncio.sleep(0.1)


def test_pods_of_two_nodes_reach_each_other_by_service_and_name(cluster):
    async def scenario(client):
        await _account(client)
        nodes = [f"{socket.gethostname().lower()}-{number}" for number in (1, 2)]
        service = {"metadata": {"name": "a"}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}}
        await client.create(SERVICES, {"apiVersion": "v1", "kind": "Service", **service}, "default")
        await client.create(PODS, pod("a", nodes[0], "nc -ll -p 80 -e hostname", app="a"), "default")
        ask = "until nc -w 2 a.default.svc.cluster.local 80 > /dev/termination-log; do sleep 0.2; done"
        await client.create(PODS, pod("b", nodes[1], ask), "default")
        told = await until(client, "b", lambda status: status.get("phase") == "Succeeded")
        assert told["containerStatuses"][0]["state"]["terminated"]["message"] == "a\n"
        # The machine itself reaches pods too: API servers call webhooks, and people try node ports.
        address = (await client.get(PODS, "a", "default"))["status"]["podIP"]
        assert await asyncio.to_thread(_heard, address) == b"a\n"

    async def main():
        client = RestClient(kubeconfig.resolve(kubeconfig.read(cluster / "admin.kubeconfig")))
        try:
            await scenario(client)
        finally:
            await client.closed()

    asyncio.run(main())


def _heard(address):
    with socket.create_connection((address, 80), 60) as asking:
        return asking.recv(100)
