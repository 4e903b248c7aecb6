"""What the server shows, and whose certificates it looks at, may change while it runs; and files that say so are followed."""

import asyncio

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tiphys.apiserver.authn import signing_keys
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.always import AlwaysAllow
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.lookup import Lookup
from tiphys.apiserver.request import resolve
from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.http.client import HttpClient
from tiphys.base.http.messages import Peer, Request, Response
from tiphys.base.http.server import Server
from tiphys.base.tls import Subject
from tiphys.base.tls_context import client_context
from tiphys.cmd import authentication
from tiphys.cmd.authentication import FrontProxy, Handshakes, ServiceAccounts, Trusted, TrustedFiles
from tiphys.machinery import errors
from tiphys.store.memory import MemoryStore

NOW = RealClock().now()
OLD, NEW, SERVERS = (tls.make_authority(name, now=NOW) for name in ("old", "new", "servers"))


def serving():
    return tls.issue(SERVERS, Subject("server"), ["server"], now=NOW, names=["127.0.0.1"])


def client(authority, name="alice"):
    return tls.issue(authority, Subject(name, ("devs",)), ["client"], now=NOW)


def der(pair):
    return x509.load_pem_x509_certificate(pair.certificate).public_bytes(Encoding.DER)


async def name_of(request):
    certificate = request.peer.certificate
    return Response(200, tls.subject_of(certificate).common_name.encode() if certificate else b"")


def with_server(handshakes, talk):
    async def main():
        server = Server(name_of, ssl_context=handshakes.serving.context)
        host, port = await server.listen("127.0.0.1", 0)

        async def ask(pair=None):
            http = HttpClient(host, port, ssl_context=client_context([SERVERS.certificate], pair))
            try:
                return (await http.request("GET", "/", timeout=5)).body.decode()
            finally:
                await http.closed()

        try:
            await talk(ask)
        finally:
            await server.shutdown(0)

    asyncio.run(main())


def test_another_authority_is_believed_from_the_next_connection_on():
    handshakes = Handshakes(serving(), OLD.certificate, b"")

    async def talk(ask):
        assert await ask(client(OLD)) == "alice"
        with pytest.raises(ConnectionError):
            await ask(client(NEW))
        handshakes.trust("client", NEW.certificate)
        assert await ask(client(NEW)) == "alice"
        with pytest.raises(ConnectionError):
            await ask(client(OLD))
        handshakes.trust("client", OLD.certificate + NEW.certificate)
        assert await ask(client(OLD)) == await ask(client(NEW)) == "alice"
        assert await ask() == ""

    with_server(handshakes, talk)


def test_a_new_certificate_does_not_change_whom_it_trusts():
    handshakes = Handshakes(serving(), OLD.certificate, b"")

    async def talk(ask):
        handshakes.show(serving())
        assert await ask(client(OLD)) == "alice"

    with_server(handshakes, talk)


@pytest.fixture
def built(tmp_path):
    files = {name: tmp_path / name for name in ("clients", "proxies", "tokens", "passwords")}
    files["clients"].write_bytes(OLD.certificate)
    files["proxies"].write_bytes(OLD.certificate)
    files["tokens"].write_text("one,alice,1\n")
    files["passwords"].write_text("secret,peter,1\n")
    key = signing_keys.load_signing_key(tls.make_signing_key("ES256"))
    trusted = Trusted(
        ServiceAccounts(key, (signing_keys.public_key(key.public_key()),), ("i",), ("a",)),
        client_authority=OLD.certificate,
        front_proxy=FrontProxy(OLD.certificate),
        tokens={"one": User("alice", (), "1")},
        passwords={"secret": User("peter", (), "1")},
        anonymous=False,
        files=TrustedFiles(files["clients"], files["proxies"], files["tokens"], files["passwords"]),
    )
    made = authentication.build(trusted, serving(), Lookup(MemoryStore()), Chain([AlwaysAllow()]), RealClock())
    return made, files


def who(made, headers=(), certificate=None):
    """A name, or 401."""
    request = Request("GET", "/version", "", dict(headers), b"", Peer(certificate=certificate))
    try:
        return asyncio.run(made.identity.authenticate(request, resolve("GET", "/version", {}), NOW)).name
    except errors.ApiError as problem:
        return problem.code


def test_tokens_and_passwords_follow_their_files(built):
    made, files = built
    assert who(made, {"authorization": "Bearer one"}) == "alice"
    files["tokens"].write_text("two,bob,2\nthree,carol,3\n")
    files["passwords"].write_text("other-secret,peter,1\n")
    assert [each.look() for each in made.watched if each.paths[0] in (files["tokens"], files["passwords"])] == ["", ""]
    assert who(made, {"authorization": "Bearer one"}) == 401
    assert who(made, {"authorization": "Bearer two"}) == "bob"
    assert who(made, {"authorization": "Basic cGV0ZXI6c2VjcmV0"}) == 401
    assert who(made, {"authorization": "Basic cGV0ZXI6b3RoZXItc2VjcmV0"}) == "peter"
    files["tokens"].write_text("broken line\n")
    assert "at least 3 columns" in next(each.look() for each in made.watched if each.paths[0] == files["tokens"])
    assert who(made, {"authorization": "Bearer two"}) == "bob"


def test_authorities_follow_their_files_even_on_open_connections(built):
    made, files = built
    peer = Peer(certificate=der(client(OLD)))

    def ask():

        request = Request("GET", "/version", "", {}, b"", peer)
        return asyncio.run(made.identity.authenticate(request, resolve("GET", "/version", {}), NOW)).name

    assert ask() == "alice"
    files["clients"].write_bytes(NEW.certificate)
    files["proxies"].write_bytes(NEW.certificate)
    assert [each.look() for each in made.watched][:2] == ["", ""]
    with pytest.raises(errors.ApiError, match="Unauthorized"):
        ask()
    assert who(made, certificate=der(client(NEW))) == "alice"
    proxied = {"x-remote-user": "eve"}
    assert who(made, proxied, der(client(NEW, "proxy"))) == "eve"
    files["clients"].write_text("junk")
    assert next(each.look() for each in made.watched)
    assert who(made, certificate=der(client(NEW))) == "alice"
