"""A node whose pods a page says, and whose machine goes down: logind speaks over a bus of the test's own."""

import asyncio
import os
import shutil
import subprocess
import threading

import orjson
import pytest

from tiphys.api.core.events import EVENTS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.base.http.messages import Response
from tiphys.base.http.server import Server
from tiphys.kubelet.node.facts import hostname

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,  # containers take their time
    pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="there is no dbus-daemon on this machine"),
]

BUS = """<busconfig><type>system</type><listen>unix:path=SOCKET</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/></policy></busconfig>"""
CONFIG = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriod: 20s
shutdownGracePeriodCriticalPods: 5s
httpCheckFrequency: 1s
staticPodURL: WHERE
"""
COMMAND = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done"]


def pod(name, **spec):
    container = {"name": "c", "image": "busybox:test", "imagePullPolicy": "IfNotPresent", "command": COMMAND}
    given = {"containers": [container], "automountServiceAccountToken": False, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": given}


class World:
    """The page and logind, in a loop of their own."""

    def __init__(self, folder):
        self.bus = folder / "bus"
        (folder / "bus.conf").write_text(BUS.replace("SOCKET", str(self.bus)))
        self.page = b""
        self.kept = -1
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self):
        command = ["dbus-daemon", f"--config-file={self.bus}.conf", "--nofork", "--print-address=1", "--nopidfile"]
        self.daemon = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.daemon.stdout.readline()
        self.thread.start()
        self._do(self._serve())
        return self

    def __exit__(self, *_):
        self._do(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.daemon.terminate()
        self.daemon.wait()
        self.daemon.stdout.close()
        if self.kept >= 0:
            os.close(self.kept)

    def say(self, going):
        from dbus_fast import Message

        said = ("/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForShutdown", "b", [going])
        self.loop.call_soon_threadsafe(self.logind.send, Message.new_signal(*said))

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _serve(self):
        from dbus_fast import Message, Variant
        from dbus_fast.aio import MessageBus

        self.server = Server(self._answer)
        _, self.port = await self.server.listen("127.0.0.1", 0)
        self.logind = await MessageBus(bus_address=f"unix:path={self.bus}", negotiate_unix_fd=True).connect()
        await self.logind.request_name("org.freedesktop.login1")

        def answer(message):
            if message.member == "Get":
                return Message.new_method_return(message, "v", [Variant("t", 60_000_000)])
            if message.member == "Inhibit":
                self.kept, given = os.pipe()
                # Once it has been sent it is the receiver's alone.
                sent = self.logind.send(Message.new_method_return(message, "h", [0], [given]))
                sent.add_done_callback(lambda _: os.close(given))
                return True
            return None

        self.logind.add_message_handler(answer)

    async def _answer(self, _request):
        return Response(200, self.page)

    async def _end(self):
        await self.server.shutdown(0)
        self.logind.disconnect()
        await self.logind.wait_for_disconnect()


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/bus")
    with World(tmp_path) as made:
        yield made


async def until(client, name, holds):
    while True:
        for found in (await client.list(PODS, "default")).items:
            if found["metadata"]["name"] == name and holds(found.get("status") or {}):
                return found
        await asyncio.sleep(0.05)


def ready(status):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())


def test_pods_of_a_page_run_and_all_end_before_the_machine_does(cluster, world, tmp_path):
    config, mirror = tmp_path / "kubelet.yaml", f"paged-{hostname().lower()}"
    config.write_text(CONFIG.replace("WHERE", f"http://127.0.0.1:{world.port}/pods"))
    world.page = orjson.dumps({"apiVersion": "v1", "kind": "PodList", "items": [pod("paged")]})

    async def scenario(client):
        await client.create(PODS, pod("usual", nodeName=hostname()), "default")
        for name in ("usual", mirror):
            await until(client, name, ready)
        refused = await client.create(PODS, pod("apart", nodeName=hostname(), hostUsers=False), "default")
        await told(client, refused, "FailedCreatePodSandBox", "can't set `spec.hostUsers: false`, runtime does not support")
        await client.delete(PODS, "apart", "default", options={"gracePeriodSeconds": 0})
        world.say(True)
        # The lock is let go when the pods have ended: the machine would be off now.
        assert await asyncio.to_thread(os.read, world.kept, 1) == b""
        words = "Pod was terminated in response to imminent node shutdown."
        for name in ("usual", mirror):
            status = (await until(client, name, lambda status: status["phase"] == "Failed"))["status"]
            assert (status["reason"], status["message"]) == ("Terminated", words)
            assert any(each["type"] == "DisruptionTarget" and each["status"] == "True" for each in status["conditions"])
        node = await client.get(NODES, hostname())
        shown = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
        assert (shown["status"], shown["message"]) == ("False", "node is shutting down")
        await client.create(PODS, pod("late", nodeName=hostname()), "default")
        status = (await until(client, "late", lambda status: status.get("phase") == "Failed"))["status"]
        assert (status["reason"], status["message"]) == (
            "NodeShutdown",
            "Pod was rejected: Pod was rejected as the node is shutting down.",
        )
        world.page = orjson.dumps({"apiVersion": "v1", "kind": "PodList", "items": []})
        await until_gone(client, mirror)
        for name in ("usual", "late"):
            await client.delete(PODS, name, "default", options={"gracePeriodSeconds": 0})

    with cluster.node("--config", str(config)):
        cluster.import_image()
        cluster.run(scenario)


async def until_gone(client, name):
    while True:
        if name not in {each["metadata"]["name"] for each in (await client.list(PODS, "default")).items}:
            return
        await asyncio.sleep(0.05)


async def told(client, about, reason, words):
    while True:
        for each in (await client.list(EVENTS, "default")).items:
            if each["involvedObject"].get("uid") == about["metadata"]["uid"] and each["reason"] == reason:
                assert words in each["message"]
                return
        await asyncio.sleep(0.05)
