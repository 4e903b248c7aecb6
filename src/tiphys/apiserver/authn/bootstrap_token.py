"""Who joins: the user that a bootstrap token stands for."""

import hmac

from tiphys.api.bootstrap_tokens import DEFAULT_GROUP, GROUP, NAMESPACE, SECRET_TYPE, TOKEN, data, seconds_left
from tiphys.apiserver.authn.outcome import Authenticated, Lookup
from tiphys.apiserver.authn.user import User
from tiphys.machinery.tree import Obj, get


class BootstrapTokens:
    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def authenticate_token(self, token: str, audiences: tuple[str, ...], now: float) -> Authenticated | None:  # noqa: ARG002
        parts = TOKEN.fullmatch(token)
        if parts is None:
            return None
        secret = self._lookup.secret(NAMESPACE, f"bootstrap-token-{parts[1]}")
        user = None if secret is None else user_of(secret, parts[1], parts[2], now)
        return None if user is None else Authenticated(user)


def user_of(secret: Obj, token_id: str, token_secret: str, now: float) -> User | None:
    """Who joins with this token; None if the Secret does not let them."""
    if get(secret, ("metadata", "deletionTimestamp")) or secret.get("type") != SECRET_TYPE:
        return None
    if not hmac.compare_digest(data(secret, "token-secret").encode(), token_secret.encode()):
        return None
    if data(secret, "token-id") != token_id or seconds_left(secret, now) == 0:
        return None
    if data(secret, "usage-bootstrap-authentication") != "true":
        return None
    extra = data(secret, "auth-extra-groups")
    groups = extra.split(",") if extra else []
    if not all(GROUP.fullmatch(group) for group in groups):
        return None
    return User(f"system:bootstrap:{token_id}", tuple(sorted({DEFAULT_GROUP, *groups})))
