"""The nodes of `tiphys up` on its machine: one beside the control plane, or several in network namespaces of their own."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from tiphys.base.clock import Clock
from tiphys.base.tasks import start
from tiphys.client.interface import Client
from tiphys.cmd.addresses import own_address
from tiphys.cmd.certificates import Certificates
from tiphys.cmd.data_directory import DataDirectory
from tiphys.cmd.enclosure import Enclosure
from tiphys.cmd.machine_network import PODS_OF_THE_MACHINE, MachineNetwork
from tiphys.cmd.network_part import Network, NetworkWish, forget_services
from tiphys.cmd.node_home import mark_of
from tiphys.cmd.node_part import NodeWish
from tiphys.cmd.options import UpOptions
from tiphys.cni import kernel, loop, masquerade, table
from tiphys.kubelet.node.facts import hostname


def wishes(options: UpOptions, made: Certificates, machine: MachineNetwork, server: str, dns_ip: str) -> list[NodeWish]:
    """`server`: where the nodes reach the API server."""

    def wish(index: int, folder: Path, name: str, addresses: tuple[str, ...], enclosure: Enclosure | None) -> NodeWish:
        return NodeWish(
            folder,
            server,
            made.authority,
            name,
            addresses,
            machine.pods_of(index) if options.cni == "tiphys" else (),
            options.cni,
            enclosure,
            verbosity=options.verbosity,
            dns_ip=dns_ip,
            with_proxy="proxy" not in options.disabled,
            proxy_mode=options.proxy_mode,
            runtime_endpoint=options.runtime_endpoint,
        )

    if options.nodes == 1:
        return [wish(0, options.data.node, hostname(), (own_address(),), None)]
    many = []
    for index in range(options.nodes):
        name, addresses = f"{hostname()}-{index + 1}", machine.node_addresses(index)
        made_of = tuple(f"{each}/{length}" for each, length in zip(addresses, machine.prefix_lengths, strict=True))
        enclosure = Enclosure(bridge(options.data), f"{bridge(options.data)}-{index + 1}", made_of, machine.gateways)
        many.append(wish(index, options.data.node_of(index), name, addresses, enclosure))
    return many


def bridge(data: DataDirectory) -> str:
    """Of all nodes of a cluster that share this machine. Short: a link has at most 15 letters, and each node's adds some."""
    return f"tpn{mark_of(data.path):08x}"


class NodesOfMachine:
    """`run(ready)`: ready once this machine has a bridge for its nodes, a way out for them, and reaches Services and pods as
    they do: the API server calls webhooks, and people try node ports."""

    def __init__(self, options: UpOptions, machine: MachineNetwork, client: Client, clock: Clock) -> None:
        self._machine = machine
        self._name = bridge(options.data)
        mark = mark_of(options.data.path)
        self._pods = loop.Settings("", (*machine.gateways, own_address()), mark)
        wish = NetworkWish(
            "",
            machine.address,
            self._pods if options.cni == "tiphys" else None,
            pod_ranges=machine.pod_ranges,
            table=f"tiphys-{self._name}",
            neighbours=(PODS_OF_THE_MACHINE,),
            with_proxy="proxy" not in options.disabled,
            proxy_mode=options.proxy_mode,
        )
        self._network = Network(client, wish, clock, verbosity=options.verbosity)

    async def prepare(self) -> None:
        """What has to be there before the first node starts."""
        machine = self._machine
        await asyncio.to_thread(self._make_bridge)
        await asyncio.to_thread(kernel.forward, machine.node_ranges)
        content = masquerade.content(machine.node_ranges, (*machine.node_ranges, *machine.pod_ranges))
        await kernel.nft(table.create(_rules(self._name), content))

    async def run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            await start(group, self._network.run, name="network")
            ready()

    def _make_bridge(self) -> None:
        with IPRoute() as netlink:
            if not netlink.link_lookup(ifname=self._name):
                netlink.link("add", ifname=self._name, kind="bridge")
            index = netlink.link_lookup(ifname=self._name)[0]
            for address, length in zip(self._machine.gateways, self._machine.prefix_lengths, strict=True):
                netlink.addr("replace", index=index, address=address, prefixlen=length)
            netlink.link("set", index=index, state="up")


def _rules(name: str) -> str:
    return f"inet tiphys-nodes-{name}"


async def remove(data: DataDirectory) -> None:
    """Whatever this machine has had for its nodes beside the nodes themselves; nothing, if there was only one."""
    name = bridge(data)
    if not await asyncio.to_thread(_exists, name):
        return
    with contextlib.suppress(kernel.Refused, NetlinkError):
        await asyncio.to_thread(kernel.Routes(loop.metric(mark_of(data.path)), loop.overlay(mark_of(data.path))).remove)
        await kernel.nft(table.delete(_rules(name)))
    await forget_services(f"tiphys-{name}")
    await asyncio.to_thread(kernel.remove_link, name)


def _exists(name: str) -> bool:
    with IPRoute() as netlink:
        return bool(netlink.link_lookup(ifname=name))
