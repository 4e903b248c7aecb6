"""`tiphys sim`: simulated nodes for any API server, without containers."""

import argparse
import os
from collections.abc import Callable

from tiphys.base.clock import RealClock
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import component, sim_part
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.flags import Parser
from tiphys.cmd.process import run_until_stopped, settle_memory


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    component.add_options(parser)
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first one (default: %(default)s)")
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    access = component.access(given)
    run_until_stopped(lambda: _serve(given, access))
    return 0


async def _serve(given: argparse.Namespace, access: Access) -> None:
    clock = RealClock()
    client = RestClient(access, clock=clock, user_agent="tiphys-sim")
    try:
        fleet = sim_part.build(client, given.nodes, clock, verbosity=given.verbosity, first=given.first)
    except ValueError as problem:
        raise Unusable(str(problem)) from None
    try:
        await fleet.run(_announce(given.nodes, access.server))
    finally:
        client.close()


def _announce(count: int, server: str) -> Callable[[], None]:
    def ready() -> None:
        settle_memory()
        print(f"Simulating {count} node{'s' if count != 1 else ''} for {server} (pid {os.getpid()})", flush=True)

    return ready
