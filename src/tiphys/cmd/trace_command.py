"""`tiphys trace pod/NAME`: what was done for a pod from the first request to Ready, by whom, and how long each step took."""

import argparse
import sys

import orjson
import uvloop

from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import component
from tiphys.cmd.flags import Parser
from tiphys.cmd.why_command import add_pod, pod_of
from tiphys.kubectl.trace import gather, timeline
from tiphys.kubectl.trace.timeline import Remembered
from tiphys.machinery.errors import ApiError


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    add_pod(parser)
    component.add_access(parser)
    return parser


def main(name: str, arguments: list[str]) -> int:
    chosen = parser(name)
    given = chosen.parse_args(arguments)
    pod = pod_of(chosen, given.what, given.name)
    access = component.access(given)
    try:
        known = uvloop.run(_ask(access, given.namespace or access.namespace, pod))
    except ApiError as problem:
        print(f"error: {problem.message}", file=sys.stderr)
        return 1
    print(_json(known) if given.output == "json" else timeline.text(known))
    return 0


async def _ask(access: Access, namespace: str, pod: str) -> Remembered:
    client = RestClient(access, user_agent="tiphys-trace")
    try:
        return await gather.story(client, namespace, pod)
    finally:
        await client.closed()


def _json(known: Remembered) -> str:
    meta = known.pod["metadata"]
    listed = timeline.entries(known)
    told = {
        "pod": f"{meta['namespace']}/{meta['name']}",
        "steps": [each.to_tree() for each in listed],
        "secondsToReady": timeline.ready_after(listed),
        "silent": list(known.silent),
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2).decode()
