"""The network of a node as a part of its process: its pods', the proxy, and a DNS server found by the Service kube-dns.

The client's user has to be allowed what `system:node-proxier` allows (the proxy); for the pods' network, to write the condition
NetworkUnavailable of the Node and to list and watch NetworkPolicies, Pods and Namespaces; and for DNS, to list and watch
Namespaces and to write the Service kube-dns and an EndpointSlice of its own in kube-system.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from tiphys.base.clock import Clock
from tiphys.base.log import Log, Logger
from tiphys.base.tasks import start
from tiphys.client.interface import Client
from tiphys.cni import loop
from tiphys.cni.policy.loop import Policies
from tiphys.dns import service as dns
from tiphys.dns.publish import Published
from tiphys.proxy import state as proxy
from tiphys.proxy.apply import Refused
from tiphys.proxy.loop import BACKENDS, Proxy
from tiphys.proxy.serving import Serving

TELLING = Serving(("0.0.0.0", 10256), ("127.0.0.1", 10249))
"""Where the proxy tells of its health, as upstream's does; a port that another node on this machine has is left to that one."""


@dataclass(frozen=True, slots=True)
class NetworkWish:
    node: str
    address: str
    """Of the node, as its pods reach it."""
    pods: loop.Settings | None = None
    """None: the network of pods is somebody else's."""
    pod_ranges: tuple[str, ...] = ()
    table: str = "tiphys-proxy"
    """Of the kernel; two clusters on one machine need two."""
    neighbours: tuple[str, ...] = ()
    """The range of which all clusters of this machine take their pods' addresses: those of the others are left alone."""
    dns_ip: str = ""
    """The Service's address; empty: this node has no DNS server."""
    domain: str = "cluster.local"
    with_proxy: bool = True
    proxy_mode: str = "nftables"


class Network:
    """`run(ready)`: ready once Services and their names work on this node."""

    def __init__(self, client: Client, wish: NetworkWish, clock: Clock, *, verbosity: int = 0) -> None:
        self._client = client
        self._wish = wish
        self._clock = clock
        self._log = Logger(Log(verbosity=verbosity, clock=clock), "network", {})

    async def run(self, ready: Callable[[], None]) -> None:
        wish = self._wish
        async with asyncio.TaskGroup() as group:
            if wish.pods is not None:
                network = loop.PodNetwork(self._client, wish.pods, self._clock, self._log.named("pods"))
                await start(group, network.run, name="pods")
            if wish.pods is not None and wish.pods.bridge:
                at, log = wish.pods.policy_table, self._log.named("policies")
                policies = Policies(self._client, wish.node, wish.pods.bridge, at, self._clock, log)
                await start(group, policies.run, name="policies")
            if wish.dns_ip:
                published = Published(wish.dns_ip, wish.address, wish.node)
                settings = dns.Settings((wish.address,), 0, wish.domain, published=published)
                server = dns.Dns(self._client, settings, self._clock, self._log.named("dns"))
                await start(group, server.run, name="dns")
            if wish.with_proxy:
                rules = proxy.Settings(
                    wish.node, wish.proxy_mode, wish.pod_ranges, table=wish.table, neighbours=wish.neighbours
                )
                running = Proxy(self._client, rules, self._clock, self._log.named("proxy"), TELLING)
                await start(group, running.run, name="proxy")
            ready()


async def forget_services(table: str) -> None:
    """The rules of a proxy that could not take them along, in whichever mode it was."""
    for backend in BACKENDS.values():
        for family in proxy.FAMILIES:
            with contextlib.suppress(Refused):
                await backend(family, table).remove()
