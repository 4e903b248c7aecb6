"""Who may come in: the authenticators of a server, in order, and the issuer of its tokens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from ssl import TLSVersion

from tiphys.apiserver.authn import signing_keys, token_file
from tiphys.apiserver.authn.anonymous import Anonymous
from tiphys.apiserver.authn.basic import PasswordFile
from tiphys.apiserver.authn.bearer import Bearer
from tiphys.apiserver.authn.bootstrap_token import BootstrapTokens
from tiphys.apiserver.authn.chain import Chain
from tiphys.apiserver.authn.issuer_keys import IssuerKeys
from tiphys.apiserver.authn.open_id import JwtIssuer, OpenIdTokens
from tiphys.apiserver.authn.outcome import RequestAuthenticator, TokenAuthenticator
from tiphys.apiserver.authn.request_header import Headers, RequestHeader
from tiphys.apiserver.authn.review_client import ReviewClient
from tiphys.apiserver.authn.service_account import Issuer, ServiceAccountTokens
from tiphys.apiserver.authn.signing_keys import PublicKey, SigningKey
from tiphys.apiserver.authn.token_file import TokenFile
from tiphys.apiserver.authn.token_request import Settings as TokenSettings
from tiphys.apiserver.authn.trust import Trust
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authn.webhook import CACHED_SECONDS, WebhookTokens
from tiphys.apiserver.authn.x509 import CertificateAuthenticator
from tiphys.apiserver.authz.attributes import Authorizer
from tiphys.apiserver.bootstrap.cluster import ClusterAuthentication
from tiphys.apiserver.identity import Identity, StoredObjects
from tiphys.apiserver.lookup import Lookup
from tiphys.apiserver.subresources.token import TokenGrants
from tiphys.base.clock import Clock
from tiphys.base.tls import Pair
from tiphys.base.tls_context import Serving
from tiphys.client.kubeconfig import Access
from tiphys.cmd.watched_files import WatchedFiles

WEBHOOK_SECONDS = 10.0
"""As long as an API server waits for its webhook to say whose a token is."""


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """A proxy before the server that is believed when it says who asks. The names of headers as they are written."""

    authority: bytes
    allowed_names: tuple[str, ...] = ()
    username: tuple[str, ...] = ("X-Remote-User",)
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ("X-Remote-Group",)
    extra_prefix: tuple[str, ...] = ("X-Remote-Extra-",)


@dataclass(frozen=True, slots=True)
class ServiceAccounts:
    """`issuers`: the first is written into tokens, all are believed. `verifying`: the keys that are believed, PEM files."""

    signing_key: SigningKey
    verifying: tuple[PublicKey, ...]
    issuers: tuple[str, ...]
    audiences: tuple[str, ...]
    max_seconds: int = 0
    extend: bool = True
    keys_url: str = ""
    """Where others find the keys; under the issuer if empty."""


@dataclass(frozen=True, slots=True)
class TokenWebhook:
    """Somebody who knows tokens: where, and how long an answer counts."""

    access: Access
    version: str = "v1"
    seconds: float = CACHED_SECONDS


@dataclass(frozen=True, slots=True)
class TrustedFiles:
    """Where the values come from that follow their file while the server runs."""

    client_authority: Path | None = None
    front_proxy_authority: Path | None = None
    tokens: Path | None = None
    passwords: Path | None = None


@dataclass(frozen=True, slots=True)
class Trusted:
    """What authentication rests on."""

    accounts: ServiceAccounts
    client_authority: bytes = b""
    front_proxy: FrontProxy | None = None
    tokens: Mapping[str, User] = field(default_factory=dict)
    passwords: Mapping[str, User] = field(default_factory=dict)
    """Users by password: HTTP basic."""
    issuers: tuple[JwtIssuer, ...] = ()
    """Of OpenID Connect."""
    token_webhook: TokenWebhook | None = None
    anonymous: bool = True
    anonymous_paths: tuple[str, ...] = ()
    """The only ones for those who show nothing; empty: all."""
    bootstrap_tokens: bool = True
    files: TrustedFiles = TrustedFiles()

    @property
    def authorities(self) -> list[bytes]:
        """Whose certificates the server looks at, at all."""
        front = self.front_proxy.authority if self.front_proxy else b""
        return [each for each in (self.client_authority, front) if each]

    def told(self) -> ClusterAuthentication:
        """What servers behind this one must know of it."""
        front = self.front_proxy
        client = self.client_authority.decode()
        if front is None:
            return ClusterAuthentication(client)
        headers = (front.username, front.uid, front.group, front.extra_prefix)
        return ClusterAuthentication(client, front.authority.decode(), front.allowed_names, *headers)


class Handshakes:
    """What the server shows and whom it trusts when a connection begins; each may change while it runs."""

    def __init__(
        self,
        pair: Pair,
        client_authority: bytes,
        front_proxy_authority: bytes,
        minimum: TLSVersion = TLSVersion.TLSv1_2,
    ) -> None:
        self._pair = pair
        self._authorities = {"client": client_authority, "front proxy": front_proxy_authority}
        self.serving = Serving(pair, self._trusted, minimum)

    @property
    def _trusted(self) -> list[bytes]:
        return [each for each in self._authorities.values() if each]

    def show(self, pair: Pair) -> None:
        self._pair = pair
        self.serving.reload(pair, self._trusted)

    def trust(self, which: str, authority: bytes) -> None:
        self._authorities[which] = authority
        self.serving.reload(self._pair, self._trusted)


@dataclass(frozen=True, slots=True)
class Authentication:
    identity: Identity
    tokens: TokenGrants
    documents: Mapping[str, Callable[[], bytes]]
    """The issuer's own, by path."""
    handshakes: Handshakes
    watched: Sequence[WatchedFiles]
    """For watched_files.keep_looking."""


