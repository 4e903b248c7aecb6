"""`tiphys kubelet`: the kubelet alone, against any API server, with a container runtime that is already there."""

import argparse
import asyncio
from dataclasses import dataclass
from pathlib import Path

from tiphys.base.clock import Clock, RealClock
from tiphys.base.log import Logger
from tiphys.base.tasks import start
from tiphys.cmd import gate_flags, kubelet_flags, kubelet_identity, kubelet_part
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import Parser
from tiphys.cmd.kubelet_identity import Files
from tiphys.cmd.kubelet_part import Identity, KubeletPart
from tiphys.cmd.process import run_until_stopped, settle_memory
from tiphys.kubelet import cgroups, configuration
from tiphys.kubelet.config import KubeletConfig
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.node.facts import swaps
from tiphys.machinery import feature_gates
from tiphys.machinery.tree import Obj
from tiphys.machinery.zpages import ZPages


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    kubelet_flags.add(parser)
    add = parser.add_argument
    add(
        "--root-dir",
        type=Path,
        default=Path("/var/lib/kubelet"),
        metavar="DIR",
        help="where volumes lie (default: %(default)s)",
    )
    add("--pod-logs-dir", type=Path, metavar="DIR", help="(default: podLogsDir of the configuration: /var/log/pods)")
    return parser


@dataclass(frozen=True, slots=True)
class Place:
    """Where the things of one kubelet are."""

    root: Path
    logs: Path
    cgroup_root: str
    pod_cidrs: tuple[str, ...] = ()
    or_any_port: bool = False


def config_of(given: argparse.Namespace, settings: Obj, place: Place) -> KubeletConfig:
    return KubeletConfig(
        node=given.hostname_override,
        root=place.root,
        logs=place.logs,
        addresses=tuple(each.strip() for each in given.node_ip.split(",") if each.strip()),
        cgroup_root=place.cgroup_root,
        port=settings["port"],
        or_any_port=place.or_any_port,
        pod_cidrs=place.pod_cidrs,
        cluster_domain=settings["clusterDomain"],
        cluster_dns=tuple(settings.get("clusterDNS") or ()),
        max_pods=settings["maxPods"],
        labels=tuple(given.node_labels.items()),
        host_dns=kubelet_part.host_dns(Path(settings["resolvConf"])),
        settings=settings,
    )


def check_machine(settings: Obj) -> None:
    """Raises Unusable where the configuration forbids to run on this machine."""
    if settings["failSwapOn"] and (found := swaps()):
        told = "running with swap on is not supported, please disable swap or set --fail-swap-on flag to false"
        raise Unusable(f"{told}: {', '.join(found)}")
    if settings["failCgroupV1"] and not cgroups.unified():
        raise Unusable("kubelet is configured to not run on a host using cgroup v1")


def files_of(given: argparse.Namespace, usual: Path) -> Files:
    return Files(given.kubeconfig, given.bootstrap_kubeconfig, (given.cert_dir or usual).absolute())


async def identity_of(given: argparse.Namespace, files: Files, clock: Clock, log: Logger) -> Identity:
    return Identity(await kubelet_identity.access(files, given.hostname_override, clock, log), files)


def tell_unused(said: Obj, log: Logger) -> None:
    if unused := configuration.without_effect(said):
        log.warning("these settings change nothing here", settings=", ".join(unused))


def pages_of(known: argparse.ArgumentParser, given: argparse.Namespace, said: Obj) -> ZPages:
    """/flagz and /statusz. Raises Unusable for feature gates that cannot be set so."""
    gates = gate_flags.gates(said.get("featureGates") or {}, feature_gates.PAGES)
    return gate_flags.pages("kubelet", gates, known, given, RealClock())


def main(name: str, arguments: list[str]) -> int:
    known = parser(name)
    given = known.parse_args(arguments)
    said = kubelet_flags.told(given, {})
    settings = kubelet_flags.whole(given, said)
    check_machine(settings)
    pages = pages_of(known, given, said)
    run_until_stopped(lambda: _serve(given, said, settings, pages))
    return 0


async def _serve(given: argparse.Namespace, said: Obj, settings: Obj, pages: ZPages) -> None:
    clock = RealClock()
    log = kubelet_part.logger(clock, given.verbosity)
    tell_unused(said, log)
    cgroup_root = f"{(settings.get('cgroupRoot') or '').rstrip('/')}/kubepods"
    place = Place(given.root_dir, given.pod_logs_dir or Path(settings["podLogsDir"]), cgroup_root)
    identity = await identity_of(given, files_of(given, given.root_dir / "pki"), clock, log)
    runtime = Runtime(Path(settings["containerRuntimeEndpoint"].removeprefix("unix://")))
    try:
        async with asyncio.TaskGroup() as group:
            kubelet = KubeletPart(config_of(given, settings, place), identity, runtime, pages, clock, log)
            await start(group, kubelet.run, name="kubelet")
            settle_memory()
            print(f"Node {given.hostname_override} works for {identity.access.server}", flush=True)
    finally:
        await runtime.close()
