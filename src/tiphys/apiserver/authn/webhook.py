"""Tokens that somebody else knows: each is sent to a webhook as a TokenReview, and the answer kept for a while.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from tiphys.apiserver.authn.outcome import Authenticated, Outcome, Refused
from tiphys.apiserver.authn.review_client import NotAnswered
from tiphys.apiserver.authn.user import User, extra_of
from tiphys.machinery.tree import Obj

MOST_REMEMBERED = 4096
CACHED_SECONDS = 120.0

Ask = Callable[[Obj], Awaitable[Obj]]


@dataclass(frozen=True, slots=True)
class _Kept:
    outcome: Authenticated | None
    until: float


class WebhookTokens:
    """`ask` brings a review's status; `audiences`: the names of this server; `seconds`: how long an answer is kept."""

    def __init__(
        self, ask: Ask, audiences: Sequence[str] = (), *, version: str = "v1", seconds: float = CACHED_SECONDS
    ) -> None:
        self._ask = ask
        self._audiences = tuple(audiences)
        self._version = version
        self._seconds = seconds
        self._kept: dict[tuple[bytes, tuple[str, ...]], _Kept] = {}

    def authenticate_token(self, token: str, audiences: tuple[str, ...], now: float) -> Outcome:
        wanted = audiences or self._audiences
        key = (hashlib.sha256(token.encode()).digest(), wanted)
        kept = self._kept.get(key)
        if kept is not None and now < kept.until:
            return kept.outcome
        return self._asked(token, wanted, key, now)

    async def _asked(
        self, token: str, wanted: tuple[str, ...], key: tuple[bytes, tuple[str, ...]], now: float
    ) -> Authenticated | None:
        """Whether to let in is kept; that something went wrong is not."""
        spec: Obj = {"token": token, "audiences": list(wanted)} if wanted else {"token": token}
        try:
            status = await self._ask(
                {
                    "kind": "TokenReview",
                    "apiVersion": f"authentication.k8s.io/{self._version}",
                    "metadata": {},
                    "spec": spec,
                    "status": {"user": {}},
                }
            )
        except NotAnswered as problem:
            raise Refused(str(problem)) from None
        outcome = self._outcome(status, wanted)
        if self._seconds > 0:
            if len(self._kept) >= MOST_REMEMBERED:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = _Kept(outcome, now + self._seconds)
        return outcome

    def _outcome(self, status: Obj, wanted: tuple[str, ...]) -> Authenticated | None:
        meant: tuple[str, ...] = ()
        if wanted:
            got = status.get("audiences") or self._audiences
            meant = tuple(each for each in wanted if each in got)
            if not meant:
                return None
        if not status.get("authenticated"):
            if status.get("error"):
                raise Refused(str(status["error"]))
            return None
        told = status.get("user") or {}
        user = User(
            told.get("username", ""), tuple(told.get("groups") or ()), told.get("uid", ""), extra_of(told.get("extra") or {})
        )
        return Authenticated(user, meant)
