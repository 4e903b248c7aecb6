"""The DNS server's sockets, with a resolver of dnslib's behind it; and the whole service beside an API server."""

import asyncio
import contextlib
import json
import os
import random
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import uvloop
from dnslib import EDNS0, QTYPE, RCODE, RR, TXT, A, DNSRecord
from tests.integration.cni.conftest import several

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.services import SERVICES
from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES
from tiphys.base.clock import RealClock
from tiphys.base.log import Log, Logger
from tiphys.base.tasks import cancel, start
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd.api_server import ApiServerSettings, open_api_server
from tiphys.cmd.authentication import FrontProxy, Trusted
from tiphys.cmd.certificates import ensure
from tiphys.cmd.control_plane import service_accounts
from tiphys.cmd.stores import StoreSettings
from tiphys.dns.forward import Forwarder
from tiphys.dns.publish import Published
from tiphys.dns.routes import Routes
from tiphys.dns.server import DnsServer
from tiphys.dns.service import Dns, Settings
from tiphys.dns.zone import Zone


class Upstream(asyncio.DatagramProtocol):
    """Another resolver: knows example.com; a long text comes cut by UDP, and whole by TCP."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent = False

    def connection_made(self, transport) -> None:
        self.transport = transport

    def answer(self, data: bytes, *, by_tcp: bool) -> bytes:
        message = DNSRecord.parse(data)
        name = str(message.q.qname)
        self.asked.append(name)
        reply = message.reply()
        if name == "example.com.":
            reply.add_answer(RR(name, QTYPE.A, ttl=9, rdata=A("192.0.2.1")))
        elif name == "long.example.com.":
            if by_tcp:
                reply.add_answer(*(RR(name, QTYPE.TXT, ttl=9, rdata=TXT("x" * 200)) for _ in range(5)))
            else:
                reply.header.tc = 1
        else:
            reply.header.rcode = RCODE.NXDOMAIN
        return bytes(reply.pack())

    def datagram_received(self, data: bytes, peer) -> None:
        if not self.silent:
            self.transport.sendto(self.answer(data, by_tcp=False), peer)

    async def stream(self, reader, writer) -> None:
        size = int.from_bytes(await reader.readexactly(2), "big")
        said = self.answer(await reader.readexactly(size), by_tcp=True)
        writer.write(len(said).to_bytes(2, "big") + said)
        writer.close()


async def by_udp(port: int, message: DNSRecord, address: str = "127.0.0.1") -> DNSRecord:
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.setblocking(False)
        asking.connect((address, port))
        asking.send(bytes(message.pack()))
        return DNSRecord.parse(await loop.sock_recv(asking, 65535))


async def by_tcp(port: int, *messages: DNSRecord) -> list[DNSRecord]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for message in messages:
        data = bytes(message.pack())
        writer.write(len(data).to_bytes(2, "big") + data)
    found = [DNSRecord.parse(await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))) for _ in messages]
    writer.close()
    return found


def service(name: str, **spec):
    return {"metadata": {"namespace": "default", "name": name}, "spec": {"ports": [{"port": 80, "protocol": "TCP"}], **spec}}


async def listening(upstream: Upstream) -> tuple[asyncio.DatagramTransport, asyncio.Server]:
    """On one port, which must be free for both."""
    loop = asyncio.get_running_loop()
    while True:
        transport, _ = await loop.create_datagram_endpoint(lambda: upstream, ("127.0.0.1", 0))
        try:
            return transport, await asyncio.start_server(upstream.stream, *transport.get_extra_info("sockname"))
        except OSError:
            transport.close()


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """A port at which nobody hears what is sent: its socket is connected elsewhere, so that the sender is told so."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        nobody.connect(("127.0.0.1", 9))
        yield nobody.getsockname()[1]


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[tuple[int, Upstream, Zone]]:
    upstream = Upstream()
    transport, listener = await listening(upstream)
    behind = transport.get_extra_info("sockname")[1]
    zone = Zone("cluster.local")
    zone.service(None, service("web", clusterIP="10.96.0.7"))
    zone.service(None, service("ext", type="ExternalName", externalName="example.com"))
    zone.service(None, service("own", type="ExternalName", externalName="web.default.svc.cluster.local"))
    zone.refresh()
    with refusing() as dead:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            forwarder = Forwarder(Routes((("127.0.0.1", dead), ("127.0.0.1", behind))), RealClock())
            server = DnsServer(zone, forwarder, group)
            port = await server.open("127.0.0.1", 0)
            try:
                yield port, upstream, zone
            finally:
                server.close()
                transport.close()
                listener.close()
                await listener.wait_closed()


