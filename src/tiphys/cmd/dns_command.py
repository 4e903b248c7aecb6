"""`tiphys dns`: answers for the names of Services and pods, and passes on all others; against any API server."""

import argparse
import asyncio
import ipaddress
import socket

from tiphys.base.clock import RealClock
from tiphys.base.tasks import start
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import component
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import Parser
from tiphys.cmd.process import cannot_listen, first_of, run_until_stopped, settle_memory
from tiphys.dns.publish import Published
from tiphys.dns.routes import resolver
from tiphys.dns.service import Dns, Settings


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    component.add_options(parser)
    add = parser.add_argument
    add("--bind-address", default="0.0.0.0", metavar="A", help="addresses to listen on, with commas (default: %(default)s)")
    add("--port", type=int, default=53, metavar="PORT", help="of UDP and TCP; 0 takes a free one (default: %(default)s)")
    add("--cluster-domain", default="cluster.local", metavar="D", help="the zone of the cluster (default: %(default)s)")
    add("--upstream", default="", metavar="A[:P]", help="resolvers for other names (default: those of /etc/resolv.conf)")
    add("--cluster-ip", default="", metavar="A", help="publish as the Service kube-dns with this address; see --address")
    add("--address", default="", metavar="A", help="where pods reach this server, for the endpoint of the Service")
    add(
        "--hostname-override",
        default=socket.gethostname().lower(),
        metavar="NODE",
        help="this node's name (default: %(default)s)",
    )
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    settings = _settings(given)
    access = component.access(given)
    run_until_stopped(lambda: _serve(given, settings, access))
    return 0


def _settings(given: argparse.Namespace) -> Settings:
    addresses = tuple(given.bind_address.split(","))
    try:
        for each in addresses:
            ipaddress.ip_address(each)
        published = _published(given)
        resolvers = tuple(resolver(each) for each in given.upstream.split(",") if each)
    except ValueError as problem:
        raise Unusable(str(problem)) from None
    return Settings(addresses, given.port, given.cluster_domain, resolvers or None, published)


def _published(given: argparse.Namespace) -> Published | None:
    if not given.cluster_ip:
        return None
    if not given.address:
        raise ValueError("--cluster-ip needs --address, too")
    cluster_ip, address = (str(ipaddress.ip_address(each)) for each in (given.cluster_ip, given.address))
    return Published(cluster_ip, address, given.hostname_override)


async def _serve(given: argparse.Namespace, settings: Settings, access: Access) -> None:
    clock = RealClock()
    client = RestClient(access, clock=clock, user_agent="tiphys-dns")
    problem = None
    try:
        dns = Dns(client, settings, clock, component.logger(given, clock, "dns"))
        async with asyncio.TaskGroup() as group:
            await start(group, dns.run, name="dns")
            settle_memory()
            print(f"Answering for {settings.domain} on port {dns.port}", flush=True)
    except* OSError as problems:
        problem = first_of(problems)
    finally:
        client.close()
    if isinstance(problem, OSError):
        raise cannot_listen(problem, given.bind_address, given.port)
