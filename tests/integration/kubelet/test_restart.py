"""A node that stops, and one that comes back."""

import asyncio
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tiphys.api.core.pods import PODS
from tiphys.kubelet.containerd import shims
from tiphys.kubelet.containerd.ctr import ctr
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.node.facts import hostname
from tiphys.kubelet.volumes.host import mounts_below

pytestmark = [pytest.mark.root, pytest.mark.slow]  # containers take their time


def pod(name):
    container = {"name": "c", "image": "busybox:test", "imagePullPolicy": "IfNotPresent", "command": ["sleep", "1000"]}
    spec = {"nodeName": hostname(), "containers": [container], "terminationGracePeriodSeconds": 1}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**spec, "automountServiceAccountToken": False},
    }


async def ready(client, name):
    while True:
        found = await client.get(PODS, name, "default")
        if any(each["type"] == "Ready" and each["status"] == "True" for each in found["status"].get("conditions") or ()):
            return found
        await asyncio.sleep(0.05)


async def running(home, uid):
    runtime = Runtime(Path(home.layout.socket))
    try:
        return {each.id for each in await runtime.seen() if each.pod_uid == uid and each.state in ("running", "ready")}
    finally:
        await runtime.close()


def test_containers_outlive_their_kubelet_and_nothing_outlives_the_node(cluster):
    uid, before = "", set()

    async def begin(client):
        nonlocal uid, before
        made = await client.create(PODS, pod("lasting"), "default")
        uid = made["metadata"]["uid"]
        await ready(client, "lasting")
        before = await running(cluster.home, uid)

    async def orphaned(client):
        await client.delete(PODS, "lasting", "default", options={"gracePeriodSeconds": 0})
        await client.create(PODS, pod("second"), "default")

    async def taken_over(client):
        found = await ready(client, "second")
        assert found["status"]["containerStatuses"][0]["restartCount"] == 0
        while await running(cluster.home, uid):  # noqa: ASYNC110 - the runtime tells no events
            await asyncio.sleep(0.05)

    async def same(client):
        assert await running(cluster.home, uid) == before
        found = await ready(client, "lasting")
        assert found["status"]["containerStatuses"][0]["restartCount"] == 0

    with cluster.node("--keep"):
        cluster.import_image()
        cluster.run(begin)
    assert len(before) == 2
    assert asyncio.run(running(cluster.home, uid)) == before
    # One that cannot start leaves them to the next.
    with (
        socket.create_server(("0.0.0.0", 0)) as taken,
        pytest.raises(AssertionError, match="is taken by another program"),
        cluster.node("--no-or-any-port", "--port", str(taken.getsockname()[1])),
    ):
        pass
    assert asyncio.run(running(cluster.home, uid)) == before
    with cluster.node("--keep"):
        cluster.run(same)
    cluster.run(orphaned)
    with cluster.node():
        cluster.run(taken_over)
    assert cluster.home.containerd().pid() is None
    assert mounts_below(cluster.home.folder) == []
    assert not Path("/sys/class/net", cluster.home.bridge).exists()
    assert not [each for each in Path("/sys/fs/cgroup").glob(f"*{cluster.home.cgroup_root}") if each.exists()]


def test_a_shim_whose_task_never_came_to_be_goes_with_the_node(cluster, tmp_path):
    # What a start leaves that containerd has given up: it knows of no such task.
    (tmp_path / "config.json").write_text("{}")
    os.mkfifo(tmp_path / "log")
    with cluster.node():
        layout = cluster.home.layout
        command = ["containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", "lonely", "-address", str(layout.socket), "start"]
        told = {**os.environ, "TTRPC_ADDRESS": f"{layout.socket}.ttrpc"}
        log = os.open(tmp_path / "log", os.O_RDWR)
        try:
            subprocess.run(command, cwd=tmp_path, env=told, check=True, capture_output=True)
        finally:
            os.close(log)
        assert "lonely" in {name for _, name in shims.look(layout).processes}
    assert not shims.look(layout)


def test_a_container_that_runs_though_it_was_noted_as_ended_is_ended_with_its_pod(cluster):
    # As a containerd leaves it that is killed between a container's start and the note of it: it refuses to remove that one.
    async def ids(home, uid):
        runtime = Runtime(Path(home.layout.socket))
        try:
            observed = await runtime.observe(uid)
            return {each.attempt: each.id for each in observed.containers}
        finally:
            await runtime.close()

    async def scenario(client):
        await client.create(PODS, pod("twice"), "default")
        uid = (await ready(client, "twice"))["metadata"]["uid"]
        (first,) = (await ids(cluster.home, uid)).values()
        await ctr(cluster.home.layout.socket, "tasks", "kill", "--signal", "SIGKILL", first)
        while len(await ids(cluster.home, uid)) < 2:  # noqa: ASYNC110 - the runtime tells no events
            await asyncio.sleep(0.05)
        await ready(client, "twice")
        await ctr(cluster.home.layout.socket, "tasks", "start", "--detach", "--null-io", first)
        await client.delete(PODS, "twice", "default", options={"gracePeriodSeconds": 0})
        while await ids(cluster.home, uid):  # noqa: ASYNC110 - the runtime tells no events
            await asyncio.sleep(0.05)
        assert first not in await ctr(cluster.home.layout.socket, "tasks", "list", "--quiet")

    with cluster.node():
        cluster.import_image()
        cluster.run(scenario)


def test_a_node_and_a_containerd_that_are_killed_come_back_and_nothing_starts_anew(cluster):
    async def begin(client):
        await client.create(PODS, pod("untouched"), "default")
        found = await ready(client, "untouched")
        before = await running(cluster.home, found["metadata"]["uid"])
        for victim in (cluster.home.containerd().pid(), cluster.process.pid):
            os.kill(victim, signal.SIGKILL)
        await client.create(PODS, pod("later"), "default")
        await ready(client, "later")
        assert await running(cluster.home, found["metadata"]["uid"]) == before
        after = await client.get(PODS, "untouched", "default")
        assert after["status"]["containerStatuses"] == found["status"]["containerStatuses"]
        for name in ("untouched", "later"):
            await client.delete(PODS, name, "default", options={"gracePeriodSeconds": 0})

    with cluster.node():
        cluster.import_image()
        cluster.run(begin)
    assert mounts_below(cluster.home.folder) == []
