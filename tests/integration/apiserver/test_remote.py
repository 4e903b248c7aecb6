"""Logs, exec, port-forward and proxies through a whole API server, to a small node server over TLS and to a pod's own."""

import asyncio
import json
import os
import shutil
import socket
import zlib
from base64 import b64encode
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
import uvloop
from cryptography import x509

from tiphys.apiserver.subresources.remote import KubeletSettings
from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.http import websocket
from tiphys.base.http.client import HttpClient, Incoming, Upgraded
from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream, Upgrade
from tiphys.base.http.server import Server
from tiphys.base.tasks import cancel, start
from tiphys.base.tls import Subject
from tiphys.base.tls_context import Serving, client_context
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.cmd.api_server import ApiServerSettings, advertised, open_api_server
from tiphys.cmd.authentication import FrontProxy, Trusted
from tiphys.cmd.certificates import ensure
from tiphys.cmd.control_plane import service_accounts
from tiphys.cmd.stores import StoreSettings

PAGE = b'<html><a href="/rewriteme">test</a></html>'


@dataclass
class Node:
    """What a kubelet and a pod are to the API server: paths that answer. Remembers what it was asked."""

    asked: list[tuple[str, str, str]] = field(default_factory=list)
    clients: list[bytes | None] = field(default_factory=list)
    said: asyncio.Event = field(default_factory=asyncio.Event)

    async def kubelet(self, request: Request) -> Answer:
        self.asked.append((request.method, request.path, request.query))
        self.clients.append(request.peer.certificate)
        match request.path.split("/")[1]:
            case "containerLogs" if request.path.endswith("/broken"):
                return Response(400, b'container "c" in pod "p" is waiting to start: ContainerCreating', "text/plain")
            case "containerLogs":
                return Stream(self._log, content_type="text/plain")
            case "exec" if websocket.is_websocket(request):
                chosen, headers = websocket.handshake(request, ("v5.channel.k8s.io", "v4.channel.k8s.io"))
                return Upgrade(lambda channel: self._exec(channel, request.query, chosen), headers)
            case "portForward":
                return Upgrade(self._shout, (("Upgrade", request.headers["upgrade"]), ("Connection", "Upgrade")))
            case "healthz":
                return Response(200, b"ok", "text/plain")
        return Response(404, b"404 page not found", "text/plain")

    async def _log(self, channel: Channel) -> None:
        channel.write(b"first line\n")
        await self.said.wait()
        channel.write(b"second line\n")

    async def _exec(self, channel: Channel, query: str, protocol: str) -> None:
        def send(number: int, data: bytes) -> None:
            channel.write(websocket.frame(websocket.Op.BINARY, bytes((number,)) + data))

        send(1, f"ran {query} by {protocol}\n".encode())
        send(2, b"and complained\n")
        failed = {"reason": "NonZeroExitCode", "details": {"causes": [{"reason": "ExitCode", "message": "7"}]}}
        status = {"metadata": {}, "status": "Failure", "message": "command terminated with exit code 7", **failed}
        send(3, json.dumps(status).encode())
        channel.write(websocket.close_frame(1000))
        await channel.drain()
        # A client answers a close frame with its own.
        while await channel.read():
            pass

    async def _shout(self, channel: Channel) -> None:
        while data := await channel.read():
            channel.write(data.upper())

    async def pod(self, request: Request) -> Answer:
        self.asked.append((request.method, request.path, request.query))
        match request.path:
            case "/":
                return Response(200, PAGE, "text/html; charset=utf-8")
            case "/packed":
                packer = zlib.compressobj(wbits=31)
                return Response(200, packer.compress(PAGE) + packer.flush(), "text/html", (("Content-Encoding", "gzip"),))
            case "/moved":
                return Response(301, b"", "", (("Location", "/elsewhere"),))
        told = f"{request.method} {request.path}?{request.query} {request.headers.get('x-forwarded-uri')}".encode()
        return Response(200, told + b" " + request.body, "text/plain")


@dataclass
class Cluster:
    client: HttpClient
    node: Node
    folder: Path
    address: str
    kubelet_port: int
    pod_port: int

    async def ask(self, method: str, path: str, body: object = None, content: str = "application/json"):
        headers = (("Content-Type", content),) if body is not None else ()
        return await self.client.request(method, path, headers, orjson.dumps(body) if body is not None else b"")

    async def made(self, path: str, body: object) -> None:
        reply = await self.ask("POST", path, body)
        assert reply.status == 201, reply.body

    async def status(self, path: str, body: object) -> None:
        reply = await self.ask("PATCH", f"{path}/status", {"status": body}, "application/merge-patch+json")
        assert reply.status == 200, reply.body


