"""`tiphys proxy`: traffic to Services reaches their pods, on the node where this runs; against any API server."""

import argparse
import asyncio
import contextlib
import os
from dataclasses import replace
from pathlib import Path

from tiphys.base.clock import RealClock
from tiphys.base.tasks import start
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import component, gate_flags, proxy_config, proxy_flags, proxy_mode
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.process import run_until_stopped, settle_memory
from tiphys.machinery import feature_gates
from tiphys.proxy import apply
from tiphys.proxy.apply import Refused
from tiphys.proxy.loop import BACKENDS, Proxy
from tiphys.proxy.serving import Serving
from tiphys.proxy.state import FAMILIES, Settings

OOM_SCORE = Path("/proc/self/oom_score_adj")


def main(name: str, arguments: list[str]) -> int:
    known = proxy_flags.parser(name, __doc__)
    given = known.parse_args(arguments)
    if given.config is not None:
        proxy_config.apply(given.config, given)
    gates = gate_flags.gates(given.feature_gates, feature_gates.PAGES)
    pages = gate_flags.pages("kube-proxy", gates, known, given, RealClock())
    settings, serving = proxy_flags.settings(given), replace(proxy_flags.serving(given), pages=pages)
    if os.geteuid() != 0:
        raise Unusable("the proxy writes rules of the kernel: run it as root")
    if given.cleanup:
        return asyncio.run(_clean(settings))
    proxy_mode.check(settings.mode, settings.scheduler)
    access = component.access(given)
    if given.master:
        access = replace(access, server=given.master)
    with contextlib.suppress(OSError):  # not every container may
        OOM_SCORE.write_text(str(given.oom_score_adj))
    run_until_stopped(lambda: _serve(given, settings, serving, access))
    return 0


async def _clean(settings: Settings) -> int:
    for mode, make in BACKENDS.items():
        for family in FAMILIES:
            try:
                await make(family, settings.table).remove()
            except Refused as error:
                print(f"{mode}, IPv{family}: {error}")
    return 0


async def _serve(given: argparse.Namespace, settings: Settings, serving: Serving, access: Access) -> None:
    clock = RealClock()
    log = component.logger(given, clock, "proxy")
    for complaint in apply.switch(proxy_flags.switches(given, settings)):
        log.warning(complaint)
    if timeouts := proxy_flags.ipvs_timeouts(given):
        try:
            await apply.run(["ipvsadm", "--set", *timeouts])
        except Refused as error:
            log.error("cannot set the timeouts of IPVS", error=str(error))
    client = RestClient(access, clock=clock, user_agent="tiphys-proxy")
    try:
        async with asyncio.TaskGroup() as group:
            await start(group, Proxy(client, settings, clock, log, serving).run, name="proxy")
            settle_memory()
            print(f"Serving the Services of {access.server} on node {settings.node}", flush=True)
    finally:
        client.close()
