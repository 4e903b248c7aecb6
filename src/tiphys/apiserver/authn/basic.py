"""Passwords from a file, for tests and small set-ups: `password,user,uid[,"group,group"]` a line. Upstream has dropped this."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

from tiphys.apiserver.authn.outcome import Authenticated, Refused
from tiphys.apiserver.authn.user import User
from tiphys.base.http.messages import Request

_NOBODY = (b"", None)


class PasswordFile:
    """Made of the users by password, as `token_file.parse` reads them."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users: dict[str, tuple[bytes, Authenticated | None]] = {}
        self.replace(users)

    def replace(self, users: Mapping[str, User]) -> None:
        """Believe these from now on, and none but these."""
        self._users = {user.name: (_digest(password), Authenticated(user)) for password, user in users.items()}

    def authenticate(self, request: Request, now: float) -> Authenticated | None:  # noqa: ARG002
        scheme, _, encoded = request.headers.get("authorization", "").strip().partition(" ")
        if scheme.lower() != "basic":
            return None
        try:
            name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        if not colon:
            return None
        wanted, outcome = self._users.get(name, _NOBODY)
        # Compared even for a user that does not exist: the time it takes must not tell.
        if not hmac.compare_digest(wanted, _digest(password)) or outcome is None:
            raise Refused("invalid username/password combination")
        return outcome


def _digest(password: str) -> bytes:
    return hashlib.sha256(password.encode()).digest()
