"""`tiphys token [create|list|delete]`: tokens by which nodes join a cluster."""

import argparse
import asyncio
import re
import secrets
from base64 import b64decode
from collections.abc import Iterable, Sequence

from tiphys.api.bootstrap_tokens import GROUP, NAMESPACE, SECRET_TYPE, TOKEN
from tiphys.api.registry import KINDS
from tiphys.base.clock import RealClock
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.cmd import data_directory, discovery, joining, kubeconfigs
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.flags import Parser
from tiphys.machinery import duration as durations
from tiphys.machinery import times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_SECRETS = next(kind for kind in KINDS if (kind.group, kind.plural) == ("", "secrets"))
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_DAY = 86400.0
USAGES = ("authentication", "signing")
DEFAULT_GROUPS = (joining.TOKEN_GROUP,)


def duration(value: str) -> float:
    """Seconds of a length of time like 24h0m0s."""
    try:
        return durations.parse(value) / durations.SECOND
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def listed(value: str) -> tuple[str, ...]:
    return tuple(each for each in value.split(",") if each)


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description="Tokens by which nodes join a cluster, while it runs.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a token and print it")
    create.add_argument("token", nargs="?", default="", help="the token, of the form abcdef.0123456789abcdef (default: random)")
    create.add_argument(
        "--ttl", type=duration, default=_DAY, metavar="D", help="how long it is good; 0: for ever (default: 24h)"
    )
    create.add_argument("--usages", type=listed, default=USAGES, metavar="U,..", help=f"(default: {','.join(USAGES)})")
    create.add_argument(
        "--groups", type=listed, default=DEFAULT_GROUPS, metavar="G,..", help=f"of who joins (default: {DEFAULT_GROUPS[0]})"
    )
    create.add_argument("--description", default="", metavar="TEXT", help="what it is for")
    create.add_argument("--print-join-command", action="store_true", help="print the command by which a node joins")
    actions.add_parser("list", help="show the tokens")
    delete = actions.add_parser("delete", help="make tokens useless")
    delete.add_argument("tokens", nargs="+", metavar="TOKEN", help="the token, or the part before its dot")
    for each in actions.choices.values():
        data_directory.add_flag(each)
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    data = DataDirectory(given.data_dir.expanduser().absolute())
    data.require()
    admin = kubeconfigs.access_of(data)
    if given.action == "create":
        token = given.token or new_token()
        secret = secret_of(token, given.ttl, given.usages, given.groups, given.description, RealClock().now())
        server = asyncio.run(_create(admin, secret, given.groups))
        print(join_command(server, admin.authority, token) if given.print_join_command else token)
    elif given.action == "list":
        print(table(asyncio.run(_list(admin))))
    else:
        asyncio.run(_delete(admin, given.tokens))
    return 0


def new_token() -> str:
    return f"{_random(6)}.{_random(16)}"


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def secret_of(token: str, ttl: float, usages: Sequence[str], groups: Sequence[str], description: str, now: float) -> Obj:
    """The Secret by which the cluster knows the token. Raises Unusable for what no cluster would take."""
    parts = TOKEN.fullmatch(token)
    if parts is None:
        raise Unusable(f'the bootstrap token "{token}" was not of the form "{TOKEN.pattern}"')
    if unknown := [each for each in usages if each not in USAGES]:
        raise Unusable(f"invalid bootstrap token usage {', '.join(unknown)}; valid are {', '.join(USAGES)}")
    for group in groups:
        if not GROUP.fullmatch(group):
            raise Unusable(f'bootstrap group "{group}" is invalid (must match {GROUP.pattern})')
    if groups and "authentication" not in usages:
        raise Unusable('token groups cannot be specified unless --usages includes "authentication"')
    content = {"token-id": parts[1], "token-secret": parts[2]}
    if description:
        content["description"] = description
    if ttl:
        content["expiration"] = times.rfc3339(now + ttl)
    content |= {f"usage-bootstrap-{usage}": "true" for usage in usages}
    if groups:
        content["auth-extra-groups"] = ",".join(groups)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"bootstrap-token-{parts[1]}", "namespace": NAMESPACE},
        "type": SECRET_TYPE,
        "stringData": content,
    }


def join_command(server: str, authority: bytes, token: str) -> str:
    """For a shell on the new node."""
    hashed = discovery.key_hash(authority)
    return f"tiphys join {server.removeprefix('https://')} --token {token} --discovery-token-ca-cert-hash {hashed}"


def table(found: Sequence[Obj]) -> str:
    rows: list[tuple[str, ...]] = [("TOKEN", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS")]
    for secret in found:
        data = {key: b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
        prefix = "usage-bootstrap-"
        usages = ",".join(
            sorted(key.removeprefix(prefix) for key, value in data.items() if key.startswith(prefix) and value == "true")
        )
        token = f"{data.get('token-id', '')}.{data.get('token-secret', '')}"
        others = (data.get("description", ""), data.get("auth-extra-groups", ""))
        rows.append(
            (token, data.get("expiration", "") or "<forever>", usages or "<none>", *(each or "<none>" for each in others))
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


async def _create(admin: Access, secret: Obj, groups: Iterable[str]) -> str:
    """Where nodes find the server, which may be another address than the administrator's."""
    client = RestClient(admin)
    try:
        await client.create(_SECRETS, secret, NAMESPACE)
        server = await joining.server_told(client) or admin.server
        await joining.ensure(client, server, admin.authority, groups)
        return server
    except (ApiError, ConnectionError) as problem:
        raise Unusable(str(problem)) from None
    finally:
        await client.closed()


async def _list(admin: Access) -> Sequence[Obj]:
    client = RestClient(admin)
    try:
        return (await client.list(_SECRETS, NAMESPACE, fields=f"type={SECRET_TYPE}")).items
    except (ApiError, ConnectionError) as problem:
        raise Unusable(str(problem)) from None
    finally:
        await client.closed()


async def _delete(admin: Access, tokens: Sequence[str]) -> None:
    client = RestClient(admin)
    try:
        for token in tokens:
            token_id = token.partition(".")[0]
            if not re.fullmatch("[a-z0-9]{6}", token_id):
                raise Unusable(f'"{token}" is neither a token nor the part before its dot')
            await client.delete(_SECRETS, f"bootstrap-token-{token_id}", NAMESPACE)
            print(f'bootstrap token "{token_id}" deleted')
    except (ApiError, ConnectionError) as problem:
        raise Unusable(str(problem)) from None
    finally:
        await client.closed()
