"""The proxy in a network namespace of its own: a node with two pods (namespaces behind veth) and a machine outside.

The namespaces share the mounts of nobody, so that nothing of theirs is left to be found by a container runtime.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from tiphys.proxy.iptables.parts import prefix

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,  # processes, namespaces, and packets that are waited for in vain
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

CLONE_NEWNET = 0x40000000
PATIENCE = 30.0
"""Seconds for what will come about, on a machine that may be busy with other things."""
IN_VAIN = 1.0
"""Seconds after which nobody answers, where nobody is to."""
_libc = ctypes.CDLL(None, use_errno=True)

ECHO = """
import socket, sys, threading
name = sys.argv[1].encode()
tcp = socket.create_server(("0.0.0.0", 8080))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("0.0.0.0", 8080))
def flows():
    while True:
        data, peer = udp.recvfrom(100)
        udp.sendto(name + b" " + peer[0].encode(), peer)
threading.Thread(target=flows, daemon=True).start()
print("up", flush=True)
while True:
    peer, address = tcp.accept()
    peer.sendall(name + b" " + address[0].encode())
    peer.close()
"""


@dataclass
class Network:
    """Holders of namespaces, by name; `node` routes between them."""

    holders: dict[str, subprocess.Popen] = field(default_factory=dict)
    servers: list[subprocess.Popen] = field(default_factory=list)

    def make(self, name: str) -> None:
        self.holders[name] = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        mine = os.readlink("/proc/self/ns/net")
        until = time.monotonic() + PATIENCE
        while os.readlink(f"/proc/{self.pid(name)}/ns/net") == mine:
            assert time.monotonic() < until
            time.sleep(0.005)
        self.run(name, "ip link set lo up")

    def pid(self, name: str) -> int:
        return self.holders[name].pid

    def command(self, name: str, *words: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{self.pid(name)}/ns/net", "--", *words]

    def run(self, name: str, line: str) -> str:
        return subprocess.run(self.command(name, *line.split()), check=True, capture_output=True, text=True).stdout

    def join(self, name: str, address: str, gateway: str) -> None:
        """A pair of links from the node to `name`."""
        self.make(name)
        self.run("node", f"ip link add v-{name} type veth peer name eth0 netns {self.pid(name)}")
        self.run("node", f"ip addr add {gateway}/32 dev v-{name}")
        self.run("node", f"ip link set v-{name} up")
        self.run(name, f"ip addr add {address}/32 dev eth0")
        self.run(name, "ip link set eth0 up")
        self.run(name, f"ip route add {gateway} dev eth0")
        self.run(name, f"ip route add default via {gateway}")
        self.run("node", f"ip route add {address} dev v-{name}")

    def serve(self, name: str) -> None:
        server = subprocess.Popen(self.command(name, sys.executable, "-c", ECHO, name), stdout=subprocess.PIPE)
        self.servers.append(server)
        assert server.stdout.readline() == b"up\n"

    def ask(
        self, name: str, address: str, port: int, *, udp: bool = False, source_port: int = 0, seconds: float = PATIENCE
    ) -> str:
        """What the server at that address says, asked from the namespace `name`; or how it failed."""
        answers: list[str] = []

        def work() -> None:
            with open(f"/proc/{self.pid(name)}/ns/net") as there:
                assert _libc.setns(there.fileno(), CLONE_NEWNET) == 0
            kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
            with socket.socket(socket.AF_INET, kind) as asking:
                asking.settimeout(seconds)
                if source_port:
                    asking.bind(("", source_port))
                try:
                    asking.connect((address, port))
                    if udp:
                        asking.send(b"hello")
                    answers.append(asking.recv(100).decode())
                except OSError as error:
                    answers.append(type(error).__name__)

        # A thread has a network namespace of its own, and takes it with it when it ends.
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return answers[0]

    def is_silent(self, name: str, address: str, port: int) -> bool:
        return self.ask(name, address, port, seconds=IN_VAIN) == "TimeoutError"

    def end(self) -> None:
        for each in [*self.servers, *self.holders.values()]:
            each.kill()
            each.wait()
            if each.stdout is not None:
                each.stdout.close()


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    made = Network()
    try:
        made.make("node")
        # A pod that reaches itself by way of the node would be sent redirects, and those count against the limit of refusals.
        off = "for each in all default; do echo 0 > /proc/sys/net/ipv4/conf/$each/send_redirects; done"
        subprocess.run(made.command("node", "sh", "-c", f"echo 1 > /proc/sys/net/ipv4/ip_forward; {off}"), check=True)
        made.join("one", "10.1.0.1", "10.0.0.1")
        made.join("two", "10.1.0.2", "10.0.0.1")
        made.join("outside", "192.0.2.9", "192.0.2.1")
        # Packets are routed before they are sent to an endpoint: a node without a way out could not send them anywhere.
        made.run("node", "ip route add default via 192.0.2.9 dev v-outside onlink")
        for name in ("one", "two"):
            made.serve(name)
        yield made
    finally:
        made.end()


def service(name: str, address: str, **spec):
    web = {"name": "web", "port": 80, "targetPort": 8080, "protocol": "TCP"}
    if "node_port" in spec:
        web["nodePort"] = spec.pop("node_port")
    ports = [web, {"name": "flow", "port": 80, "targetPort": 8080, "protocol": "UDP"}]
    return {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": ports, **spec}}


def slice_of(name: str, *endpoints: tuple[str, str]):
    return {
        "metadata": {"name": f"{name}-1", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "web", "port": 8080, "protocol": "TCP"}, {"name": "flow", "port": 8080, "protocol": "UDP"}],
        "endpoints": [{"addresses": [address], "nodeName": node, "conditions": {"ready": True}} for address, node in endpoints],
    }


class Api:
    """An API server of ours, in a process of its own, reached by the proxy through the node's namespace."""

    def __init__(self, folder: Path, network: Network) -> None:
        self.folder = folder
        line = [sys.executable, "-m", "tiphys.cmd.main", "up", "--no-merge", "--data-dir", str(folder), "--port", "0"]
        rest = ["--store", "memory", "--disable", "controllers,scheduler,proxy,dns"]
        self.process = subprocess.Popen(network.command("node", *line, *rest), stdout=subprocess.PIPE)
        for told in self.process.stdout:
            if told.startswith(b"Ready"):
                break
        else:
            raise AssertionError("the API server did not start")
        self.network = network
        self.pid = network.pid("node")

    def send(self, method: str, path: str, body=None) -> None:
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        script = (
            "import asyncio, sys, pathlib\n"
            "from tiphys.client.kubeconfig import read, resolve\n"
            "from tiphys.client.rest import RestClient\n"
            "async def main():\n"
            f"    client = RestClient(resolve(read(pathlib.Path({str(self.folder / 'admin.kubeconfig')!r}))))\n"
            f"    reply = await client.raw({method!r}, {path!r}, (('Content-Type', {content!r}),), sys.stdin.buffer.read())\n"
            "    await client.closed()\n"
            "    sys.exit(0 if reply.status < 300 else reply.body.decode())\n"
            "asyncio.run(main())\n"
        )
        done = subprocess.run(
            self.network.command("node", sys.executable, "-c", script),
            input=orjson.dumps(body) if body is not None else b"",
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr.decode()

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


RULES = {"nftables": "nft list ruleset", "iptables": "iptables-save"}
OURS = {"nftables": "tiphys-proxy", "iptables": prefix("tiphys-proxy")}
modes = pytest.mark.parametrize("mode", RULES)

SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


@pytest.fixture(scope="module")
def api(network, tmp_path_factory) -> Iterator[Api]:
    made = Api(tmp_path_factory.mktemp("api"), network)
    try:
        yield made
    finally:
        made.end()


@contextlib.contextmanager
def proxy(network: Network, api: Api, mode: str, *more: str) -> Iterator[subprocess.Popen]:
    words = ["proxy", "--kubeconfig", str(api.folder / "admin.kubeconfig"), "--hostname-override", "node"]
    words += ["--proxy-mode", mode, "--cluster-cidr", "10.1.0.0/16", "--conntrack-max-per-core", "0", *more]
    line = network.command("node", sys.executable, "-m", "tiphys.cmd.main", *words)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline().startswith(b"Serving the Services")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        print(said.decode())


def eventually(check) -> None:
    until = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture(scope="module")
def served(api) -> None:
    api.send("POST", SERVICES, service("plain", "10.96.0.10", type="NodePort", node_port=30080))
    api.send("POST", SLICES, slice_of("plain", ("10.1.0.1", "node"), ("10.1.0.2", "node")))
    api.send("POST", SERVICES, service("sticky", "10.96.0.11", sessionAffinity="ClientIP"))
    api.send("POST", SLICES, slice_of("sticky", ("10.1.0.1", "node"), ("10.1.0.2", "node")))
    api.send("POST", SERVICES, service("empty", "10.96.0.12"))
    here = {"type": "NodePort", "node_port": 30081, "externalTrafficPolicy": "Local"}
    api.send("POST", SERVICES, service("here", "10.96.0.13", **here))
    api.send("POST", SLICES, slice_of("here", ("10.1.0.1", "node"), ("10.1.0.2", "elsewhere")))
    api.send("POST", SERVICES, service("away", "10.96.0.14", type="NodePort", node_port=30082, externalTrafficPolicy="Local"))
    api.send("POST", SLICES, slice_of("away", ("10.1.0.2", "elsewhere")))
    api.send("POST", SERVICES, service("guarded", "10.96.0.15", externalIPs=["203.0.113.5"]))
    api.send("POST", SLICES, slice_of("guarded", ("10.1.0.2", "node")))


@modes
def test_services_reach_their_pods(network, api, served, mode):
    # v1.36.4 test/e2e/network/service.go; pkg/proxy/nftables/proxier.go, pkg/proxy/iptables/proxier.go
    with proxy(network, api, mode):
        seen = Counter(network.ask("node", "10.96.0.10", 80).split()[0] for _ in range(40))
        assert set(seen) == {"one", "two"}
        # A pod keeps its address; a pod that reaches itself is seen as the node.
        sources = {network.ask("one", "10.96.0.10", 80) for _ in range(40)}
        assert sources == {"one 10.0.0.1", "two 10.1.0.1"}
        # From outside, any endpoint; the node hides the source, so that answers come back through it.
        assert {network.ask("outside", "192.0.2.1", 30080).split()[0] for _ in range(40)} == {"one", "two"}
        assert network.ask("outside", "192.0.2.1", 30080).split()[1] == "10.0.0.1"
        # Affinity: whatever the first was, it stays.
        assert len({network.ask("one", "10.96.0.11", 80) for _ in range(12)}) == 1
        # Nobody behind it: refused at once. nftables only, as upstream: another port is refused, no such Service silent.
        assert network.ask("one", "10.96.0.12", 80) == "ConnectionRefusedError"
        if mode == "nftables":
            assert network.ask("one", "10.96.0.10", 81) == "ConnectionRefusedError"
            assert network.is_silent("one", "10.96.0.99", 80)
        # externalTrafficPolicy Local: only endpoints of this node, and they see who asks.
        assert {network.ask("outside", "192.0.2.1", 30081) for _ in range(12)} == {"one 192.0.2.9"}
        assert network.is_silent("outside", "192.0.2.1", 30082)
        assert network.ask("node", "192.0.2.1", 30082).split()[0] == "two"
        assert network.ask("one", "203.0.113.5", 80).split()[0] == "two"
        assert network.ask("outside", "203.0.113.5", 80).split()[0] == "two"
        assert OURS[mode] in network.run("node", RULES[mode])
    assert OURS[mode] not in network.run("node", RULES[mode])


@modes
def test_changes_arrive_and_flows_of_udp_move(network, api, mode):
    # v1.36.4 test/e2e/network/conntrack.go
    api.send("POST", SERVICES, service("moving", "10.96.0.20"))
    api.send("POST", SLICES, slice_of("moving", ("10.1.0.1", "node")))
    with proxy(network, api, mode):

        def asked(seconds: float = PATIENCE) -> str:
            return network.ask("two", "10.96.0.20", 80, udp=True, source_port=4444, seconds=seconds).split()[0]

        assert asked() == "one"
        assert asked() == "one"
        api.send("PUT", f"{SLICES}/moving-1", slice_of("moving", ("10.1.0.2", "node")))
        # What is sent while the rules change may get lost.
        eventually(lambda: asked(IN_VAIN) == "two")
        assert network.ask("node", "10.96.0.20", 80).split()[0] == "two"
        api.send("PUT", f"{SLICES}/moving-1", slice_of("moving"))
        eventually(lambda: network.ask("node", "10.96.0.20", 80) == "ConnectionRefusedError")
        api.send("DELETE", f"{SERVICES}/moving")
        api.send("DELETE", f"{SLICES}/moving-1")
        eventually(lambda: "10.96.0.20" not in network.run("node", RULES[mode]))
        eventually(lambda: "/moving/" not in network.run("node", RULES[mode]))


def test_a_port_for_health_checks(network, api):
    # v1.36.4 pkg/proxy/healthcheck/service_health.go
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000}
    api.send("POST", SERVICES, service("balanced", "10.96.0.30", **spec))
    api.send("POST", SLICES, slice_of("balanced", ("10.1.0.1", "node")))
    with proxy(network, api, "nftables"):
        told = network.run("node", "curl -s -i http://127.0.0.1:31000/")
        assert told.startswith("HTTP/1.1 200")
        assert '"localEndpoints": 1' in told
        api.send("PUT", f"{SLICES}/balanced-1", slice_of("balanced", ("10.1.0.2", "elsewhere")))
        eventually(lambda: network.run("node", "curl -s -i http://127.0.0.1:31000/").startswith("HTTP/1.1 503"))


@modes
def test_rules_that_somebody_throws_out_come_back(network, api, mode):
    # v1.36.4 pkg/util/iptables/monitor_test.go: firewall programs empty all tables
    with proxy(network, api, mode, "--iptables-sync-period", "1s"):
        network.run("node", "nft flush ruleset")
        eventually(lambda: OURS[mode] in network.run("node", RULES[mode]))
        assert network.run("node", "curl -s http://127.0.0.1:10249/proxyMode") == mode
        assert "kube-proxy statusz" in network.run("node", "curl -s http://127.0.0.1:10249/statusz")
        assert "iptables-sync-period" in network.run("node", "curl -s http://127.0.0.1:10249/flagz")
        # The kernel has them a moment before the proxy knows that it has.
        told = 'kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 2\n'
        eventually(lambda: told in network.run("node", "curl -s http://127.0.0.1:10249/metrics"))
        assert network.run("node", "curl -s -i http://127.0.0.1:10256/livez").startswith("HTTP/1.1 200")
