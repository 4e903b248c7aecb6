import asyncio
import ssl

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.http.messages import Request, Response
from tiphys.base.http.server import Server
from tiphys.base.tls_context import Serving, client_context

NOW = RealClock().now()


@pytest.fixture(scope="module")
def authority() -> tls.Pair:
    return tls.make_authority("tiphys-ca", now=NOW)


def server_pair(authority: tls.Pair, name: str = "localhost") -> tls.Pair:
    return tls.issue(authority, tls.Subject(name), ["server"], now=NOW, names=[name, "127.0.0.1", "127.0.0.1"])


def test_a_client_certificate_names_user_and_groups(authority):
    # https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates
    pair = tls.issue(authority, tls.Subject("jane", ("dev", "ops")), ["client"], now=NOW, days=2)
    der = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
    assert tls.subject_of(der) == tls.Subject("jane", ("dev", "ops"))
    assert tls.expires_at(pair.certificate) == int(NOW) + 2 * 86400
    assert tls.belongs(pair)
    assert not tls.belongs(tls.Pair(pair.certificate, authority.key))
    other = tls.make_authority("other", now=NOW)
    assert tls.issued_by(der, other.certificate + authority.certificate)
    assert not tls.issued_by(der, other.certificate)


def test_names_become_addresses_and_hosts_once(authority):
    certificate = x509.load_pem_x509_certificate(server_pair(authority).certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["localhost", "127.0.0.1"]


@pytest.mark.parametrize(("algorithm", "kind"), [("RS256", rsa.RSAPrivateKey), ("ES256", ec.EllipticCurvePrivateKey)])
def test_a_signing_key_is_of_the_kind_that_its_algorithm_wants(algorithm, kind):
    assert isinstance(tls.load_private_key(tls.make_signing_key(algorithm)), kind)


def test_keys_are_for_their_owner_only(authority, tmp_path):
    certificate, key = tmp_path / "pki" / "ca.crt", tmp_path / "pki" / "ca.key"
    tls.save(authority, certificate, key)
    assert tls.load(certificate, key) == authority
    assert key.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in certificate.parent.iterdir()) == ["ca.crt", "ca.key"]


async def told_by(address: tuple[str, int], context: ssl.SSLContext) -> tuple[bytes, bytes | None]:
    """What the server said, and the serial number of the certificate it showed."""
    reader, writer = await asyncio.open_connection(*address, ssl=context)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        return answer.rpartition(b"\r\n")[2], writer.get_extra_info("ssl_object").getpeercert(True) if answer else None
    finally:
        writer.close()
        await writer.wait_closed()


async def refused(address: tuple[str, int], context: ssl.SSLContext) -> bool:
    """A client learns of a refused certificate only after its side of a TLS 1.3 handshake is done: as an alert, or an end."""
    try:
        return await told_by(address, context) == (b"", None)
    except (ssl.SSLError, ConnectionResetError):
        return True


async def who(request: Request) -> Response:
    der = request.peer.certificate
    return Response(200, tls.subject_of(der).common_name.encode() if der else b"nobody")


def test_contexts_verify_both_ways_and_reload(authority):
    other = tls.make_authority("other", now=NOW)
    jane = tls.issue(authority, tls.Subject("jane"), ["client"], now=NOW)
    joe = tls.issue(other, tls.Subject("joe"), ["client"], now=NOW)
    first, second = server_pair(authority), server_pair(authority)
    trusted = [authority.certificate]

    async def main() -> None:
        serving = Serving(first, trusted)
        server = Server(who, ssl_context=serving.context)
        address = await server.listen("127.0.0.1", 0)
        try:
            said, shown = await told_by(address, client_context(trusted, jane))
            assert (said, shown) == (b"jane", ssl.PEM_cert_to_DER_cert(first.certificate.decode()))
            assert (await told_by(address, client_context(trusted)))[0] == b"nobody"
            assert (await told_by(address, client_context(insecure=True)))[0] == b"nobody"
            with pytest.raises(ssl.SSLCertVerificationError):
                await told_by(address, client_context([other.certificate]))
            assert await refused(address, client_context(trusted, joe))

            serving.reload(second, [other.certificate])
            said, shown = await told_by(address, client_context(trusted, joe))
            assert (said, shown) == (b"joe", ssl.PEM_cert_to_DER_cert(second.certificate.decode()))
            assert await refused(address, client_context(trusted, jane))
        finally:
            await server.shutdown(1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
