"""TLS contexts for both ends: TLS 1.2 and later, HTTP/1.1 by ALPN, client certificates welcome but not required."""

import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tiphys.base.tls import Pair

_ALPN = ["http/1.1"]


class Serving:
    """A server's context. `reload` takes new certificates without a restart: each handshake uses the newest.

    server = Server(handler, ssl_context=serving.context)
    """

    def __init__(
        self, pair: Pair, client_authorities: Sequence[bytes] = (), minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ) -> None:
        self._minimum = minimum
        self.context = _server_context(pair, client_authorities, minimum)
        self._newest = self.context
        self.context.sni_callback = self._choose

    def reload(self, pair: Pair, client_authorities: Sequence[bytes] = ()) -> None:
        """From the next connection on."""
        self._newest = _server_context(pair, client_authorities, self._minimum)

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        if self._newest is not self.context:
            connection.context = self._newest


def _server_context(pair: Pair, client_authorities: Sequence[bytes], minimum: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = minimum
    context.set_alpn_protocols(_ALPN)
    # Clients of a cluster keep their connections; tickets would only make the first bytes of each more.
    context.num_tickets = 0
    _load_pair(context, pair)
    if client_authorities:
        context.verify_mode = ssl.CERT_OPTIONAL
        _trust(context, client_authorities)
    return context


def client_context(authorities: Sequence[bytes] = (), pair: Pair | None = None, *, insecure: bool = False) -> ssl.SSLContext:
    """`authorities`: PEM bundles to trust, the machine's own where there are none. `pair`: the client's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(_ALPN)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authorities:
        _trust(context, authorities)
    else:
        context.load_default_certs()
    if pair is not None:
        _load_pair(context, pair)
    return context


def _trust(context: ssl.SSLContext, authorities: Sequence[bytes]) -> None:
    # A bundle may hold intermediate authorities; each is trusted for itself, as Go does.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for bundle in authorities:
        context.load_verify_locations(cadata=bundle.decode("ascii", "ignore"))


def _load_pair(context: ssl.SSLContext, pair: Pair) -> None:
    """The ssl module reads keys from files only: through one that nobody else can open, and that is gone at once."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pair.pem")
        file.touch(0o600)
        file.write_bytes(pair.key.rstrip() + b"\n" + pair.certificate)
        context.load_cert_chain(file)
