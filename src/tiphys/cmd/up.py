"""`tiphys up`: start a cluster on this machine and stay with it, or leave it running with --detach."""

import argparse
import ipaddress
from dataclasses import replace
from pathlib import Path

from tiphys.cmd import data_directory
from tiphys.cmd.addresses import check_ranges
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.detaching import announcer, detach
from tiphys.cmd.flags import Parser
from tiphys.cmd.options import CNI_MODES, COMPONENTS, PROXY_MODES, UpOptions
from tiphys.cmd.stores import check_store

MOST_NODES = 200
LEAST_SERVICES = 16
"""Addresses: the tenth is that of the cluster's DNS."""


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    add = parser.add_argument
    data_directory.add_flag(parser, "where the cluster lives")
    add(
        "--port",
        type=int,
        default=6443,
        metavar="PORT",
        help="port of the API server; 0 takes a free one (default: %(default)s)",
    )
    add("--bind-address", default="127.0.0.1", metavar="A", help="address to listen on (default: %(default)s)")
    add(
        "--node",
        default="auto",
        metavar="KIND",
        help="real, sim, sim:N (simulated nodes), none, or auto: real where the machine can, else sim (default: %(default)s)",
    )
    add("--nodes", type=int, default=1, metavar="N", help="how many real nodes; several get network namespaces of their own")
    add("--no-install", action="store_true", help="install no packages, even if a real node needs some")
    add(
        "--container-runtime-endpoint",
        default="",
        metavar="URL",
        help="socket of a container runtime that is there (default: the node starts a containerd of its own)",
    )
    add("--disable", default="", metavar="NAMES", help=f"components to leave out: {','.join(COMPONENTS)}")
    add("--store", default="sqlite", metavar="STORE", help="sqlite, memory, or the URL of an etcd (default: %(default)s)")
    add(
        "--service-cluster-ip-range",
        default="10.96.0.0/16",
        metavar="CIDR",
        help="addresses of Services (default: %(default)s)",
    )
    add(
        "--cluster-cidr",
        default="",
        metavar="CIDR[,CIDR]",
        help="addresses of pods: one range, or one of each family; each node gets its part (default: one of 10.240.0.0/12 "
        "that nothing on this machine uses)",
    )
    add(
        "--cni",
        choices=CNI_MODES,
        default="tiphys",
        help="who links pods; none: somebody else (default: %(default)s)",
    )
    add(
        "--proxy-mode", choices=PROXY_MODES, default="nftables", help="how rules of Services are written (default: %(default)s)"
    )
    add("--scheduler-config", type=Path, metavar="F", help="a KubeSchedulerConfiguration (v1), or a Policy, for the scheduler")
    add(
        "--scheduler-plugin",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="a scheduler plugin of your own; may be repeated",
    )
    add("--token-auth-file", type=Path, metavar="F", help='CSV of static tokens: token,user,uid[,"group1,group2"]')
    add("--no-merge", action="store_true", help="do not add the context `tiphys` to your kubeconfig")
    add("--detach", action="store_true", help="return when the cluster is ready and leave it running")
    add("-v", "--verbosity", type=int, default=0, metavar="N", help="how much to log; 3 shows every request")
    add("--ready-fd", type=int, default=None, help=argparse.SUPPRESS)
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    options = _options(given)
    options.data.prepare()
    if given.detach:
        return detach(options.data, name, arguments)
    return _stay(options, given.ready_fd)


