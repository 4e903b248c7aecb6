"""`tiphys controller-manager`: the controllers alone, against any API server."""

import argparse
import os
import random
import socket
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiphys.base.clock import Clock, RealClock
from tiphys.base.log import Log, Logger
from tiphys.base.metrics import Registry
from tiphys.base.process_metrics import show_process
from tiphys.base.tasks import first_done
from tiphys.client import kubeconfig
from tiphys.client.election import DURATION, RENEW_WITHIN, RETRY, Candidate
from tiphys.client.interface import Client
from tiphys.client.leader import Leader, LostLeadership
from tiphys.client.rest import RestClient
from tiphys.cmd import controller_flags, controller_server, gate_flags
from tiphys.cmd.controller_manager import AGENT, manager
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import Parser, Switch
from tiphys.cmd.process import run_until_stopped, settle_memory
from tiphys.cmd.token_command import duration
from tiphys.cmd.watched_files import keep_looking
from tiphys.controllers import serving
from tiphys.controllers.manager import Manager
from tiphys.machinery import feature_gates
from tiphys.machinery.zpages import ZPages

LEASE = "kube-controller-manager"


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    add = parser.add_argument
    add("--kubeconfig", type=Path, metavar="F", help="how to reach the API server (default: as kubectl finds it)")
    add(
        "--controllers",
        default="*",
        metavar="LIST",
        help="'*' all that are on by default, 'foo' this one, '-foo' not this one (default: %(default)s)",
    )
    controller_flags.add_to(parser)
    add("--leader-elect", action=Switch, default=True, help="lead by Lease (default: %(default)s)")
    lead = "how long a lease holds that is not renewed"
    add("--leader-elect-lease-duration", type=duration, default=DURATION, metavar="D", help=f"{lead} (default: 15s)")
    lead = "who leads, and cannot renew for so long, ends"
    add("--leader-elect-renew-deadline", type=duration, default=RENEW_WITHIN, metavar="D", help=f"{lead} (default: 10s)")
    add("--leader-elect-retry-period", type=duration, default=RETRY, metavar="D", help="between two tries (default: 2s)")
    add("--leader-elect-resource-name", default=LEASE, metavar="NAME", help="of the Lease (default: %(default)s)")
    add("--leader-elect-resource-namespace", default="kube-system", metavar="NS", help="its namespace (default: %(default)s)")
    gate_flags.add(parser, feature_gates.PAGES)
    add("-v", "--verbosity", type=int, default=0, metavar="N", help="how much to log")
    return parser


def main(name: str, arguments: list[str]) -> int:
    known = parser(name)
    given = known.parse_args(arguments)
    gates = gate_flags.gates(given.feature_gates, feature_gates.PAGES)
    pages = gate_flags.pages("kube-controller-manager", gates, known, given, RealClock())
    try:
        run_until_stopped(lambda: _serve(given, pages))
    except LostLeadership as lost:
        print(f"error: {lost}", file=sys.stderr)
        return 1
    return 0


async def _serve(given: argparse.Namespace, pages: ZPages) -> None:
    clock = RealClock()
    log = Logger(Log(verbosity=given.verbosity, clock=clock), "controllers", {})
    try:
        found = kubeconfig.read(given.kubeconfig) if given.kubeconfig else kubeconfig.load(kubeconfig.default_paths())
        access = kubeconfig.resolve(found)
        authority = given.root_ca_file.read_bytes() if given.root_ca_file else access.authority
    except (OSError, kubeconfig.BadConfig) as problem:
        raise Unusable(str(problem)) from None
    asked, registry = controller_flags.settings(given, authority), Registry()
    show_process(registry)
    client = RestClient(access, user_agent=AGENT, clock=clock)
    try:
        works = manager(client, asked.settings, given.controllers, clock, registry, log)
    except ValueError as problem:
        raise Unusable(str(problem)) from None
    state = _State()
    parts = [_control(given, client, works, state, access.server, clock, log), keep_looking(asked.watched, clock, log)]
    if given.secure_port:
        handler = serving.Handler(works.runners, registry.render, lambda: state.problem, pages)
        files = (given.tls_cert_file, given.tls_private_key_file) if given.tls_cert_file else None
        parts.append(controller_server.serve(handler, given.bind_address, given.secure_port, files, clock))
    try:
        await first_done(*parts)
    finally:
        client.close()


@dataclass(slots=True)
class _State:
    problem: str = ""
    """Why the controllers are not ready; a stand-by is."""


async def _control(
    given: argparse.Namespace, client: Client, works: Manager, state: _State, server: str, clock: Clock, log: Logger
) -> None:
    async def service(ready: Callable[[], None]) -> None:
        state.problem = "the caches are being filled"
        await works.run(ready)

    if given.leader_elect:
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        candidate = Candidate(
            given.leader_elect_resource_name,
            given.leader_elect_resource_namespace,
            identity,
            given.leader_elect_lease_duration,
            given.leader_elect_renew_deadline,
            given.leader_elect_retry_period,
        )
        leader = Leader(client, candidate, clock, random.random, log)
        await leader.lead(service, _announce(server, state))
    else:
        await service(_announce(server, state))


def _announce(server: str, state: _State) -> Callable[[], None]:
    def ready() -> None:
        state.problem = ""
        settle_memory()
        print(f"Controllers are at work on {server} (pid {os.getpid()})", flush=True)

    return ready