def run(talk) -> None:
    async def main() -> None:
        async with running() as (port, upstream, zone):
            await talk(port, upstream, zone)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def question(name: str, kind: str = "A") -> DNSRecord:
    return DNSRecord.question(name, kind)


def data(message: DNSRecord) -> list[str]:
    return [str(each.rdata) for each in message.rr]


def test_names_of_the_cluster():
    async def talk(port, upstream, _):
        assert data(await by_udp(port, question("web.default.svc.cluster.local"))) == ["10.96.0.7"]
        both = await by_tcp(port, question("web.default.svc.cluster.local"), question("none.default.svc.cluster.local"))
        assert [data(each) for each in both] == [["10.96.0.7"], []]
        assert both[1].header.rcode == RCODE.NXDOMAIN
        assert upstream.asked == []

    run(talk)


def test_other_names_are_asked_of_the_next_resolver_and_kept():
    async def talk(port, upstream, _):
        for _ in range(3):
            found = await by_udp(port, question("example.com"))
            assert (data(found), found.header.rcode) == (["192.0.2.1"], 0)
        assert upstream.asked == ["example.com."]
        missing = await by_udp(port, question("none.example.com"))
        assert missing.header.rcode == RCODE.NXDOMAIN

    run(talk)


def test_long_answers_go_by_tcp():
    async def talk(port, upstream, _):
        cut = await by_udp(port, question("long.example.com", "TXT"))
        assert (cut.header.tc, cut.rr) == (1, [])
        whole = (await by_tcp(port, question("long.example.com", "TXT")))[0]
        assert len(whole.rr) == 5

    run(talk)


def test_aliases_are_followed():
    # A stub resolver does not follow aliases by itself (RFC 1034, section 5.3.1); CoreDNS does it for it too.
    async def talk(port, upstream, _):
        found = await by_udp(port, question("ext.default.svc.cluster.local"))
        assert data(found) == ["example.com.", "192.0.2.1"]
        own = await by_udp(port, question("own.default.svc.cluster.local"))
        assert data(own) == ["web.default.svc.cluster.local.", "10.96.0.7"]
        with_edns = question("ext.default.svc.cluster.local")
        with_edns.add_ar(EDNS0(udp_len=1232))
        found = await by_udp(port, with_edns)
        assert (data(found), [each.rtype for each in found.ar]) == (["example.com.", "192.0.2.1"], [QTYPE.OPT])

    run(talk)


def test_answers_come_from_where_they_were_asked():
    # Behind a Service's address this decides whether the answer is known for one: conntrack looks at its source.
    async def talk(port, upstream, zone):
        async with asyncio.TaskGroup() as group:
            behind = upstream.transport.get_extra_info("sockname")
            server = DnsServer(zone, Forwarder(Routes((behind,)), RealClock()), group)
            everywhere = await server.open("0.0.0.0", 0)
            for name in ("web.default.svc.cluster.local", "example.com"):
                # A connected socket takes answers from nowhere else.
                found = await by_udp(everywhere, question(name), "127.0.0.9")
                assert found.rr
            server.close()

    run(talk)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_what_is_free_for_datagrams_may_be_taken_by_a_connection():
    def look() -> None:
        # Where the kernel has two ports to choose from, one of them taken: it offers that one half of the time.
        Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40001")
        with socket.create_server(("127.0.0.1", 40000)):
            asyncio.run(ports())

    async def ports() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                server = DnsServer(Zone("cluster.local"), Forwarder(Routes(()), RealClock()), group)
                opened.append(await server.open("127.0.0.1", 0))
                server.close()

    opened: list[int] = []
    with several(1) as (space,):
        space.inside(look)
    assert opened == [40001] * 20