PODS = "/api/v1/namespaces/default/pods"


def pod(name: str, node: str = "n", containers=("c",), port: int = 0):
    made = [{"name": each, "image": "i"} for each in containers]
    if port:
        made[0]["ports"] = [{"containerPort": port}]
    return {"metadata": {"name": name}, "spec": {"containers": made, **({"nodeName": node} if node else {})}}


@asynccontextmanager
async def running(folder: Path, *, verify: bool = False):
    clock = RealClock()
    made = ensure(folder / "pki", ["127.0.0.1"], clock)
    node = Node()
    now = clock.now()
    issued = tls.issue(made.authority, Subject("system:node:n"), ["server"], now=now, names=["127.0.0.1"])
    kubelet = Server(node.kubelet, ssl_context=Serving(issued, [made.authority.certificate]).context)
    _, kubelet_port = await kubelet.listen("127.0.0.1", 0)
    pods = Server(node.pod)
    address = advertised("0.0.0.0")
    _, pod_port = await pods.listen(address, 0)
    trusted = Trusted(
        service_accounts(made.signing_key),
        client_authority=made.authority.certificate,
        front_proxy=FrontProxy(made.front_proxy_authority, ("front-proxy-client",)),
        tokens={},
    )
    settings = ApiServerSettings(
        store=StoreSettings("memory", folder / "none"),
        host="127.0.0.1",
        port=0,
        serving=made.serving,
        trusted=trusted,
        service_cidrs=("10.96.0.0/16",),
        kubelets=KubeletSettings(client=made.kubelet_client, authority=made.authority.certificate if verify else b""),
    )
    async with open_api_server(settings, clock) as opened, asyncio.TaskGroup() as group:
        task = await start(group, opened.server.run, name="apiserver")
        host, port = opened.server.address
        access = Access(f"https://{host}:{port}", made.authority.certificate, made.admin)
        (folder / "kubeconfig").write_bytes(_bytes(kubeconfig.render(kubeconfig.context_of("x", access))))
        client = HttpClient(host, port, ssl_context=client_context([made.authority.certificate], made.admin))
        cluster = Cluster(client, node, folder, address, kubelet_port, pod_port)
        try:
            async with asyncio.timeout(60):
                await populate(cluster)
                yield cluster
        finally:
            client.close()
            await cancel(task)
            await kubelet.shutdown(0.1)
            await pods.shutdown(0.1)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


