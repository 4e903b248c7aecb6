"""An API server as `tiphys up` builds it, on a store in memory; requests go to its pipeline without a socket."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest

from tiphys.apiserver import bootstrapping
from tiphys.apiserver.authn import signing_keys, token_file
from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.http.messages import Peer, Request
from tiphys.base.tls import Subject
from tiphys.cmd.api_server import ApiServerSettings, open_api_server
from tiphys.cmd.authentication import FrontProxy, ServiceAccounts, Trusted
from tiphys.cmd.stores import StoreSettings

ISSUER = "https://kubernetes.default.svc.cluster.local"
NAMES = ["alice", "ivy", "ian", "carl", "greta", "edgar", "bill", "bob"]
TOKENS = 'root,root,0,"system:masters"\n' + "".join(f"{name},{name},{number}\n" for number, name in enumerate(NAMES, 1))
NOW = RealClock().now()


class Served:
    """What a test asks, and the authorities whose certificates it may show."""

    def __init__(self, pipeline, clients, signing_key):
        self._pipeline = pipeline
        self.clients = clients
        self.signing_key = signing_key

    async def ask(self, path, token="", method="GET", headers=(), body=None, certificate=None):
        """Status and decoded body."""
        answer = await self.raw(path, token, method, headers, body, certificate)
        content = getattr(answer, "body", b"")
        content = content if isinstance(content, bytes) else b"".join(content)
        try:
            return answer.status, orjson.loads(content)
        except orjson.JSONDecodeError:
            return answer.status, content.decode()

    async def raw(self, path, token="", method="GET", headers=(), body=None, certificate=None):
        sent = {"content-type": "application/json"}
        if token:
            sent["authorization"] = f"Bearer {token}"
        repeated = {}
        for name, value in headers:
            repeated.setdefault(name.lower(), []).append(value)
        sent |= {name: ",".join(values) for name, values in repeated.items()}
        data = b"" if body is None else orjson.dumps(body)
        bare, _, query = path.partition("?")
        return await self._pipeline.handle(Request(method, bare, query, sent, data, Peer(certificate=certificate)))


@asynccontextmanager
async def open_server(settings=None, **more):
    """`settings` of the server, and `more` of what it trusts."""
    clients, proxies = tls.make_authority("clients", now=NOW), tls.make_authority("proxies", now=NOW)
    serving = tls.issue(clients, Subject("server"), ["server"], now=NOW, names=["127.0.0.1"])
    key = signing_keys.load_signing_key(tls.make_signing_key("ES256"))
    accounts = ServiceAccounts(key, (signing_keys.public_key(key.public_key()),), (ISSUER,), (ISSUER,))
    trusted = Trusted(
        accounts,
        client_authority=clients.certificate,
        front_proxy=FrontProxy(proxies.certificate, ("front-proxy",)),
        tokens=token_file.parse(TOKENS, "tokens"),
        **more,
    )
    settings = ApiServerSettings(
        StoreSettings("memory", Path("unused")),
        "127.0.0.1",
        0,
        serving,
        trusted,
        ("10.96.0.0/16",),
        advertise="127.0.0.1",
        **(settings or {}),
    )
    async with open_api_server(settings, RealClock()) as built:
        await bootstrapping.ensure(built.server.backend, bootstrapping.Given(settings.service_cidrs, trusted.told()))
        yield Served(built.server.pipeline, clients, key)


@pytest.fixture
def opened():
    """Makes a server to be used in `async with`."""
    return open_server


@pytest.fixture
def with_server():
    """Run a coroutine function on a fresh server."""

    def runner(work, **more):
        async def whole():
            async with open_server(**more) as served:
                return await work(served)

        return asyncio.run(whole())

    return runner