@pytest.mark.slow  # it waits for resolvers that do not answer
def test_nobody_knows():
    async def talk(port, upstream, _):
        upstream.silent = True
        assert (await by_udp(port, question("slow.example.com"))).header.rcode == RCODE.SERVFAIL

    run(talk)


def test_many_at_once():
    async def talk(port, upstream, _):
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.setblocking(False)
            asking.connect(("127.0.0.1", port))
            sent = set()
            for number in random.sample(range(65536), 200):
                message = question("web.default.svc.cluster.local")
                message.header.id = number
                asking.send(bytes(message.pack()))
                sent.add(number)
            while sent:
                sent.discard(int.from_bytes((await loop.sock_recv(asking, 512))[:2], "big"))

    run(talk)


def test_the_service_follows_the_api_server(tmp_path):
    async def main() -> None:
        clock = RealClock()
        made = ensure(tmp_path / "pki", ["127.0.0.1"], clock)
        trusted = Trusted(
            service_accounts(made.signing_key),
            client_authority=made.authority.certificate,
            front_proxy=FrontProxy(made.front_proxy_authority, ("front-proxy-client",)),
            tokens={},
        )
        settings = ApiServerSettings(
            StoreSettings("memory", tmp_path / "none"), "127.0.0.1", 0, made.serving, trusted, ("10.96.0.0/16",)
        )
        async with asyncio.timeout(60), open_api_server(settings, clock) as opened, asyncio.TaskGroup() as group:
            api = await start(group, opened.server.run, name="apiserver")
            host, port = opened.server.address
            client = RestClient(Access(f"https://{host}:{port}", made.authority.certificate, made.admin), clock=clock)
            await client.create(SERVICES, service("first", clusterIP="10.96.0.20"), "default")
            log = Logger(Log(clock=clock), "dns", {})
            published = Published("10.96.0.10", "192.0.2.7", "n")
            dns = Dns(client, Settings(("127.0.0.1",), 0, resolvers=(), published=published), clock, log)
            task = await start(group, dns.run, name="dns")
            assert data(await by_udp(dns.port, question("first.default.svc.cluster.local"))) == ["10.96.0.20"]
            assert data(await by_udp(dns.port, question("kubernetes.default.svc.cluster.local"))) == ["10.96.0.1"]
            upstream = Upstream()
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: upstream, ("127.0.0.1", 0))
            stubs = {"stubDomains": json.dumps({"example.com": [f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"]})}
            config = {"metadata": {"name": "kube-dns"}, "data": stubs}
            assert (await by_udp(dns.port, question("example.com"))).header.rcode == RCODE.SERVFAIL
            await client.create(CONFIG_MAPS, config, "kube-system")
            told: list[str] = []
            while not told:
                told = data(await by_udp(dns.port, question("example.com")))
            assert told == ["192.0.2.1"]
            transport.close()
            await client.create(SERVICES, service("second", clusterIP="10.96.0.21"), "default")
            found: list[str] = []
            while not found:
                found = data(await by_udp(dns.port, question("second.default.svc.cluster.local")))
            assert found == ["10.96.0.21"]
            slices = await client.list(ENDPOINT_SLICES, "kube-system")
            assert [each["ports"][0]["port"] for each in slices.items] == [dns.port]
            await cancel(task)
            slices = await client.list(ENDPOINT_SLICES, "kube-system")
            assert slices.items == []
            again = Dns(client, Settings(("127.0.0.1",), 0, resolvers=(), published=published), clock, log)
            task = await start(group, again.run, name="dns again")
            slices = await client.list(ENDPOINT_SLICES, "kube-system")
            assert [each["ports"][0]["port"] for each in slices.items] == [again.port]
            assert data(await by_udp(again.port, question("kube-dns.kube-system.svc.cluster.local"))) == ["10.96.0.10"]
            await cancel(task)
            await client.closed()
            await cancel(api)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