async def populate(cluster: Cluster) -> None:
    await cluster.made("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    await cluster.made("/api/v1/nodes", {"metadata": {"name": "n"}})
    await cluster.made("/api/v1/nodes", {"metadata": {"name": "silent"}})
    endpoint = {"kubeletEndpoint": {"Port": cluster.kubelet_port}}
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    await cluster.status("/api/v1/nodes/n", {"addresses": addresses, "daemonEndpoints": endpoint})
    for each in (pod("p", port=cluster.pod_port), pod("unbound", ""), pod("two", containers=("a", "b")), pod("lost", "gone")):
        await cluster.made(PODS, each)
    await cluster.made(PODS, pod("mute", "silent"))
    await cluster.made(PODS, pod("broken", containers=("broken",)))
    where = {"podIP": cluster.address, "podIPs": [{"ip": cluster.address}]}
    await cluster.status(f"{PODS}/p", where)
    ports = [{"name": "web", "port": 80, "targetPort": cluster.pod_port}]
    await cluster.made("/api/v1/namespaces/default/services", {"metadata": {"name": "s"}, "spec": {"ports": ports}})
    subset = {
        "addresses": [{"ip": cluster.address, "targetRef": {"kind": "Pod", "namespace": "default", "name": "p"}}],
        "ports": [{"name": "web", "port": cluster.pod_port}],
    }
    await cluster.made("/api/v1/namespaces/default/endpoints", {"metadata": {"name": "s"}, "subsets": [subset]})


def through(talk, folder: Path, **options) -> None:
    async def main() -> None:
        async with running(folder, **options) as cluster:
            await talk(cluster)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def told(reply) -> tuple[int, str]:
    return reply.status, orjson.loads(reply.body)["message"]


def test_logs_flow_as_they_come(tmp_path):
    # v1.36.4 pkg/registry/core/pod/strategy.go LogLocation
    async def talk(cluster: Cluster) -> None:
        path = f"{PODS}/p/log?follow=true&tailLines=5&container=c"
        async with await cluster.client.stream("GET", path) as incoming:
            assert (incoming.status, incoming.headers["content-type"]) == (200, "text/plain")
            assert await incoming.read() == b"first line\n"
            cluster.node.said.set()
            assert await incoming.read_all() == b"second line\n"
        assert cluster.node.asked == [("GET", "/containerLogs/default/p/c", "follow=true&stream=All&tailLines=5")]
        shown = x509.load_der_x509_certificate(cluster.node.clients[0])
        names = {each.value for each in shown.subject}
        assert names == {"kube-apiserver-kubelet-client", "system:masters"}

    through(talk, tmp_path, verify=True)


def test_what_cannot_be_asked_of_a_log(tmp_path):
    # v1.36.4 pkg/registry/core/pod/strategy.go validateContainer, GetConnectionInfo; rest/log.go
    async def talk(cluster: Cluster) -> None:
        async def answer(path: str) -> tuple[int, str]:
            return told(await cluster.ask("GET", f"{PODS}/{path}"))

        assert await answer("none/log") == (404, 'pods "none" not found')
        assert await answer("lost/log") == (404, 'nodes "gone" not found')
        assert await answer("p/log?container=x") == (400, "container x is not valid for pod p")
        several = "a container name must be specified for pod two, choose one of: [a b]"
        assert await answer("two/log") == (400, several)
        assert await answer("mute/log") == (500, "no preferred addresses found; known addresses: []")
        negative = 'PodLogOptions "p" is invalid: limitBytes: Invalid value: 0: must be greater than 0'
        assert await answer("p/log?limitBytes=0") == (422, negative)
        waiting = 'container "c" in pod "p" is waiting to start: ContainerCreating'
        assert await answer("broken/log") == (400, waiting)
        assert (await cluster.ask("GET", f"{PODS}/unbound/log")).status == 204
        assert await answer("unbound/exec?command=x&stdout=true") == (400, "pod unbound does not have a host assigned")
        assert await answer("p/exec?command=x&stdout=true") == (400, "Upgrade request required")

    through(talk, tmp_path)


def test_a_kubelet_of_another_authority_is_refused_when_asked_for(tmp_path):
    async def talk(cluster: Cluster) -> None:
        cluster.node.said.set()
        status = {"addresses": [{"type": "Hostname", "address": "localhost"}]}
        await cluster.status("/api/v1/nodes/n", status)
        code, message = told(await cluster.ask("GET", f"{PODS}/p/log"))
        assert code == 500
        assert "x509" in message
        reply = await cluster.ask("GET", f"{PODS}/p/log?insecureSkipTLSVerifyBackend=true")
        assert reply.status == 200

    through(talk, tmp_path, verify=True)


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
def test_exec_by_websocket(tmp_path, protocol):
    async def talk(cluster: Cluster) -> None:
        headers = websocket.ask(b64encode(b"0" * 16).decode(), [protocol])
        path = f"{PODS}/p/exec?command=sh&command=-c&command=a%20b&stdout=true&stderr=1&tty=false"
        upgraded = await cluster.client.upgrade("GET", path, headers)
        assert isinstance(upgraded, Upgraded)
        assert upgraded.headers["sec-websocket-protocol"] == protocol
        reader, heard = websocket.FrameReader(from_client=False), []
        while not heard or heard[-1].op is not websocket.Op.CLOSE:
            heard += reader.feed(await upgraded.read())
        query = "command=sh&command=-c&command=a+b&error=1&output=1"
        assert heard[0].data == b"\x01" + f"ran {query} by {protocol}\n".encode()
        upgraded.close()
        assert cluster.node.asked == [("GET", "/exec/default/p/c", query)]

    through(talk, tmp_path)


def test_port_forward_by_spdy_is_a_tunnel(tmp_path):
    # v1.36.4 pkg/registry/core/pod/strategy.go PortForwardLocation
    async def talk(cluster: Cluster) -> None:
        headers = (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"))
        upgraded = await cluster.client.upgrade("POST", f"{PODS}/p/portforward?ports=80,81", headers)
        assert isinstance(upgraded, Upgraded)
        upgraded.write(b"hello")
        assert await upgraded.read() == b"HELLO"
        upgraded.close()
        assert cluster.node.asked == [("POST", "/portForward/default/p", "port=80%2C81")]

    through(talk, tmp_path)


def test_nobody_at_the_node(tmp_path):
    async def talk(cluster: Cluster) -> None:
        # Nobody listens there, and nobody else gets it meanwhile.
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            await refuse(cluster, held.getsockname()[1])

    async def refuse(cluster: Cluster, port: int) -> None:
        await cluster.status("/api/v1/nodes/n", {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}})
        refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
        url = f"https://127.0.0.1:{port}/containerLogs/default/p/c?stream=All"
        assert told(await cluster.ask("GET", f"{PODS}/p/log")) == (500, f'Get "{url}": {refused}')
        answer = await cluster.client.upgrade(
            "POST", f"{PODS}/p/attach?stdout=1", (("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"))
        )
        assert isinstance(answer, Incoming)
        message = orjson.loads(await answer.read_all())["message"]
        assert message == f"Internal error occurred: error dialing backend: {refused}"

    through(talk, tmp_path)


def test_proxies(tmp_path):
    # v1.36.4 test/e2e/network/proxy.go; pkg/registry/core/{pod,node}/strategy.go ResourceLocation
    async def talk(cluster: Cluster) -> None:
        async def body(path: str, method: str = "GET") -> str:
            reply = await cluster.ask(method, path)
            assert reply.status == 200, reply.body
            return reply.body.decode()

        base = f"{PODS}/p/proxy"
        assert await body(f"{base}/some/path?q=1") == "GET /some/path?q=1 " + f"{base}/some/path "
        assert await body(f"{PODS}/p:{cluster.pod_port}/proxy/x%20y/", "DELETE") == (
            f"DELETE /x%20y/? {PODS}/p:{cluster.pod_port}/proxy/x%20y/ "
        )
        assert await body(f"{PODS}/http:p:{cluster.pod_port}/proxy/") == (
            f'<html><a href="{PODS}/http:p:{cluster.pod_port}/proxy/rewriteme">test</a></html>'
        )
        packed = await cluster.ask("GET", f"{base}/packed")
        assert f"{base}/rewriteme".encode() in zlib.decompress(packed.body, 31)
        moved = await cluster.ask("GET", f"{base}/moved")
        assert (moved.status, moved.headers["location"]) == (301, f"{base}/elsewhere")
        bare = await cluster.ask("GET", f"{base}?method=GET")
        assert (bare.status, bare.headers["location"]) == (301, f"{base}/?method=GET")
        assert (await cluster.ask("HEAD", f"{base}?method=HEAD")).status == 301
        services = "/api/v1/namespaces/default/services"
        for name in ("s:web", "s:80", "http:s:web"):
            assert (await body(f"{services}/{name}/proxy/a")).startswith("GET /a?")
        assert told(await cluster.ask("GET", f"{services}/s:81/proxy/")) == (503, 'no service port 81 found for service "s"')
        missing = 'no endpoints available for service "s:none"'
        assert told(await cluster.ask("GET", f"{services}/s:none/proxy/")) == (503, missing)
        assert told(await cluster.ask("GET", f"{PODS}/ftp:p:1/proxy/")) == (400, 'invalid pod request "ftp:p:1"')
        assert told(await cluster.ask("GET", f"{PODS}/two/proxy/")) == (400, "address not allowed")
        assert told(await cluster.ask("GET", "/api/v1/nodes/n/proxy/healthz")) == (400, "address not allowed")

    through(talk, tmp_path)


@pytest.mark.kubectl
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl on this machine")
def test_kubectl(tmp_path):
    async def talk(cluster: Cluster) -> None:
        async def kubectl(*words: str) -> tuple[int | None, str, str]:
            config = str(cluster.folder / "kubeconfig")
            environment = {**os.environ, "HOME": str(tmp_path)}
            streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
            child = await asyncio.create_subprocess_exec("kubectl", "--kubeconfig", config, *words, env=environment, **streams)
            out, err = await child.communicate()
            return child.returncode, out.decode(), err.decode()

        cluster.node.said.set()
        assert await kubectl("logs", "p", "--tail=3") == (0, "first line\nsecond line\n", "")
        code, out, err = await kubectl("exec", "p", "--", "sh", "-c", "x")
        assert (code, out) == (7, "ran command=sh&command=-c&command=x&error=1&output=1 by v5.channel.k8s.io\n")
        assert err.startswith("and complained\n")
        code, _, err = await kubectl("logs", "broken")
        assert (code, "is waiting to start: ContainerCreating" in err) == (1, True)
        assert (await kubectl("get", "--raw", f"{PODS}/p/proxy/some"))[1].startswith("GET /some?")

    through(talk, tmp_path)
