"""What an authenticator says: nothing (somebody else's), a User, or that the credential is no good.

One that has to ask somebody answers with something to wait for. Whoever knows the answer, as nearly always, gives it at once.
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

from tiphys.apiserver.authn.user import User
from tiphys.base.http.messages import Request
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class Authenticated:
    user: User
    audiences: tuple[str, ...] = ()
    """For whom the credential is meant, as far as asked; empty where the kind of credential knows no audience."""
    warning: str = ""
    used_secret: str = ""
    """`namespace/name` of the Secret that holds the token, whose last use is to be noted."""


class Refused(Exception):
    """A credential of a known kind that is not valid. The client only learns 401; TokenReview tells the words."""


Outcome = Authenticated | None | Awaitable[Authenticated | None]


class RequestAuthenticator(Protocol):
    def authenticate(self, request: Request, now: float) -> Outcome:
        """None: shows no credential of this kind. Raises Refused."""
        ...


class TokenAuthenticator(Protocol):
    def authenticate_token(self, token: str, audiences: tuple[str, ...], now: float) -> Outcome:
        """`audiences`: who asks, as a TokenReview may; empty: this server. None: not a token of this kind. Raises Refused."""
        ...


class Lookup(Protocol):
    """The objects that tokens are bound to, as they are now; read-only, None where there is none."""

    def service_account(self, namespace: str, name: str) -> Obj | None: ...

    def secret(self, namespace: str, name: str) -> Obj | None: ...

    def pod(self, namespace: str, name: str) -> Obj | None: ...

    def node(self, name: str) -> Obj | None: ...