def build(
    trusted: Trusted,
    serving: Pair,
    lookup: Lookup,
    authorizer: Authorizer,
    clock: Clock,
    minimum: TLSVersion = TLSVersion.TLSv1_2,
) -> Authentication:
    """The authenticators in the order in which they are asked, which is upstream's: certificates, then what this server can
    tell by itself, then what it has to ask others about."""
    accounts, files = trusted.accounts, trusted.files
    objects = StoredObjects(lookup)
    front_proxy, certificates = _front_proxy(trusted), _certificates(trusted)
    static, passwords = TokenFile(trusted.tokens), PasswordFile(trusted.passwords)
    tokens: list[TokenAuthenticator | None] = [
        static if trusted.tokens or files.tokens else None,
        ServiceAccountTokens(accounts.issuers, accounts.verifying, accounts.audiences, objects),
        BootstrapTokens(objects) if trusted.bootstrap_tokens else None,
        *(_open_id(issuer, clock) for issuer in trusted.issuers),
        _webhook(trusted, clock),
    ]
    bearer = Bearer([each for each in tokens if each is not None], accounts.audiences)
    ways: list[RequestAuthenticator | None] = [
        front_proxy,
        certificates,
        passwords if trusted.passwords or files.passwords else None,
        bearer,
    ]
    anonymous = Anonymous(trusted.anonymous_paths) if trusted.anonymous else None
    chain = Chain([each for each in ways if each is not None], anonymous)
    front = trusted.front_proxy
    handshakes = Handshakes(serving, trusted.client_authority, front.authority if front else b"", minimum)
    return Authentication(
        Identity(chain, bearer, authorizer),
        TokenGrants(
            Issuer(accounts.issuers[0], accounts.signing_key),
            TokenSettings(accounts.audiences, max_seconds=accounts.max_seconds, extend=accounts.extend),
        ),
        _documents(accounts),
        handshakes,
        _watched(files, handshakes, certificates, front_proxy, static, passwords),
    )


def _documents(accounts: ServiceAccounts) -> Mapping[str, Callable[[], bytes]]:
    issuer = accounts.issuers[0]
    keys_url = accounts.keys_url or issuer + signing_keys.JWKS_PATH
    return {
        signing_keys.DISCOVERY_PATH: lambda: signing_keys.discovery(issuer, keys_url, accounts.verifying),
        signing_keys.JWKS_PATH: lambda: signing_keys.jwks(accounts.verifying),
    }


def _front_proxy(trusted: Trusted) -> RequestHeader | None:
    front = trusted.front_proxy
    if front is None:
        return None
    headers = Headers.named(front.username, front.uid, front.group, front.extra_prefix)
    return RequestHeader(Trust.from_pem(front.authority), headers, front.allowed_names)


def _certificates(trusted: Trusted) -> CertificateAuthenticator | None:
    return CertificateAuthenticator(Trust.from_pem(trusted.client_authority)) if trusted.client_authority else None


def _open_id(issuer: JwtIssuer, clock: Clock) -> OpenIdTokens:
    keys = IssuerKeys(issuer.url, clock, discovery_url=issuer.discovery_url, authority=issuer.authority)
    return OpenIdTokens(issuer, keys)


def _webhook(trusted: Trusted, clock: Clock) -> WebhookTokens | None:
    webhook = trusted.token_webhook
    if webhook is None:
        return None
    client = ReviewClient(webhook.access, clock, seconds=WEBHOOK_SECONDS)
    return WebhookTokens(client.ask, trusted.accounts.audiences, version=webhook.version, seconds=webhook.seconds)


def _watched(
    files: TrustedFiles,
    handshakes: Handshakes,
    certificates: CertificateAuthenticator | None,
    front_proxy: RequestHeader | None,
    static: TokenFile,
    passwords: PasswordFile,
) -> Sequence[WatchedFiles]:
    found: list[WatchedFiles] = []

    def authority(path: Path | None, which: str, authenticator: CertificateAuthenticator | RequestHeader | None) -> None:
        if path is None or authenticator is None:
            return

        def take(content: Sequence[bytes]) -> None:
            trust = Trust.from_pem(content[0])
            handshakes.trust(which, content[0])
            authenticator.trust = trust

        found.append(WatchedFiles((path,), take))

    def users(path: Path | None, authenticator: TokenFile | PasswordFile) -> None:
        if path is not None:
            take = lambda content: authenticator.replace(token_file.parse(content[0].decode(), str(path)))  # noqa: E731
            found.append(WatchedFiles((path,), take))

    authority(files.client_authority, "client", certificates)
    authority(files.front_proxy_authority, "front proxy", front_proxy)
    users(files.tokens, static)
    users(files.passwords, passwords)
    return found
