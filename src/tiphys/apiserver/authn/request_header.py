"""A trusted proxy in front of the server says in headers who asks. It shows its own certificate to be believed."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from cryptography import x509
from cryptography.x509.oid import NameOID

from tiphys.apiserver.authn.header_text import all_of, utf8
from tiphys.apiserver.authn.outcome import Authenticated, Refused
from tiphys.apiserver.authn.trust import Trust, check_client_use, check_validity
from tiphys.apiserver.authn.user import User, extra_of
from tiphys.base.http.messages import Request

_MEMO = "front proxy"


@dataclass(frozen=True, slots=True)
class Headers:
    """Names of headers, lower case, as messages have them."""

    username: tuple[str, ...] = ("x-remote-user",)
    uid: tuple[str, ...] = ("x-remote-uid",)
    group: tuple[str, ...] = ("x-remote-group",)
    extra_prefix: tuple[str, ...] = ("x-remote-extra-",)

    @classmethod
    def named(
        cls, username: tuple[str, ...], uid: tuple[str, ...], group: tuple[str, ...], extra_prefix: tuple[str, ...]
    ) -> "Headers":
        lists = (username, uid, group, extra_prefix)
        return cls(*(tuple(name.strip().lower() for name in names) for names in lists))


class RequestHeader:
    """`trust`: the proxies' authorities, which may be replaced; `allowed_names`: the common names that proxies may have;
    empty: any that the authorities vouch for."""

    def __init__(self, trust: Trust, headers: Headers, allowed_names: tuple[str, ...] = ()) -> None:
        self.trust = trust
        self._headers = headers
        self._allowed_names = frozenset(allowed_names)

    def authenticate(self, request: Request, now: float) -> Authenticated | None:
        peer = request.peer
        if peer.certificate is None or not _first(request.headers, self._headers.username):
            return None
        trust, proxy, is_trusted = peer.memo.get(_MEMO) or (None, None, False)
        if proxy is None or trust is not self.trust:
            proxy = x509.load_der_x509_certificate(peer.certificate)
            is_trusted = self.trust.issued(proxy)
            peer.memo[_MEMO] = self.trust, proxy, is_trusted
        if not is_trusted:
            raise Refused("x509: certificate signed by unknown authority")
        check_validity(proxy, now)
        check_client_use(proxy)
        self._check_name(proxy)
        user = read(request.headers, self._headers)
        return None if user is None else Authenticated(user)

    def _check_name(self, proxy: x509.Certificate) -> None:
        names = [str(each.value) for each in proxy.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        if self._allowed_names and self._allowed_names.isdisjoint(names[-1:]):
            raise Refused(f"x509: subject with cn={names[-1] if names else ''} is not in the allowed list")


def read(headers: Mapping[str, str], named: Headers) -> User | None:
    """The user that headers tell of; None without a name."""
    name = _first(headers, named.username)
    if not name:
        return None
    groups = tuple(value for header in named.group for value in _values(headers.get(header, "")))
    extra: dict[str, list[str]] = {}
    for prefix in named.extra_prefix:
        for header, value in headers.items():
            if header.startswith(prefix):
                extra.setdefault(unquote(header.removeprefix(prefix)), []).extend(_values(value))
    return User(name, groups, _first(headers, named.uid), extra_of(extra))


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return utf8(next(filter(None, (headers.get(name, "") for name in names)), ""))


def _values(joined: str) -> list[str]:
    return [value for value in all_of(joined) if value]
