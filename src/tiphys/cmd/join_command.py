"""`tiphys join`: this machine becomes a node of a cluster that runs elsewhere, and stays one until it is told to stop."""

import argparse
import asyncio
import functools
import os
from collections.abc import Callable
from pathlib import Path

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.base.clock import Clock, RealClock
from tiphys.base.tasks import start
from tiphys.base.tls import write_private
from tiphys.base.tls_requests import said_by
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import data_directory, discovery, joining
from tiphys.cmd.addresses import own_address
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.detaching import announcer, detach
from tiphys.cmd.flags import Parser
from tiphys.cmd.node_part import JOINED, NodeProcess, NodeWish
from tiphys.cmd.options import CNI_MODES, PROXY_MODES
from tiphys.cmd.process import run_until_stopped, settle_memory
from tiphys.kubelet.node.facts import hostname
from tiphys.machinery.errors import ApiError

_USUAL_PORT = 6443


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    add = parser.add_argument
    add("address", nargs="?", default="", metavar="HOST[:PORT]", help="of the API server; only the first time")
    add("--token", default="", metavar="T", help="from `tiphys token create`; only the first time")
    add(
        "--discovery-token-ca-cert-hash",
        action="append",
        default=[],
        metavar="sha256:HEX",
        help="of the key of the cluster's authority, which has to be this one",
    )
    add(
        "--discovery-token-unsafe-skip-ca-verification",
        action="store_true",
        help="believe whoever knows the token: others that know it could pretend to be the cluster",
    )
    data_directory.add_flag(parser, "where the node lives")
    add("--node-name", default="", metavar="NAME", help="(default: the one it joined with, or that of the machine)")
    add("--node-ip", default=own_address(), metavar="A,...", help="of the node, one of each family (default: %(default)s)")
    add("--cni", choices=CNI_MODES, default="tiphys", help="who links pods; none: somebody else (default: %(default)s)")
    add(
        "--proxy-mode", choices=PROXY_MODES, default="nftables", help="how rules of Services are written (default: %(default)s)"
    )
    add("--no-proxy", action="store_true", help="leave Services to somebody else's proxy")
    add("--no-install", action="store_true", help="install no packages, even if the node needs some")
    add("--detach", action="store_true", help="return when the node works and leave it running")
    add("-v", "--verbosity", type=int, default=0, metavar="N", help="how much to log")
    add("--ready-fd", type=int, default=None, help=argparse.SUPPRESS)
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    data = DataDirectory(given.data_dir.expanduser().absolute())
    _check(given, data)
    data.prepare()
    if given.detach:
        return detach(data, name, arguments)
    from tiphys.cmd import proxy_mode
    from tiphys.cmd.node_machine import make_ready

    if not given.no_proxy:
        proxy_mode.check(given.proxy_mode)
    make_ready(with_network=not given.no_proxy or given.cni == "tiphys", may_install=not given.no_install)
    with data.lock():
        try:
            run_until_stopped(lambda: _serve(given, data, announcer(given.ready_fd)))
        finally:
            data.forget_run()
    print("\nStopped.", flush=True)
    return 0


def _check(given: argparse.Namespace, data: DataDirectory) -> None:
    if data.store.exists() or data.pki.exists():
        raise Unusable(f"{data.path} is that of a cluster; give the node another directory with --data-dir")
    if _has_joined(data):
        _node_name(given, data)
        return
    if not given.address or not given.token:
        raise Unusable("a node that has not joined yet needs the API server's address and a --token")
    if not given.discovery_token_ca_cert_hash and not given.discovery_token_unsafe_skip_ca_verification:
        raise Unusable(
            "give the --discovery-token-ca-cert-hash that `tiphys token create --print-join-command` prints, "
            "or --discovery-token-unsafe-skip-ca-verification"
        )
    for each in given.discovery_token_ca_cert_hash:
        kind, _, digest = each.partition(":")
        if kind.lower() != "sha256" or len(digest) != 64:
            raise Unusable(f"invalid hash {each!r}: it is sha256: and 64 hexadecimal digits")


def _has_joined(data: DataDirectory) -> bool:
    return (data.node / JOINED.kubeconfig).exists()


def _node_name(given: argparse.Namespace, data: DataDirectory) -> str:
    """One that has joined is known by its certificate. Raises Unusable."""
    if not _has_joined(data):
        return given.node_name or hostname()
    file = data.node / JOINED.kubeconfig
    try:
        access = kubeconfig.resolve(kubeconfig.load([file]))
        certificate = access.pair.certificate if access.pair is not None else b""
        name = said_by(certificate).subject.common_name.removeprefix("system:node:")
    except (OSError, ValueError, kubeconfig.BadConfig) as problem:
        raise Unusable(f"cannot use {file}: {problem}") from None
    if given.node_name not in ("", name):
        raise Unusable(f"this node has joined as {name}; another one needs another directory (--data-dir)")
    return name


async def _serve(given: argparse.Namespace, data: DataDirectory, announce: Callable[[], None]) -> None:
    clock = RealClock()
    data.node.mkdir(exist_ok=True, mode=0o711)
    if not _has_joined(data):
        await _begin(given, data.node, clock)
    wish = NodeWish(
        data.node,
        "",
        None,
        _node_name(given, data),
        tuple(filter(None, given.node_ip.split(","))),
        cni=given.cni,
        verbosity=given.verbosity,
        with_proxy=not given.no_proxy,
        proxy_mode=given.proxy_mode,
    )

    def tell() -> None:
        component = {"name": f"node {wish.name}", "pid": node.pid, "address": wish.addresses[0]}
        data.write_run({"pid": os.getpid(), "components": [component]})

    node = NodeProcess(wish, clock, tell)
    async with asyncio.TaskGroup() as group:
        await start(group, node.run, name="node")
        tell()
        settle_memory()
        print(f"Node {wish.name} has joined. Stop:  {data.down}", flush=True)
        announce()


async def _begin(given: argparse.Namespace, folder: Path, clock: Clock) -> None:
    """Everything that the node needs to ask for a certificate of its own."""
    address = given.address.removeprefix("https://")
    if address.rpartition(":")[2].isdecimal() is False or address.endswith("]"):
        address = f"{address}:{_USUAL_PORT}"
    print(f"Looking for the cluster at {address}", flush=True)
    tell = functools.partial(print, "Not found yet:", flush=True)
    found = await discovery.discover(address, given.token, given.discovery_token_ca_cert_hash, clock, tell)
    access = Access(found.server, found.authority, token=given.token)
    settings = await _settings(access)
    (folder / JOINED.settings).write_text(settings)
    write_private(folder / JOINED.bootstrap, kubeconfig.render(kubeconfig.context_of("bootstrap", access)))


async def _settings(access: Access) -> str:
    """What all kubelets of the cluster have in common. Raises Unusable."""
    client = RestClient(access, user_agent="tiphys-join")
    try:
        found = await client.get(CONFIG_MAPS, joining.KUBELET_CONFIG, joining.SYSTEM)
        return str(found["data"]["kubelet"])
    except (ApiError, ConnectionError, TimeoutError, LookupError) as problem:
        raise Unusable(f"cannot read how the cluster wants its kubelets: {problem}") from None
    finally:
        await client.closed()
