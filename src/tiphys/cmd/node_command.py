"""`tiphys node`: a node with a containerd of its own, under one directory. Nothing of it is left when it has been stopped."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from tiphys.base.clock import RealClock
from tiphys.base.tasks import Service, first_done, spawn, start
from tiphys.client.rest import RestClient
from tiphys.cmd import kubelet_flags, kubelet_identity, kubelet_part, proxy_mode
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.enclosure import furnish
from tiphys.cmd.flags import Parser
from tiphys.cmd.kubelet_command import Place, check_machine, config_of, files_of, identity_of, pages_of, tell_unused
from tiphys.cmd.kubelet_part import KubeletPart
from tiphys.cmd.machine_network import PODS_OF_THE_MACHINE
from tiphys.cmd.network_part import Network, NetworkWish
from tiphys.cmd.node_home import NodeHome
from tiphys.cmd.options import CNI_MODES, PROXY_MODES
from tiphys.cmd.process import first_of, run_until_stopped, settle_memory
from tiphys.kubelet.containerd.process import CannotRun
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.machinery.tree import Obj
from tiphys.machinery.zpages import ZPages


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    kubelet_flags.add(parser)
    add = parser.add_argument
    add("--dir", type=Path, required=True, metavar="DIR", help="where everything of the node lies")
    add("--pod-cidr", default="", metavar="CIDR,...", help="addresses of its pods (default: what the cluster gives the node)")
    add(
        "--cni",
        choices=CNI_MODES,
        default="tiphys",
        help="who gives pods their network; none: somebody else, with files in /etc/cni/net.d and plugins in /opt/cni/bin "
        "(default: %(default)s)",
    )
    add(
        "--keep",
        action="store_true",
        help="leave containers running at the end; the next node takes them over",
    )
    add(
        "--network-kubeconfig",
        type=Path,
        metavar="F",
        help="who the node's network, proxy and DNS are; without it the node has none of them",
    )
    add("--no-proxy", action="store_true", help="leave Services to somebody else's proxy")
    add(
        "--proxy-mode",
        choices=PROXY_MODES,
        default="nftables",
        help="how the rules of Services are written (default: %(default)s)",
    )
    add("--uplink", default="", help=argparse.SUPPRESS)
    add("--or-any-port", action=argparse.BooleanOptionalAction, default=False, help=argparse.SUPPRESS)
    add("--end-with-stdin", action="store_true", help=argparse.SUPPRESS)
    return parser


def split(listed: str) -> tuple[str, ...]:
    return tuple(filter(None, listed.split(",")))


def main(name: str, arguments: list[str]) -> int:
    known = parser(name)
    given = known.parse_args(arguments)
    if given.uplink:
        furnish(given.dir, given.uplink)
    if not given.no_proxy:
        proxy_mode.check(given.proxy_mode)
    # Several nodes share a machine, so none of them takes the one port for its health.
    said = kubelet_flags.told(given, {"healthzPort": 0})
    settings = kubelet_flags.whole(given, said)
    check_machine(settings)
    pages = pages_of(known, given, said)
    home = NodeHome(given.dir.absolute(), said.get("containerRuntimeEndpoint", ""), given.cni == "none")
    ranges, addresses = split(given.pod_cidr), split(given.node_ip)
    if ranges and not home.foreign_network:
        home.write_network(given.hostname_override, addresses, ranges)
    left, may_clean = False, not home.has_inhabitants

    async def serve() -> None:
        nonlocal left
        if given.end_with_stdin:
            await first_done(_serve(given, said, settings, home, pages, works), _parent_gone())
            # Whoever started this is gone without a word: the next one takes the containers over.
            left = True
        else:
            await _serve(given, said, settings, home, pages, works)

    def works() -> None:
        nonlocal may_clean
        may_clean = False

    told = None
    try:
        run_until_stopped(serve)
        # Somebody wants it to end; whatever fails leaves the pods to the next one.
        may_clean = True
    except* CannotRun as problems:
        told = str(first_of(problems))
    finally:
        if may_clean and not given.keep and not left:
            asyncio.run(home.clean())
    if told is not None:
        raise Unusable(told)
    return 0


def _network(given: argparse.Namespace, settings: Obj, home: NodeHome, kubelet: KubeletPart, clock: RealClock) -> Service:
    """Network of the pods, proxy and DNS of this node, under an identity of their own: a node may not see all Services."""
    if given.network_kubeconfig == given.kubeconfig:
        # The kubelet's own, whose certificate it renews.
        client = kubelet.client
    else:
        client = RestClient(kubelet_identity.read(given.network_kubeconfig), clock=clock, user_agent="tiphys-network")
    addresses = split(given.node_ip)
    wish = NetworkWish(
        node=given.hostname_override,
        address=addresses[0],
        pods=None if home.foreign_network else home.network(given.hostname_override, addresses),
        pod_ranges=split(given.pod_cidr),
        table=home.rules,
        neighbours=(PODS_OF_THE_MACHINE,),
        dns_ip=next(iter(settings.get("clusterDNS") or ()), ""),
        domain=settings["clusterDomain"],
        with_proxy=not given.no_proxy,
        proxy_mode=given.proxy_mode,
    )
    return Network(client, wish, clock, verbosity=given.verbosity).run


async def _parent_gone() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def _serve(
    given: argparse.Namespace, said: Obj, settings: Obj, home: NodeHome, pages: ZPages, works: Callable[[], None]
) -> None:
    clock = RealClock()
    log = kubelet_part.logger(clock, given.verbosity)
    tell_unused(said, log)
    identity = await identity_of(given, files_of(given, home.folder / "pki"), clock, log)
    containerd = await home.start_runtime()
    ranges = split(given.pod_cidr)
    place = Place(home.folder / "kubelet", home.folder / "logs", home.cgroup_root, ranges, or_any_port=given.or_any_port)
    runtime = Runtime(home.socket)
    try:
        async with asyncio.TaskGroup() as group:
            if containerd is not None:
                spawn(group, containerd.keep(clock, log.named("containerd")), name="containerd")
            kubelet = KubeletPart(config_of(given, settings, place), identity, runtime, pages, clock, log)
            await start(group, kubelet.run, name="kubelet")
            if given.network_kubeconfig is not None:
                await start(group, _network(given, settings, home, kubelet, clock), name="network")
            settle_memory()
            works()
            print(f"Node {given.hostname_override} works for {identity.access.server}", flush=True)
    finally:
        await runtime.close()
