"""`tiphys up`, from certificates to "ready": one control-plane process, and a node process beside it."""

import asyncio
import ipaddress
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tiphys.base.clock import RealClock
from tiphys.base.log import log
from tiphys.base.tasks import spawn, start
from tiphys.base.tls import write_private
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.cmd import certificates
from tiphys.cmd.addresses import own_address
from tiphys.cmd.control_plane import ControlPlane, Settings
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.kubeconfigs import CONTEXT, show_new_admin
from tiphys.cmd.machine_network import MachineNetwork, claim, release
from tiphys.cmd.node_choice import simulated
from tiphys.cmd.options import UpOptions
from tiphys.cmd.process import run_until_stopped, settle_memory
from tiphys.cmd.renewal import keep_renewed

_PODS = "10.244.0.0/16"
"""Of a cluster that has no node on this machine."""


class Progress:
    """One line a step, with the time it took."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()

    def done(self, told: str) -> None:
        now = time.monotonic()
        print(f"  {told:<58} {1000 * (now - self._last):6.0f} ms", flush=True)
        self._last = now

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began


def run(options: UpOptions, announce: Callable[[str], None]) -> int:
    """Until Ctrl-C or SIGTERM. The exit code."""
    with options.data.lock():
        try:
            print(f"Starting a cluster in {options.data.path}", flush=True)
            machine = None
            if options.node == "real":
                machine = claim(options.data.network, tuple(filter(None, options.cluster_cidr.split(","))))
            pods = ",".join(machine.pod_ranges) if machine is not None else options.cluster_cidr or _PODS
            settled = replace(options, cluster_cidr=pods)
            run_until_stopped(lambda: _serve(settled, machine, announce))
        finally:
            if options.data.network.exists():
                from tiphys.cmd import local_nodes

                asyncio.run(local_nodes.remove(options.data))
                release(options.data.network)
            options.data.forget_run()
    print("\nStopped.", flush=True)
    return 0


async def _serve(options: UpOptions, machine: MachineNetwork | None, announce: Callable[[str], None]) -> None:
    progress, clock = Progress(), RealClock()
    names = served_names(options, machine)
    made = certificates.ensure(options.data.pki, names, clock)
    progress.done("certificates and keys")
    settings = Settings(options, made, machine)
    async with ControlPlane.open(settings, clock) as control_plane, asyncio.TaskGroup() as group:
        progress.done(f"store ({options.store})")
        await start(group, control_plane.run, name="apiserver")
        host, port = control_plane.server.address
        server = f"https://{_reachable(host)}:{port}"
        progress.done(f"API server on {server}")
        _write_kubeconfigs(options, Access(server, made.authority.certificate, made.admin), progress)
        run = control_plane.describe(server)
        await control_plane.prepare_for_nodes()
        if machine is not None:
            await _start_nodes(control_plane, settings, machine, group, progress, run)
        if count := simulated(options.node):
            # Many take longer than a user wants to wait for the API.
            spawn(group, control_plane.simulate(count, clock), name="simulated nodes")
            run["components"].append({"name": "simulated nodes", "pid": run["pid"]})
        options.data.write_run(run)
        settle_memory()
        print(_next_steps(options, progress.seconds), flush=True)
        announce(server)
        renewing = keep_renewed(
            options.data.pki,
            names,
            made,
            clock,
            log.named("certificates"),
            lambda renewed: show_new_admin(options.data, renewed.admin),
        )
        spawn(group, renewing, name="certificates")
        told = _seen_by_others(settings.inside or host, port)
        spawn(group, control_plane.let_nodes_join(told, _dns_address(options), clock), name="joining")
        if "controllers" not in options.disabled:
            spawn(group, control_plane.control(clock), name="controllers")
        if "scheduler" not in options.disabled:
            spawn(group, control_plane.schedule(clock), name="scheduler")


async def _start_nodes(
    control_plane: ControlPlane,
    settings: Settings,
    machine: MachineNetwork,
    group: asyncio.TaskGroup,
    progress: Progress,
    run: dict[str, Any],
) -> None:
    """All at the same time; `run` gets what of them is to be seen in the status, and keeps it true."""
    # Loaded only where there are nodes: netlink and gRPC cost a control plane more than all the rest of it.
    from tiphys.cmd import local_nodes
    from tiphys.cmd.node_part import NodeProcess

    options, clock = settings.options, RealClock()
    host, port = control_plane.server.address
    inside = host if options.nodes == 1 else _for_enclosed(settings, machine, host)
    dns_ip = _dns_address(options)
    if options.nodes > 1:
        here = local_nodes.NodesOfMachine(options, machine, control_plane.client("tiphys-network"), clock)
        await here.prepare()
        await start(group, here.run, name="network of nodes")
        progress.done(f"network of nodes {machine.node_ranges[0]}")

    async def begin(node: NodeProcess) -> None:
        await start(group, node.run, name=f"node {node.wish.name}")
        progress.done(f"node {node.wish.name} with containers, {node.wish.addresses[0]}")

    wished = local_nodes.wishes(options, settings.certificates, machine, f"https://{_reachable(inside)}:{port}", dns_ip)
    nodes = [NodeProcess(each, clock, lambda: note(written=True)) for each in wished]
    shown = [{"name": f"node {each.wish.name}", "pid": 0, "address": each.wish.addresses[0]} for each in nodes]

    def note(*, written: bool) -> None:
        for node, component in zip(nodes, shown, strict=True):
            component["pid"] = node.pid
        if written:
            options.data.write_run(run)

    async with asyncio.TaskGroup() as together:
        for each in nodes:
            spawn(together, begin(each), name=f"start {each.wish.name}")
    note(written=False)
    run["components"] += shown


def served_names(options: UpOptions, machine: MachineNetwork | None) -> list[str]:
    """All by which somebody may reach the API server: certificates name them."""
    bound = ipaddress.ip_address(options.bind_address)
    names = [options.bind_address, *(service_address(each, 1) for each in options.service_cidr.split(","))]
    if machine is not None:
        names.append(machine.address)
    return [*names, own_address()] if bound.is_unspecified else names


def _dns_address(options: UpOptions) -> str:
    return "" if "dns" in options.disabled else service_address(options.service_cidr.split(",")[0], 10)


def service_address(service_cidr: str, number: int) -> str:
    """The first of a range is that of the Service `kubernetes`; the tenth upstream's tools give to the cluster's DNS."""
    return str(ipaddress.ip_network(service_cidr).network_address + number)


def _write_kubeconfigs(options: UpOptions, access: Access, progress: Progress) -> None:
    write_private(options.data.kubeconfig, kubeconfig.render(kubeconfig.context_of(CONTEXT, access)))
    if not options.merge:
        return
    target = kubeconfig.default_paths()[0]
    try:
        kubeconfig.merge_context(target, CONTEXT, access, use=False)
    except (OSError, kubeconfig.BadConfig) as problem:
        told = " ".join(str(problem).split())
        raise Unusable(f"cannot add a context to {target}: {told}; --no-merge leaves it alone") from None
    options.data.note_merged(target, CONTEXT)
    progress.done(f"context {CONTEXT} in {target}")


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)


def _for_enclosed(settings: Settings, machine: MachineNetwork, host: str) -> str:
    """Where nodes in network namespaces of their own reach the server."""
    return settings.inside or (machine.address if ipaddress.ip_address(host).is_unspecified else host)


def _seen_by_others(host: str, port: int) -> str:
    """Where other machines reach the server, if they do at all."""
    address = own_address() if host in ("0.0.0.0", "::") else host
    return f"https://{_reachable(address)}:{port}"


def _next_steps(options: UpOptions, seconds: float) -> str:
    own = shlex.quote(str(options.data.kubeconfig))
    use = f"kubectl --context {CONTEXT}" if options.merge else f"kubectl --kubeconfig {own}"
    end = options.data.down if options.detached else "Ctrl-C"
    return f"Ready in {seconds:.2f} s.\n\nTry:   {use} get namespaces\nStop:  {end}"
