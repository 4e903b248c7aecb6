"""`tiphys kubeconfig`: a kubeconfig for some user with a new client certificate, or for a service account with a new token."""

import argparse
import asyncio
import sys
from pathlib import Path

from tiphys.api.registry import KINDS
from tiphys.base.clock import RealClock
from tiphys.base.tls import Subject, write_private
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import certificates, data_directory, kubeconfigs
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.flags import Parser
from tiphys.cmd.token_command import duration
from tiphys.machinery.errors import ApiError

_ACCOUNTS = next(kind for kind in KINDS if (kind.group, kind.plural) == ("", "serviceaccounts"))
_YEAR = 365 * 86400.0


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=__doc__)
    add = parser.add_argument
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--user", metavar="NAME", help="name in a new client certificate of the cluster")
    who.add_argument("--service-account", metavar="NAMESPACE/NAME", help="account of a new token; the cluster has to run")
    add("--group", action="append", default=[], metavar="G", help="group of the user; may be given several times")
    add("--duration", type=duration, metavar="D", help="how long it is good, like 24h (default: a year; a token: 1h)")
    add("--namespace", default="default", metavar="N", help="default namespace (default: %(default)s)")
    add("--server", default="", metavar="URL", help="of the API server (default: as the cluster's own kubeconfig has it)")
    add("--output", "-o", type=Path, metavar="F", help="file to write, for its owner alone (default: print it)")
    data_directory.add_flag(parser)
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    data = DataDirectory(given.data_dir.expanduser().absolute())
    data.require()
    admin = _known(data, given)
    server = (given.server or admin.server).rstrip("/")
    if given.user:
        subject = Subject(given.user, tuple(given.group))
        pair = certificates.issue_client(data.pki, subject, given.duration or _YEAR, RealClock())
        access = Access(server, admin.authority, pair, namespace=given.namespace)
    elif given.group:
        raise Unusable("--group goes with --user; the groups of a service account follow from its namespace")
    else:
        token = asyncio.run(_token(admin, given.service_account, given.duration))
        access = Access(server, admin.authority, token=token, namespace=given.namespace)
    rendered = kubeconfig.render(kubeconfig.context_of(kubeconfigs.CONTEXT, access))
    if given.output is None:
        sys.stdout.write(rendered.decode())
    else:
        write_private(given.output, rendered)
        print(f"Wrote {given.output}.")
    return 0


def _known(data: DataDirectory, given: argparse.Namespace) -> Access:
    """An API server alone leaves no kubeconfig, but has an authority. Raises Unusable."""
    authority = data.pki / "ca.crt"
    if given.user and given.server and not data.kubeconfig.exists() and authority.is_file():
        return Access(given.server, authority.read_bytes())
    return kubeconfigs.access_of(data)


async def _token(admin: Access, account: str, seconds: float | None) -> str:
    namespace, slash, name = account.partition("/")
    if not (slash and namespace and name):
        raise Unusable(f"--service-account is NAMESPACE/NAME, not {account!r}")
    client = RestClient(admin)
    spec = {"expirationSeconds": int(seconds)} if seconds else {}
    try:
        request = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {}, "spec": spec}
        answer = await client.create(_ACCOUNTS, request, namespace, name=name, subresource="token")
    except (ApiError, ConnectionError) as problem:
        raise Unusable(str(problem)) from None
    finally:
        await client.closed()
    token: str = answer["status"]["token"]
    return token
