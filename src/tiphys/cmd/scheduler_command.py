"""`tiphys scheduler`: the scheduler alone, against any API server."""

import argparse
import os
import random
import socket
import sys
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tiphys.base.clock import RealClock
from tiphys.base.http.server import Server
from tiphys.base.metrics import Registry
from tiphys.base.tasks import Service
from tiphys.client.election import Candidate
from tiphys.client.leader import Leader, LostLeadership
from tiphys.client.rest import RestClient
from tiphys.cmd import component, gate_flags, scheduler_part
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import Parser, Switch
from tiphys.cmd.process import cannot_listen, run_until_stopped, settle_memory
from tiphys.machinery import feature_gates
from tiphys.machinery.zpages import ZPages
from tiphys.scheduler.config.settings import SchedulerSettings
from tiphys.scheduler.serving import Handler


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    add = parser.add_argument
    component.add_options(parser)
    add("--config", type=Path, metavar="F", help="a KubeSchedulerConfiguration (v1), or a Policy as schedulers had them before")
    add(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="a plugin of your own, in every profile that the configuration does not name it in; may be repeated",
    )
    add("--scheduler-name", default="", metavar="NAME", help="whose pods to schedule (default: as the configuration says)")
    add(
        "--leader-elect",
        action=Switch,
        default=None,
        help="lead by Lease (default: as the configuration says, or else True)",
    )
    add(
        "--http-address",
        default="",
        metavar="HOST:PORT",
        help="where to serve metrics, health and explanations, to whoever asks (default: nowhere)",
    )
    gate_flags.add(parser, feature_gates.PAGES)
    return parser


def main(name: str, arguments: list[str]) -> int:
    known = parser(name)
    given = known.parse_args(arguments)
    gates = gate_flags.gates(given.feature_gates, feature_gates.PAGES)
    settings = _settings(given)
    if given.kubeconfig is None and settings.kubeconfig:
        given.kubeconfig = Path(settings.kubeconfig)
    if given.http_address:
        _address(given.http_address)
    access = component.access(given)
    client = RestClient(access, clock=RealClock(), user_agent="tiphys-scheduler")
    try:
        pages = gate_flags.pages("kube-scheduler", gates, known, given, RealClock())
        run_until_stopped(lambda: _serve(given, settings, client, access.server, pages))
    except LostLeadership as lost:
        print(f"error: {lost}", file=sys.stderr)
        return 1
    return 0


def _settings(given: argparse.Namespace) -> SchedulerSettings:
    settings = scheduler_part.settings_of(given.config)
    if given.scheduler_name:
        if len(settings.profiles) > 1:
            raise Unusable("--scheduler-name is for a single profile; the configuration has several")
        settings = replace(settings, profiles=(replace(settings.profiles[0], scheduler=given.scheduler_name),))
    if given.leader_elect is not None:
        settings = replace(settings, leader=replace(settings.leader, elect=given.leader_elect))
    return settings


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Unusable(f"--http-address is HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)


async def _serve(
    given: argparse.Namespace, settings: SchedulerSettings, client: RestClient, server: str, pages: ZPages
) -> None:
    clock, metrics = RealClock(), Registry()
    scheduler = scheduler_part.build(
        client, clock, settings, given.plugin, verbosity=given.verbosity, host=socket.gethostname(), metrics=metrics
    )
    announce = _Announce(server)
    listening = Server(Handler(scheduler, metrics.render, lambda: announce.told, pages).answer)
    try:
        if given.http_address:
            await _listen(listening, *_address(given.http_address))
        await _lead(settings, client, scheduler.run, announce, given.verbosity)
    finally:
        client.close()
        if given.http_address:
            await listening.shutdown(1.0)


async def _listen(listening: Server, host: str, port: int) -> None:
    try:
        shown, taken = await listening.listen(host, port)
    except OSError as problem:
        raise cannot_listen(problem, host, port) from None
    print(f"Metrics and explanations on http://{shown}:{taken}", flush=True)


async def _lead(
    settings: SchedulerSettings, client: RestClient, service: Service, announce: Callable[[], None], verbosity: int
) -> None:
    wanted = settings.leader
    if not wanted.elect:
        await service(announce)
        return
    clock = RealClock()
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    candidate = Candidate(wanted.name, wanted.namespace, identity, wanted.duration)
    await Leader(client, candidate, clock, random.random, scheduler_part.logger(clock, verbosity)).lead(service, announce)


class _Announce:
    def __init__(self, server: str) -> None:
        self.told = False
        self._server = server

    def __call__(self) -> None:
        settle_memory()
        self.told = True
        print(f"Scheduling for {self._server} (pid {os.getpid()})", flush=True)