def _options(given: argparse.Namespace) -> UpOptions:
    disabled = frozenset(filter(None, given.disable.split(",")))
    if unknown := disabled - set(COMPONENTS):
        raise Unusable(f"--disable does not know {', '.join(sorted(unknown))}; it knows {', '.join(COMPONENTS)}")
    kind, _, count = given.node.partition(":")
    if kind not in ("auto", "real", "sim", "none") or (count and (kind != "sim" or not count.isdecimal())):
        raise Unusable(f"--node is auto, real, sim, sim:N or none, not {given.node!r}")
    if not 1 <= given.nodes <= MOST_NODES:
        raise Unusable(f"--nodes is a number from 1 to {MOST_NODES}, not {given.nodes}")
    if given.nodes > 1 and (kind in ("none", "sim") or given.container_runtime_endpoint):
        raise Unusable("several nodes (--nodes) are real, each with a runtime of its own; --node sim:N simulates N")
    check_store(given.store)
    if given.scheduler_config is not None and not given.scheduler_config.is_file():
        raise Unusable(f"there is no scheduler configuration {given.scheduler_config}")
    socket = Path(given.container_runtime_endpoint.removeprefix("unix://"))
    if given.container_runtime_endpoint and not socket.is_socket():
        raise Unusable(f"no container runtime listens at {socket}: it is no socket")
    if given.token_auth_file is not None and not given.token_auth_file.is_file():
        raise Unusable(f"there is no token file {given.token_auth_file}")
    if not 0 <= given.port <= 65535:
        raise Unusable(f"--port is a number from 0 to 65535, not {given.port}")
    try:
        ipaddress.ip_address(given.bind_address)
        check_ranges("service-cluster-ip-range", given.service_cluster_ip_range.split(","), LEAST_SERVICES)
        check_ranges("cluster-cidr", [each for each in given.cluster_cidr.split(",") if each])
    except ValueError as problem:
        raise Unusable(str(problem)) from None
    return UpOptions(
        data=DataDirectory(given.data_dir.expanduser().absolute()),
        bind_address=given.bind_address,
        port=given.port,
        # Several are never simulated in the place of real ones: whoever wants those says so.
        node="real" if given.nodes > 1 else given.node,
        disabled=disabled,
        store=given.store,
        token_auth_file=given.token_auth_file,
        scheduler_config=given.scheduler_config,
        scheduler_plugins=tuple(given.scheduler_plugin),
        merge=not given.no_merge,
        verbosity=given.verbosity,
        service_cidr=given.service_cluster_ip_range,
        cluster_cidr=given.cluster_cidr,
        nodes=given.nodes,
        cni=given.cni,
        proxy_mode=given.proxy_mode,
        detached=given.ready_fd is not None,
        may_install=not given.no_install,
        runtime_endpoint=given.container_runtime_endpoint,
    )


def _stay(options: UpOptions, ready_fd: int | None) -> int:
    from tiphys.cmd.cluster import run

    options = replace(options, node=_chosen_node(options))
    if options.node == "real" and "proxy" not in options.disabled:
        from tiphys.cmd import proxy_mode

        proxy_mode.check(options.proxy_mode)
    if (options.scheduler_config or options.scheduler_plugins) and "scheduler" not in options.disabled:
        from tiphys.cmd import scheduler_part

        scheduler_part.check(options.scheduler_config, options.scheduler_plugins)
    announce = announcer(ready_fd)
    return run(options, lambda _: announce())


def _chosen_node(options: UpOptions) -> str:
    """What is missing on this machine is installed here, which is said first."""
    from tiphys.cmd.node_choice import AUTOMATIC, FALLBACK, REAL, Impossible, choose

    if options.node not in (AUTOMATIC, REAL):
        return options.node
    from tiphys.cmd import node_machine

    try:
        choice = choose(
            options.node,
            node_machine.look(),
            own_runtime=not options.runtime_endpoint,
            with_network="proxy" not in options.disabled or options.cni == "tiphys",
            may_install=options.may_install,
        )
    except Impossible as problem:
        raise Unusable(str(problem)) from None
    kind, why = choice.kind, choice.why
    if choice.install:
        print(f"Installing {', '.join(choice.install)} for the node (--no-install forbids it)", flush=True)
        why = node_machine.install(choice.install)
        if why and options.node == REAL:
            raise Unusable(why)
        kind = FALLBACK if why else REAL
    if why:
        print(f"The cluster has {'no node' if kind == 'none' else 'a simulated node'}: {why}", flush=True)
    return kind
