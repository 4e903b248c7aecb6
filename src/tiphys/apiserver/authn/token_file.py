"""Static tokens from a file: `token,user,uid[,"group,group"]` a line."""

import csv
import io
from collections.abc import Mapping

from tiphys.apiserver.authn.outcome import Authenticated
from tiphys.apiserver.authn.user import User


class TokenFile:
    """Found by a look-up that compares hashes with a secret seed first: time tells nothing of how much of a token was right."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        self._known: dict[str, Authenticated] = {}
        self.replace(tokens)

    def replace(self, tokens: Mapping[str, User]) -> None:
        """Believe these from now on, and none but these."""
        self._known = {token: Authenticated(user) for token, user in tokens.items()}

    def authenticate_token(self, token: str, audiences: tuple[str, ...], now: float) -> Authenticated | None:  # noqa: ARG002
        return self._known.get(token)


def parse(text: str, path: str) -> dict[str, User]:
    """The users of a token file, by token; of a token that occurs twice, the last. ValueError for a line that is too short."""
    tokens: dict[str, User] = {}
    for record in csv.reader(io.StringIO(text)):
        if not record:
            continue
        if len(record) < 3:
            needed = "at least 3 columns (token, user name, user uid)"
            raise ValueError(f"token file '{path}' must have {needed}, found {len(record)}")
        token, name, uid, *rest = record
        if token:
            tokens[token] = User(name, tuple(rest[0].split(",")) if rest else (), uid)
    return tokens
