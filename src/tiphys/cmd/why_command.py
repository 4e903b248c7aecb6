"""`tiphys why pod/NAME`: why a pod has no node, why it has the one it has, and what keeps it from running."""

import argparse
import sys

import orjson
import uvloop

from tiphys.base.clock import RealClock
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import component
from tiphys.cmd.flags import Parser
from tiphys.kubectl.why import gather
from tiphys.kubectl.why.answers import answers
from tiphys.kubectl.why.facts import Facts
from tiphys.machinery.errors import ApiError

_PODS = ("pod", "pods", "po")


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    add_pod(parser)
    add = parser.add_argument
    add("--nodes", type=int, default=0, metavar="N", help="list at most so many nodes (default: the 20 that matter most)")
    component.add_access(parser)
    return parser


def add_pod(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", metavar="pod/NAME", help="the pod; `pod NAME` and NAME alone are understood, too")
    add("name", nargs="?", default="", help=argparse.SUPPRESS)
    add("-n", "--namespace", default="", metavar="N", help="its namespace (default: that of the context, or else `default`)")
    add("-o", "--output", choices=("text", "json"), default="text", help="(default: %(default)s)")


def main(name: str, arguments: list[str]) -> int:
    chosen = parser(name)
    given = chosen.parse_args(arguments)
    pod = pod_of(chosen, given.what, given.name)
    access = component.access(given)
    namespace = given.namespace or access.namespace
    try:
        facts = uvloop.run(_ask(access, namespace, pod, given.nodes))
    except ApiError as problem:
        print(f"error: {problem.message}", file=sys.stderr)
        return 1
    print(_json(facts) if given.output == "json" else _text(facts))
    return 0


async def _ask(access: Access, namespace: str, pod: str, nodes: int) -> Facts:
    client = RestClient(access, user_agent="tiphys-why")
    try:
        return await gather.about_pod(client, namespace, pod, RealClock(), nodes)
    finally:
        await client.closed()


def pod_of(chosen: argparse.ArgumentParser, what: str, name: str) -> str:
    """The name that is meant. Ends the program where none can be."""
    kind, slash, rest = what.partition("/")
    if name:
        kind, rest = what, name
    elif not slash:
        kind, rest = "pod", what
    if kind.lower() not in _PODS or not rest:
        chosen.error(f"pods are explained: pod/NAME, not {' '.join(filter(None, (what, name)))!r}")
    return rest


def _text(facts: Facts) -> str:
    found = answers(facts)
    return "\n\n".join(each.text() for each in found) if found else f"There is nothing to say about pod {facts.key}."


def _json(facts: Facts) -> str:
    told = {"pod": facts.key, "answers": [each.to_tree() for each in answers(facts)]}
    return orjson.dumps(told, option=orjson.OPT_INDENT_2).decode()
