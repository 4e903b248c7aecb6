"""A node joins: on a machine (here a network namespace) where no cluster runs, knowing nothing but a token and a hash.

https://kubernetes.io/docs/reference/setup-tools/kubeadm/kubeadm-join/
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.cni.conftest import Space, give

from tiphys.api.core.nodes import NODES
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,  # a control plane and a node
    pytest.mark.skipif(os.geteuid() != 0, reason="real containers need root"),
]

TIPHYS = [sys.executable, "-m", "tiphys.cmd.main"]
NUMBER = 100 + os.getpid() % 100
"""Tests that run at the same time have links and networks of their own."""


@pytest.fixture
def machine():
    """Another machine, linked to this one."""
    space = Space()
    try:
        for line in (
            f"link add tpj{NUMBER} type veth peer eth0 netns {space.holder.pid}",
            f"address add 10.237.{NUMBER}.1/24 dev tpj{NUMBER}",
            f"link set tpj{NUMBER} up",
        ):
            subprocess.run(["ip", *line.split()], check=True)
        space.run("ip link set eth0 up")
        give(space, "eth0", f"10.237.{NUMBER}.2/24")
        yield space
    finally:
        space.end()


def run(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


def joining(machine, *arguments):
    # Mounts of its own: the pods of its node are none of this machine's.
    return run(*machine.command("unshare", "--mount", "--propagation", "private", *TIPHYS, "join", *arguments))


def test_from_a_token_to_a_node_that_is_ready(machine, tmp_path):
    cluster, node = tmp_path / "c", tmp_path / "n"
    up = ["--port", "0", "--no-merge", "--detach", "--node", "none", "--bind-address", f"10.237.{NUMBER}.1"]
    done = run(*TIPHYS, "up", "--data-dir", cluster, *up, "--disable", "scheduler", "--cluster-cidr", "10.236.0.0/16")
    assert done.returncode == 0, done.stdout + done.stderr
    try:
        told = run(*TIPHYS, "token", "create", "--print-join-command", "--data-dir", cluster).stdout.split()
        assert told[:2] == ["tiphys", "join"]
        own = ["--data-dir", node, "--node-name", "joined", "--node-ip", f"10.237.{NUMBER}.2", "--detach", "--no-install"]

        wrong = joining(machine, *told[2:-1], f"sha256:{'0' * 64}", *own)
        assert wrong.returncode == 1
        assert "are pinned" in wrong.stderr

        done = joining(machine, *told[2:], *own)
        assert done.returncode == 0, done.stdout + done.stderr
        asyncio.run(until_ready(cluster))
        assert "joined" in run(*TIPHYS, "status", "--data-dir", node).stdout
        assert run(*TIPHYS, "down", "--data-dir", node).returncode == 0
        # A certificate of its own stays: the token is not needed again.
        assert (node / "node" / "kubelet.kubeconfig").exists()
        left = machine.run("ip link") + machine.run("nft list tables")
        assert "tiphys" not in left
        assert "tph" not in left

        # It knows its name, and nobody gives it another one.
        anew = ["--data-dir", node, "--node-ip", f"10.237.{NUMBER}.2", "--detach", "--no-install"]
        assert "has joined as joined" in joining(machine, *anew, "--node-name", "other").stderr
        done = joining(machine, *anew)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Node joined has joined" in done.stdout
    finally:
        run(*TIPHYS, "down", "--data-dir", node)
        run(*TIPHYS, "down", "--data-dir", cluster)


async def until_ready(cluster: Path) -> None:
    client = RestClient(kubeconfig.resolve(kubeconfig.read(cluster / "admin.kubeconfig")))
    try:
        async with asyncio.timeout(120):
            while True:
                found = await client.get(NODES, "joined")
                conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
                if conditions.get("Ready") == "True" and conditions.get("NetworkUnavailable") == "False":
                    assert found["spec"]["podCIDR"].startswith("10.236.")
                    return
                await asyncio.sleep(0.1)
    finally:
        await client.closed()
